"""Conversations that may still have only their first line: a command asked for no title, or Atlas ended meanwhile."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import Message, first_line
from atlas_sdk.records import Conversation
from atlas_sdk.services.store import STORE, Reading

RECENT = timedelta(days=1)
"""How old one may be. What is older nobody misses, and a home that comes from elsewhere is full of it."""
MOST_LOOKED_AT = 200
MOST_CUT_SHORT = 2
"""So often a call for a title may have been cut short: then it is left."""

# By the time of the calls, which has an index. One for a title is never older than its conversation.
_CALLS = "SELECT conversation, state FROM model_call WHERE started_at >= :since AND purpose = 'title'"
_CONVERSATIONS = """SELECT data FROM conversation WHERE NOT archived AND updated_at >= :since
    ORDER BY updated_at DESC LIMIT :most"""
_FIRST = "SELECT data FROM message WHERE conversation = :id AND parent IS NULL AND NOT queued ORDER BY id LIMIT 1"


async def untitled(ctx: PluginContext) -> tuple[str, ...]:
    """Return those of the last day for which no model answered or failed, the most recently used first."""
    day = ctx.clock.now() - RECENT
    since = day.isoformat(timespec="microseconds")

    def work(reading: Reading) -> tuple[str, ...]:
        tried: Counter[str] = Counter()
        for row in reading.rows(_CALLS, since=since):
            tried[row["conversation"]] += MOST_CUT_SHORT if row["state"] in ("done", "failed") else 1
        rows = reading.rows(_CONVERSATIONS, since=since, most=MOST_LOOKED_AT)
        records = (Conversation.model_validate_json(row["data"]) for row in rows)
        recent = (one for one in records if one.created_at >= day and tried[one.id] < MOST_CUT_SHORT)
        return tuple(one.id for one in recent if _has_its_first_line(reading, one))

    return await ctx.services.need(STORE).read(work)


def _has_its_first_line(reading: Reading, conversation: Conversation) -> bool:
    rows = reading.rows(_FIRST, id=conversation.id)
    return bool(rows) and conversation.title == first_line(Message.model_validate_json(rows[0]["data"]))
