"""What the tool and the clients ask: the index brought up to date, the search, and what stands around its hits."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from atlas_sdk.context import PluginContext
from atlas_sdk.guests import guest_spoke, runs_for_job
from atlas_sdk.messages import Message
from atlas_sdk.records import Checkpoint, Conversation
from atlas_sdk.services.meaning import MEANING, Near
from atlas_sdk.services.store import STORE, Reading

from .index import Index, State
from .query import Query, parse
from .ranking import REACH
from .search import Found, Hit, Scope, Search, names_among
from .titles import titled

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['’]s\b", re.IGNORECASE)


@dataclass(frozen=True)
class Around:
    """A hit with the messages on either side of it, in order, and the conversation they are of."""

    hit: Hit
    conversation: Conversation
    before: tuple[Message, ...]
    message: Message
    after: tuple[Message, ...]


@dataclass(frozen=True)
class Answer:
    """What a search found, and how far the index was."""

    query: Query
    found: Found
    around: tuple[Around, ...]
    titled: tuple[Conversation, ...]
    state: State


class Recall:
    """Searches past conversations. Made once a home."""

    def __init__(self, ctx: PluginContext, index: Index) -> None:
        self._ctx = ctx
        self.index = index

    async def search(self, text: str, scope: Scope, most: int, *, newest: bool | None = None) -> Answer:
        """Return the best messages of a query, with their neighbours. No query is an error.

        ``newest`` sorts what was found by time, the newest or the oldest first; without it, the best is first.
        """
        query = parse(text)
        state = await self.index.catch_up()
        nearest = await self._nearest(text, scope) if query.alternatives else ()
        zone = self._ctx.clock.now().astimezone().tzinfo

        def look(reading: Reading) -> tuple[Found, tuple[Around, ...], tuple[Conversation, ...]]:
            found = Found()
            if query.alternatives:
                found = Search(reading, query, text, scope, zone, nearest, newest).find(most)
            named, exact = titled(reading, query, text, scope)
            ids = tuple(record.id for record in named)
            hits = sorted(found.hits, key=lambda hit: exact and hit.conversation not in ids)  # an exact title first
            found = replace(found, hits=tuple(hits), titled=ids, exact=exact)
            return found, tuple(_around(reading, found.hits)), named

        found, around, named = await self._ctx.services.need(STORE).read(look)
        return Answer(query, found, around, named, state)

    async def scope_of(self, conversation: str, scope: Scope) -> Scope:
        """Return a scope as the agent of a conversation may search it.

        Where guests read along, and where a job runs with nobody there, that is the conversation itself.
        """
        store = self._ctx.services.need(STORE)
        record = await store.get(Conversation, conversation)
        if record is None:
            return replace(scope, current=conversation)
        seen = {message.id for message in await store.path(conversation)}
        archived: set[str] = set()
        if await store.find(Checkpoint, conversation=conversation, limit=1):
            archived = {message.id for message in await store.path(conversation, whole=True)} - seen
        alone = await store.read(lambda reading: guest_spoke(reading, record) or runs_for_job(reading, record))
        return replace(
            scope,
            agent=None if record.agent == "main" else record.agent,
            current=conversation,
            archived=frozenset(archived),
            seen=frozenset(seen),
            only=conversation if alone else scope.only,
        )

    async def _nearest(self, text: str, scope: Scope) -> Sequence[Near]:
        meaning = self._ctx.services.get(MEANING)
        if meaning is None or not scope.roles & {"user", "assistant"}:
            return ()
        store = self._ctx.services.need(STORE)
        mine: frozenset[str] | None = None
        if scope.agent is not None or scope.only:
            rows = await store.read(
                lambda reading: reading.rows(
                    "SELECT id FROM recall_conversation WHERE (:a = '' OR agent = :a) AND (:only = '' OR id = :only)",
                    a=scope.agent or "",
                    only=scope.only,
                )
            )
            mine = frozenset(row["id"] for row in rows)
        # Who spoke is judged by itself; in the question, a name makes all that mentions it alike.
        names = set(await store.read(lambda reading: names_among(reading, _WORD.findall(text))))
        about = _WORD.sub(lambda word: "" if word[0].casefold() in names else word[0], _POSSESSIVE.sub("", text))
        return await meaning.nearest(about if about.strip(" ?!.,") else text, conversations=mine)


def _around(reading: Reading, hits: Sequence[Hit]) -> list[Around]:
    """Read the messages of the hits and their neighbours."""
    rows = sorted({row for hit in hits for row in range(hit.row - REACH, hit.row + REACH + 1)})
    messages = {
        row["row"]: Message.model_validate_json(row["data"])
        for row in reading.rows(
            """SELECT m.row, message.data FROM json_each(:rows) w JOIN recall_message m ON m.row = w.value
            JOIN message ON message.id = m.id""",
            rows=json.dumps(rows),
        )
    }
    records = conversations(reading, [hit.conversation for hit in hits])
    found = []
    for hit in hits:
        if hit.row in messages and hit.conversation in records:
            before = [messages[row] for row in range(hit.row - REACH, hit.row) if row in messages]
            after = [messages[row] for row in range(hit.row + 1, hit.row + REACH + 1) if row in messages]
            found.append(Around(hit, records[hit.conversation], tuple(before), messages[hit.row], tuple(after)))
    return found


def conversations(reading: Reading, ids: Sequence[str]) -> dict[str, Conversation]:
    """Return conversations by their ids."""
    rows = reading.rows(
        "SELECT id, data FROM conversation WHERE id IN (SELECT value FROM json_each(:ids))", ids=json.dumps(list(ids))
    )
    return {row["id"]: Conversation.model_validate_json(row["data"]) for row in rows}
