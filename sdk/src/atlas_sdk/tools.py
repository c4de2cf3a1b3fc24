"""What a tool is, what it is given, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from .errors import AtlasError
from .instructions import Told
from .messages import ImagePart, TextPart
from .values import Json, whole_json, whole_text

Arguments: TypeAlias = Mapping[str, Json]


ENOUGH = "enough"
"""The code of a ToolError that tells the model itself to stop trying, so that the loop guards need not."""


class ToolError(AtlasError):
    """A tool could not do what the model asked. The message is written for the model: what was not done and why."""


@dataclass(frozen=True)
class ToolResult:
    """What the model reads. ``content`` is text and images; ``is_error`` marks a failure."""

    content: tuple[TextPart | ImagePart, ...]
    is_error: bool = False

    @classmethod
    def of(cls, text: str, *, source: str = "", is_error: bool = False) -> ToolResult:
        """Make a result of one text, marked as read from outside."""
        return cls((TextPart(text=text, trust="outside", source=source),), is_error)

    def text(self) -> str:
        """Return the text parts, joined by line breaks."""
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))


class ToolHost(Protocol):
    """What a running call may ask of Atlas. It is valid until the call returns."""

    @property
    def conversation(self) -> str:
        """The id of the conversation the call belongs to."""

    @property
    def call(self) -> str:
        """The ledger's id of this call."""

    @property
    def key(self) -> str:
        """An idempotency key: the same for a call that is told again, for what the tool calls to refuse twice."""

    @property
    def folder(self) -> Path:
        """The working folder: relative paths start here."""

    @property
    def sees_images(self) -> bool:
        """Whether the conversation's model sees images."""

    def progress(self, text: str) -> None:
        """Show text under the call, to people and never to the model."""

    def effect(self, kind: Literal["file", "process", "host"], target: str) -> AbstractAsyncContextManager[None]:
        """Write an effect to the ledger, then do it inside the block; leaving the block closes the row.

        ``target`` is the path, the command line or the host. When the row cannot be written the block is
        not entered (StorageError), so nothing happens that the ledger does not know.
        """

    async def send_file(self, path: Path) -> Path:
        """Send the user a file: a copy is kept in the home and shown in the conversation. Returns the copy."""

    async def keep(self, data: bytes, *, media_type: str, name: str = "") -> str:
        """Keep bytes as an attachment of the home and return its id, for an ImagePart."""

    async def notify(self, text: str) -> None:
        """Bring text to this conversation later, where it starts a turn."""


ToolFunction: TypeAlias = Callable[[Arguments, ToolHost], Awaitable[ToolResult | str]]


@dataclass(frozen=True)
class Tool:
    """A tool: its name and schema for the model, the function that runs it, and how the kernel treats it.

    ``parameters`` is a JSON Schema of type object; the arguments are checked against it before anything runs.
    ``read_only`` lets it run beside other read-only calls, and without a gate. ``deferred`` keeps it behind
    tool search. ``carried`` results survive a compaction: the last one of the tool, or of each ``name`` among its
    arguments. ``failure_tolerant`` tells the loop guards that
    failing again is diagnosis. ``pages`` says it pages its own output, so that it is never spilled.
    ``command`` names the argument that is a shell command, ``paths`` those that are files it writes, and
    ``reads`` those that are files it reads, and ``folder`` the one that is the folder it works in: it is what
    the gate looks at. ``untrusted`` marks a tool of a
    server the user does not trust. ``told`` makes what follows the description in the prompt of a conversation,
    such as what there is for the tool to choose from; it is asked where the instructions' sections are.
    """

    name: str
    description: str
    parameters: Json
    run: ToolFunction
    read_only: bool = False
    deferred: bool = False
    carried: bool = False
    failure_tolerant: bool = False
    pages: bool = False
    command: str = ""
    paths: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    folder: str = ""
    untrusted: bool = False
    source: str = ""
    told: Told | None = None

    def __post_init__(self) -> None:
        # What a server or a plugin says of its tool stands before every conversation: it is to be text.
        object.__setattr__(self, "description", whole_text(self.description))
        try:
            json.dumps(self.parameters, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            object.__setattr__(self, "parameters", whole_json(self.parameters))
        except (TypeError, ValueError, RecursionError):
            return  # no JSON at all, which is said where the tool is added
