"""Tells people, by its receipts, what a turn wrote to memory: an answer is the model's word, and this is Atlas's."""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta

import anyio

from atlas_sdk.errors import AtlasError
from atlas_sdk.events import Noticed, TurnStarted
from atlas_sdk.hooks import Stage, TurnGo, TurnRequest
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services.store import STORE

from .deeds import Change, changes_of
from .settings import MemorySettings
from .slot import Slot

SAVED, REMOVED = "Saved to memory", "Removed from memory"
LOOKED_BACK, MOST_TURNS = timedelta(days=1), 20
"""How far a start looks back for turns that a crash cut short."""
_LINE = re.compile(r"[\W_]{0,40}(?:saved to|removed from) memory\b[^:\n]{0,60}:(.+)", re.IGNORECASE)
_QUOTED = re.compile(r"[“\"«]([^“”\"«»\n]{1,2000})[”\"»]")
_WORD, _STEM_CHARS = re.compile(r"\w+"), 4
_READ = ("client", "channel")
"""Where a person reads along. A review's line tells what it did, and nobody reads a helper's."""


class ToldSaves:
    """An interceptor of turns, which looks at a start for those that Atlas's own end cut short.

    What it tells stands before the turn's end, on whatever road the turn came.
    """

    stage: Stage = Stage.FEATURE

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        """Run the turn, and tell what it wrote, also where it was stopped or failed."""
        try:
            return await go(request)
        finally:
            if self._tells(request.conversation):
                with anyio.CancelScope(shield=True):
                    await self._tell(request.conversation, request.turn)

    async def after_a_crash(self) -> None:
        """Tell what turns had saved that Atlas's own end cut short, once."""
        store, now = self._slot.services.need(STORE), self._slot.began
        found = await store.find(Turn, state="interrupted", newest=True, limit=MOST_TURNS)
        cut = (*found, *await store.find(Turn, state="running"))  # those that are about to be closed
        for turn in cut:
            conversation = await store.get(Conversation, turn.conversation)
            fresh = turn.started_at < now < turn.started_at + LOOKED_BACK
            if fresh and conversation is not None and self._tells(conversation):
                await self._tell(conversation, turn, once=True)

    def _tells(self, conversation: Conversation) -> bool:
        return conversation.origin.kind in _READ and self._slot.ctx.section(MemorySettings).tell_saves

    async def _tell(self, conversation: Conversation, turn: Turn, *, once: bool = False) -> None:
        store = self._slot.services.need(STORE)
        try:
            changes = await changes_of(self._slot, turn)
            said = sentences(changes, await self._slot.guests_read(conversation)) if changes else []
            if said and once:
                said = [text for text in said if text not in await self._told_since(turn)]
            if said:
                await store.commit([], [Noticed(conversation=conversation.id, text=text) for text in said])
        except AtlasError as error:  # what was saved is saved, and the turn has its answer
            self._slot.ctx.logger.warning("What was saved could not be told", extra={"why": str(error)})

    async def _told_since(self, turn: Turn) -> set[str]:
        """Return what a turn's conversation was told since it began."""
        found, began, after = set[str](), False, 0
        while events := await self._slot.services.need(STORE).events(after=after, conversation=turn.conversation):
            for one in events:
                began = began or (isinstance(one.event, TurnStarted) and one.event.turn.id == turn.id)
                if began and isinstance(one.event, Noticed):
                    found.add(one.event.text)
            after = events[-1].conversation_number
        return found


def sentences(changes: list[Change], quiet: bool) -> list[str]:
    """Return a line for each kind of change; ``quiet`` leaves the words out."""
    lines: dict[str, list[str]] = {}
    for one in changes:
        head = REMOVED if one.removed else f"{SAVED} {one.narrow}".rstrip()
        lines.setdefault(head, []).append(one.shown)
    return [f"{head}." if quiet else f"{head}: {', '.join(texts)}" for head, texts in lines.items()]


def named_in(answer: str) -> list[str]:
    """Return what an answer says was saved or removed in the words of these lines, which are Atlas's."""
    plain = "".join(sign for sign in unicodedata.normalize("NFKC", answer) if unicodedata.category(sign) != "Cf")
    lines = [found[1] for line in plain.splitlines() if (found := _LINE.match(line))]
    said = [one for line in lines for one in _QUOTED.findall(line) or [line]]
    return [text for one in said if (text := " ".join(one.split()).strip(" .*_`"))]


def is_told_of(change: str, said: str) -> bool:
    """Whether an answer may mean a change by what it names: half of the words of either, by how they begin."""
    one, other = ({word[:_STEM_CHARS] for word in _WORD.findall(text.casefold())} for text in (change, said))
    return len(one & other) * 2 >= max(min(len(one), len(other)), 1)
