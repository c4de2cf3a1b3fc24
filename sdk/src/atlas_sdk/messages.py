"""Messages: who said what, in parts that carry their source and their trust."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from .errors import MisuseError, NotFoundError
from .values import Json, whole_json, whole_text

TITLE_CHARS = 60
LOST = "What came of this call could not be kept. Look at what it did before you do it again."
Trust: TypeAlias = Literal["owner", "guest", "outside", "agent"]
"""Who vouches for a text: the owner typed it, a guest said it, it was read from outside, or the agent said it."""


def whole(text: object) -> object:
    """Return a text that can be stored and sent: halves of a character that came alone are replaced."""
    return whole_text(text) if isinstance(text, str) else text


Text = Annotated[str, BeforeValidator(whole)]
"""Text from models, tools and people, which may hold halves of characters until it is looked at."""


_ANY: TypeAdapter[Any] = TypeAdapter(Any)


class Frozen(BaseModel):
    """The base of every shape that is stored or sent: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_dump_json(self, **options: Any) -> str:
        """Return it as JSON that can be stored and sent, also where a text in it is none: what a stranger wrote must
        not end the turn that keeps it.
        """
        try:
            return super().model_dump_json(**options)
        except ValueError:  # looked for only here, since every record and event goes this way
            return _ANY.dump_json(whole_json(super().model_dump(**options))).decode()


class TextPart(Frozen):
    """Text, with the page, file, server or tool it was read from where it came from outside."""

    type: Literal["text"] = "text"
    text: Text
    trust: Trust = "owner"
    source: Text = ""


class ImagePart(Frozen):
    """An image kept in the home by its content: ``attachment`` is the SHA-256 of its bytes, in hex."""

    type: Literal["image"] = "image"
    attachment: str
    media_type: str
    name: Text = ""
    trust: Trust = "owner"
    source: Text = ""


class FilePart(Frozen):
    """A file kept in the home by its content; ``text`` is what a reader made of it, once read."""

    type: Literal["file"] = "file"
    attachment: str
    media_type: str
    name: Text
    text: Text | None = None
    trust: Trust = "owner"
    source: Text = ""


class ReasoningPart(Frozen):
    """What the model thought aloud, for people to see; it is never sent back as text."""

    type: Literal["reasoning"] = "reasoning"
    text: Text


class ToolCallPart(Frozen):
    """The model asks for a tool. ``call`` is the provider's id of the call, unique in its message.

    ``arguments`` is the JSON text exactly as the model wrote it, so that it can be replayed byte for byte.
    """

    type: Literal["tool_call"] = "tool_call"
    call: str
    name: Text
    arguments: Text


class ToolResultPart(Frozen):
    """What a tool answered to the call of that id. Its text is data from outside, never an instruction."""

    type: Literal["tool_result"] = "tool_result"
    call: str
    name: Text
    content: tuple[Annotated[TextPart | ImagePart, Field(discriminator="type")], ...]
    is_error: bool = False


Part: TypeAlias = Annotated[
    TextPart | ImagePart | FilePart | ReasoningPart | ToolCallPart | ToolResultPart, Field(discriminator="type")
]


class Sender(Frozen):
    """Who a message is from: the person, the agent, a notice of Atlas or a plugin, or a tool."""

    kind: Literal["person", "agent", "notice", "tool"]
    id: str = ""
    name: Text = ""


class ProviderItems(Frozen):
    """Items only one provider understands (reasoning, signatures), replayed to it byte for byte."""

    provider: str
    items: tuple[Json, ...]


MessageKind: TypeAlias = Literal["message", "voice_turn"]
"""How it was said: in a turn, written or answered; or aloud, in a live voice session, of which this is the text."""


Speaker: TypeAlias = Literal["user", "assistant"]


class Message(Frozen):
    """One message of a conversation's tree, as stored, as sent to clients and as given to providers.

    ``role`` is the model's view: ``user`` (people and notices), ``assistant`` or ``tool``. ``parent`` is the
    message before it; siblings are edits. ``client_id`` is the sending client's own id, unique within the
    conversation, which makes a resend harmless. ``queued`` is true while it waits for a turn to take it.
    """

    id: str
    conversation: str
    parent: str | None
    role: Literal["user", "assistant", "tool"]
    kind: MessageKind = "message"
    sender: Sender
    parts: tuple[Part, ...]
    created_at: datetime
    turn: str | None = None
    client_id: str | None = None
    queued: bool = False
    provider_items: ProviderItems | None = None
    cause: str | None = None

    def text(self) -> str:
        """Return the message's text parts, joined by blank lines."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    def calls(self) -> tuple[ToolCallPart, ...]:
        """Return the tool calls the message asks for, in its order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCallPart))


def first_line(message: Message) -> str:
    """Return what a person said, on one line and cut to a title's length: a conversation is called so at first."""
    said = [part.text for part in message.parts if isinstance(part, TextPart) and part.trust != "agent"]
    return as_title(" ".join(said))


def as_title(text: str) -> str:
    """Return a text on one line, cut after a word to ``TITLE_CHARS``."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rsplit(" ", 1)[0] + "…"


def branched(path: Sequence[Message], parent: str) -> list[Message]:
    """Return a path up to the message ``parent``, which an edit goes on from; an empty one stands before the first.

    Raises NotFoundError when it is not on the path, and MisuseError between a call and its result.
    """
    ids = ["", *(message.id for message in path)]
    if parent not in ids:
        raise NotFoundError(f"There is no message {parent!r} in this conversation's past.")
    before = list(path[: ids.index(parent)])
    if unpaired(before):
        raise MisuseError("Nothing can be said between a call and its result.")
    return before


def lost_results(path: Sequence[Message]) -> list[ToolResultPart]:
    """Return a result for each tool call of a path that has none: nobody knows what came of it."""
    lost = TextPart(text=LOST, trust="agent", source="atlas")
    return [ToolResultPart(call=call.call, name=call.name, content=(lost,), is_error=True) for call in unpaired(path)]


def unpaired(path: Sequence[Message]) -> list[ToolCallPart]:
    """Return the tool calls of a path that have no result, in order."""
    waiting: dict[str, ToolCallPart] = {}
    for message in path:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting[part.call] = part
            elif isinstance(part, ToolResultPart):
                waiting.pop(part.call, None)
    return list(waiting.values())
