"""Which conversations wait for a review: those in which somebody said something since their last one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from atlas_sdk.records import Conversation
from atlas_sdk.services.store import Reading

from . import claims, people, reading
from .facts import stamp
from .scopes import key_of

UNREVIEWED_KINDS = frozenset({"routine", "subagent", "review"})
"""Nobody says anything in these: a task and its answer are not the user's words."""


def unreviewed(view: Reading) -> list[Conversation]:
    """Return a conversation of each chat that waits.

    The one whose newest words are the oldest comes first, so that what was said last is learned last.
    """
    rows = view.rows("SELECT data FROM conversation ORDER BY updated_at DESC")
    return [one for _, one in sorted(_spoken(view, [row["data"] for row in rows]), key=lambda found: found[0])]


def lately(view: Reading, *, since: datetime, most: int) -> list[Conversation]:
    """Return the chats in which something was said since then that waits, the newest first, and at most so many."""
    rows = view.rows(
        "SELECT data FROM conversation WHERE updated_at >= :since ORDER BY updated_at DESC", since=stamp(since)
    )
    spoken = _spoken(view, [row["data"] for row in rows])
    return list(islice((one for at, one in spoken if at >= since), most))


def _spoken(view: Reading, newest_first: Iterable[str]) -> Iterator[tuple[datetime, Conversation]]:
    """Go through chats that wait, with when their newest words were said."""
    seen = set[tuple[str, str]]()
    for data in newest_first:
        one = Conversation.model_validate_json(data)
        chat = one.agent, key_of(one)
        if one.origin.kind in UNREVIEWED_KINDS or chat in seen:
            continue
        seen.add(chat)
        if (at := reading.newest(view, one, claims.state(view, *chat).last_message)) is not None:
            yield at, one


def matching(
    view: Reading, found: Sequence[Conversation], *, conversation: str, agent: str, owner: str
) -> list[Conversation]:
    """Return those that are asked for: by id or key, agent, and whose they are."""
    return [
        one
        for one in found
        if conversation in ("", one.id, key_of(one))
        and agent in ("", one.agent)
        and owner in ("", people.who(view, one).owner)
    ]
