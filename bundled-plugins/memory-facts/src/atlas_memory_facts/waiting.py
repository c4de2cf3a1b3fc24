"""Which conversations wait for a review: those in which somebody said something since their last one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from atlas_sdk.records import Conversation
from atlas_sdk.services.store import Reading

from . import claims
from .facts import stamp
from .reading import Waiting, waiting
from .scopes import key_of

UNREVIEWED_KINDS = frozenset({"routine", "subagent", "review"})
"""Nobody says anything in these: a task and its answer are not the user's words."""


def unreviewed(view: Reading, *, conversation: str = "", agent: str = "", owner: str = "") -> list[Conversation]:
    """Return a conversation of each chat that waits: all, or those of an id or key, an agent, a person.

    A person's are those in which words of theirs wait: in a chat of several people, facts are kept under each of them.
    The one whose newest words are the oldest comes first, so that what was said last is learned last.
    """
    rows = view.rows("SELECT data FROM conversation ORDER BY updated_at DESC")
    found = [
        (waits.newest, one)
        for waits, one in _spoken(view, [row["data"] for row in rows])
        if conversation in ("", one.id, key_of(one)) and agent in ("", one.agent) and owner in ("", *waits.owners)
    ]
    return [one for _, one in sorted(found, key=lambda each: each[0])]


def lately(view: Reading, *, since: datetime, most: int) -> list[Conversation]:
    """Return the chats in which something was said since then that waits, the newest first, and at most so many."""
    rows = view.rows(
        "SELECT data FROM conversation WHERE updated_at >= :since ORDER BY updated_at DESC", since=stamp(since)
    )
    spoken = _spoken(view, [row["data"] for row in rows])
    return list(islice((one for waits, one in spoken if waits.newest >= since), most))


def _spoken(view: Reading, newest_first: Iterable[str]) -> Iterator[tuple[Waiting, Conversation]]:
    """Go through the chats that wait."""
    seen = set[tuple[str, str]]()
    for data in newest_first:
        one = Conversation.model_validate_json(data)
        chat = one.agent, key_of(one)
        if one.origin.kind in UNREVIEWED_KINDS or chat in seen:
            continue
        seen.add(chat)
        if (waits := waiting(view, one, claims.state(view, *chat).last_message)) is not None:
            yield waits, one
