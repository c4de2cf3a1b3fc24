"""Facts that were done. Nobody need answer them, and nobody can change them.

A *durable* event is stored, with a number for its conversation and one for the home, in the same transaction as
what it tells of, and only then published. An *ephemeral* one (a delta, progress) is published and never stored.
On the wire an event is a notification whose method is its ``type``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from .messages import Frozen, Message, Text
from .records import Checkpoint, Conversation, Turn
from .values import Json


class Event(Frozen):
    """The base of all events. ``conversation`` is None for what concerns the home."""

    durable: ClassVar[bool] = True
    conversation: str | None = None


class ConversationCreated(Event):
    """A conversation was made."""

    type: Literal["conversation.created"] = "conversation.created"
    state: Conversation


class ConversationChanged(Event):
    """A conversation's title, model, effort, mode, head or archive state changed."""

    type: Literal["conversation.changed"] = "conversation.changed"
    state: Conversation


class MessageAdded(Event):
    """A message is on disk: said by a person, the model, a tool or a notice."""

    type: Literal["message.added"] = "message.added"
    message: Message


class MessageTaken(Event):
    """A queued message was taken up by a turn, and now stands after ``parent``."""

    type: Literal["message.taken"] = "message.taken"
    message: Message


class ConversationCompacted(Event):
    """Older messages were archived behind ``message``, a summary; the model reads it in their place."""

    type: Literal["conversation.compacted"] = "conversation.compacted"
    checkpoint: Checkpoint
    message: Message


class ReviewEnded(Event):
    """The background review of a conversation changed something. It is no message and enters no history.

    ``line`` is for people, such as ``User profile updated``. ``changes`` are objects with ``kind`` (``memory``,
    ``profile``, ``proposal`` or ``skill``), ``name``, and ``diff`` and ``proposal`` (its id) where there is one.
    """

    type: Literal["review.summary"] = "review.summary"
    line: str
    changes: tuple[Json, ...] = ()


class TurnStarted(Event):
    """A turn began."""

    type: Literal["turn.started"] = "turn.started"
    turn: Turn


class TurnEnded(Event):
    """A turn ended: done, stopped, failed (``turn.error`` is the sentence), or interrupted by a crash."""

    type: Literal["turn.ended"] = "turn.ended"
    turn: Turn


class ToolCalled(Event):
    """A tool call was written to the ledger and is about to be judged."""

    type: Literal["tool.called"] = "tool.called"
    call: str
    tool: str
    arguments: Json
    turn: str


class ToolFinished(Event):
    """A tool call ended. ``summary`` is the first line of what it answered."""

    type: Literal["tool.finished"] = "tool.finished"
    call: str
    tool: str
    outcome: Literal["ok", "error", "refused", "stopped", "interrupted"]
    summary: Text = ""
    verdict_by: str = ""


class QuestionAsked(Event):
    """A question or an approval waits for a person; ``question`` is its card, as ``question.list`` gives it."""

    type: Literal["question.asked"] = "question.asked"
    question: Json


class QuestionSettled(Event):
    """A question was answered, refused, withdrawn, or nobody answered in time."""

    type: Literal["question.settled"] = "question.settled"
    id: str
    how: Literal["answered", "timed_out", "withdrawn"]
    choice: str = ""
    by: str = ""


class FileSent(Event):
    """A tool sent the user a file: ``attachment`` is its id in the home."""

    type: Literal["file.sent"] = "file.sent"
    attachment: str
    name: str
    media_type: str
    size: int
    call: str


class PluginChanged(Event):
    """A plugin was turned on or off, or broke. ``state`` is as ``plugin.list`` says it."""

    type: Literal["plugin.changed"] = "plugin.changed"
    name: str
    state: str
    why: str = ""


SECRET = "secrets."
"""What the key of a secret's change begins with."""


class SettingChanged(Event):
    """A setting changed. ``key`` ``secrets.NAME`` is a secret that was stored or removed; its value is never here."""

    type: Literal["setting.changed"] = "setting.changed"
    key: str
    value: Json

    @property
    def secret(self) -> str:
        """The name of the secret that changed, empty for any other setting."""
        return self.key.removeprefix(SECRET) if self.key.startswith(SECRET) else ""


class Noticed(Event):
    """Something the user should know, in one sentence: a fallback, a retry, a section left out."""

    type: Literal["notice.given"] = "notice.given"
    text: str


class TextStreamed(Event):
    """The model said more. ``kind`` tells its answer from its reasoning."""

    durable: ClassVar[bool] = False
    type: Literal["text.streamed"] = "text.streamed"
    turn: str
    kind: Literal["text", "reasoning"] = "text"
    text: Text


class ModelRestarted(Event):
    """The answer streamed so far in this step is void: the model is asked again, for ``why``."""

    durable: ClassVar[bool] = False
    type: Literal["model.restarted"] = "model.restarted"
    turn: str
    why: str


class ToolProgressed(Event):
    """A running tool says how far it is. Never shown to the model."""

    durable: ClassVar[bool] = False
    type: Literal["tool.progressed"] = "tool.progressed"
    call: str
    text: Text


AnyEvent: TypeAlias = Annotated[
    ConversationCreated
    | ConversationChanged
    | MessageAdded
    | MessageTaken
    | ConversationCompacted
    | ReviewEnded
    | TurnStarted
    | TurnEnded
    | ToolCalled
    | ToolFinished
    | QuestionAsked
    | QuestionSettled
    | FileSent
    | PluginChanged
    | SettingChanged
    | Noticed
    | TextStreamed
    | ModelRestarted
    | ToolProgressed,
    Field(discriminator="type"),
]

EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)
"""Reads and writes any event by its ``type``."""


def review_text(line: str, changes: Sequence[Json], *, most_lines: int, fenced: bool = False) -> str:
    """Return what a review did, for people: its line, then what changed and what waits, the diffs cut to some lines.

    ``fenced`` puts each diff into a block of Markdown. A change that has a shape of its own is told by its name.
    """
    said, room = [line], most_lines
    for change in changes:
        told = change if isinstance(change, dict) else {}
        name, diff = str(told.get("name") or told.get("kind") or ""), str(told.get("diff") or "")
        proposal = told.get("proposal")
        shown = _shown(diff, room, fenced=fenced) if diff and room > 0 else ""
        room -= len(diff.splitlines())
        if shown or proposal:
            said.append(f"{name}{' waits for you' if proposal else ''}{':' if shown else '.'}")
        if shown:
            said.append(shown)
        if proposal:
            said += [f"Approve it: atlas memory approve {proposal}", f"Discard it: atlas memory discard {proposal}"]
    return "\n".join(said)


def _shown(diff: str, room: int, *, fenced: bool) -> str:
    lines = diff.splitlines()
    shown = "\n".join([*lines[:room], *(["…"] if len(lines) > room else [])])
    fence = "`" * max(3, 1 + max((len(one) for one in re.findall("`+", shown)), default=0))
    return f"{fence}\n{shown}\n{fence}" if fenced else shown


class NumberedEvent(Frozen):
    """A durable event as stored: ``number`` counts in the home, ``conversation_number`` in its conversation.

    Both start at 1 and have no gaps. An ephemeral event on its way to a client has both at 0.
    """

    number: int
    conversation_number: int
    event: AnyEvent
