"""What the store keeps beside messages: conversations, turns, the ledger, model calls and contents.

Every record is written whole and replaced whole, under an id that never changes. All times are aware, in UTC.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Literal, TypeAlias

from .messages import Frozen, Message
from .values import Json, whole_text


class Origin(Frozen):
    """Where a conversation or a turn comes from: a client, a channel's chat, a routine, another agent…"""

    kind: Literal["client", "channel", "routine", "subagent", "review", "agent", "plugin"] = "client"
    name: str = ""
    chat: str = ""


class Conversation(Frozen):
    """A tree of messages with a head, an agent and the settings of its turns.

    ``instructions`` and ``tools`` are the content hashes of the system prompt and the tool list that the
    conversation began with (its prefix); only a compaction may change them. ``told`` are the tools its
    model has heard of since. ``model`` and ``provider`` are
    empty while the default is to be used. ``folder`` is where its tools start. ``attended`` is false where
    nobody is there to answer, and then whatever would ask is refused.
    """

    id: str
    agent: str = "main"
    title: str = ""
    origin: Origin = Origin()
    attended: bool = True
    provider: str = ""
    model: str = ""
    effort: str = ""
    auto_mode: bool = True
    folder: str = ""
    head: str | None = None
    instructions: str | None = None
    tools: str | None = None
    told: tuple[str, ...] = ()
    archived: bool = False
    parent: str | None = None
    cause: str | None = None
    created_at: datetime
    updated_at: datetime


class Turn(Frozen):
    """One run of the loop: from what caused it (a message, a notice, a schedule) to its end."""

    id: str
    conversation: str
    cause: str
    state: Literal["running", "done", "stopped", "failed", "interrupted"] = "running"
    error: str = ""
    generation: int = 0
    started_at: datetime
    ended_at: datetime | None = None


class Call(Frozen):
    """A tool call in the ledger, written before the tool runs and closed after.

    ``call`` is the provider's id. ``verdict`` is the gate's, and ``verdict_by`` who gave it (a rule's id, the
    reviewer, or the person). ``key`` is the idempotency key a tool may pass on to what it calls.
    """

    id: str
    conversation: str
    turn: str
    message: str
    call: str
    tool: str
    plugin: str = ""
    arguments: Json = None
    verdict: Literal["", "allow", "deny"] = ""
    verdict_by: str = ""
    verdict_why: str = ""
    outcome: Literal["", "ok", "error", "refused", "stopped", "interrupted"] = ""
    key: str = ""
    started_at: datetime
    ended_at: datetime | None = None


class Effect(Frozen):
    """What a call does to the world, written before it happens and closed after it.

    ``kind`` is ``file`` (``target`` is the path written), ``process`` (the command line) or ``host`` (the host
    asked). One still ``open`` at the next start was under way when Atlas died; it is never run again by itself.
    """

    id: str
    call: str
    kind: Literal["file", "process", "host"]
    target: str
    state: Literal["open", "done", "failed", "unknown"] = "open"
    detail: Json = None
    started_at: datetime
    ended_at: datetime | None = None


class Usage(Frozen):
    """Tokens as the provider reported them. ``input_tokens`` includes ``cached_tokens`` and ``cache_write_tokens``."""

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0


class Cost(Frozen):
    """What a call cost in US dollars and who says so; ``unknown`` has no amount, and none is invented."""

    dollars: float | None = None
    source: Literal["reported", "list", "free", "unknown"] = "unknown"


class ModelCall(Frozen):
    """A request to a model, with all it takes to build it again byte for byte.

    ``purpose`` is ``turn``, ``compaction``, ``title``, ``background_review``, ``approval_review`` or
    ``plugin:<name>``.
    ``last_message`` is the last message it saw; ``attempt`` counts retries from 1.
    """

    id: str
    conversation: str | None = None
    turn: str | None = None
    provider: str
    model: str
    purpose: str
    settings: Json = None
    instructions: str | None = None
    tools: str | None = None
    last_message: str | None = None
    state: Literal["open", "done", "failed", "stopped", "interrupted"] = "open"
    attempt: int = 1
    stop_reason: str = ""
    error: str = ""
    usage: Usage = Usage()
    cost: Cost = Cost()
    started_at: datetime
    ended_at: datetime | None = None


class Content(Frozen):
    """A text kept once, under the SHA-256 of its UTF-8 bytes in hex: instructions and tool lists."""

    id: str
    text: str

    @classmethod
    def of(cls, text: str) -> Content:
        """Return a text under the hash of its bytes."""
        kept = whole_text(text)
        return cls(id=hashlib.sha256(kept.encode()).hexdigest(), text=kept)


class Attachment(Frozen):
    """A file kept in the home's ``attachments/`` under the SHA-256 of its bytes in hex.

    ``visible_to`` is ``owner`` or the id of the one conversation that may see it. ``text`` is what a reader
    made of it.
    """

    id: str
    media_type: str
    size: int
    name: str = ""
    text: str | None = None
    visible_to: str = "owner"
    created_at: datetime


class Checkpoint(Frozen):
    """A compaction: the messages from ``first`` to ``last`` are archived behind the message ``summary``.

    The summary has no parent and stands before what came after ``last``. Nothing is deleted: a path that is asked
    for whole goes through the archived messages. ``first`` is an earlier summary where there was one.
    """

    id: str
    conversation: str
    first: str
    last: str
    summary: str
    created_at: datetime


Record: TypeAlias = Conversation | Message | Turn | Call | Effect | ModelCall | Content | Attachment | Checkpoint
RECORD_TYPES: tuple[type[Frozen], ...] = (
    Conversation, Message, Turn, Call, Effect, ModelCall, Content, Attachment, Checkpoint,
)  # fmt: skip
