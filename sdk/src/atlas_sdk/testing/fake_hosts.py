"""What a running tool, channel or executor may call, keeping what it was told."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio

from ..channels import Inbound
from ..errors import StorageError
from ..executors import ExecutorEvent, Finished, Permission, PermissionVerdict, Question
from ..tools import ToolError


@dataclass
class FakeEffect:
    """An effect in the fake ledger: still ``open``, ``done``, or ``failed``."""

    kind: Literal["file", "process", "host"]
    target: str
    state: Literal["open", "done", "failed"] = "open"


@dataclass
class FakeToolHost:
    """The ToolHost of one call. With ``ledger_fails`` no effect can be written, and so nothing may happen."""

    folder: Path
    conversation: str = "conversation-1"
    call: str = "call-1"
    key: str = "key-1"
    sees_images: bool = False
    ledger_fails: bool = False
    told: list[str] = field(default_factory=list)
    """What ``progress`` showed."""
    effects: list[FakeEffect] = field(default_factory=list)
    sent: list[Path] = field(default_factory=list)
    """The files the user was sent."""
    kept: dict[str, tuple[bytes, str, str]] = field(default_factory=dict)
    """Attachments: bytes, media type and name, by id."""
    notices: list[str] = field(default_factory=list)

    def progress(self, text: str) -> None:
        """Show text under the call."""
        self.told.append(text)

    def effect(self, kind: Literal["file", "process", "host"], target: str) -> AbstractAsyncContextManager[None]:
        """Write an effect to the ledger for the length of the block."""
        return self._effect(kind, target)

    @asynccontextmanager
    async def _effect(self, kind: Literal["file", "process", "host"], target: str) -> AsyncIterator[None]:
        await anyio.lowlevel.checkpoint()
        if self.ledger_fails:
            raise StorageError("The disk is full, and nothing was written.", code="disk_full")
        row = FakeEffect(kind, target)
        self.effects.append(row)
        try:
            yield
            row.state = "done"
        finally:
            if row.state == "open":
                row.state = "failed"

    async def send_file(self, path: Path) -> Path:
        """Send the user a file."""
        await anyio.lowlevel.checkpoint()
        if not await anyio.Path(path).is_file():
            raise ToolError(f"{path} could not be sent: there is no such file.")
        self.sent.append(path)
        return path

    async def keep(self, data: bytes, *, media_type: str, name: str = "") -> str:
        """Keep bytes as an attachment."""
        await anyio.lowlevel.checkpoint()
        id = hashlib.sha256(data).hexdigest()
        self.kept[id] = (data, media_type, name)
        return id

    async def notify(self, text: str) -> None:
        """Bring text to the conversation later."""
        await anyio.lowlevel.checkpoint()
        self.notices.append(text)


class FakeChannelHost:
    """The ChannelHost of a running channel. ``shown`` is what a press leaves in the buttons' place."""

    def __init__(self, *, shown: str | None = "Allowed.") -> None:
        self.received: list[Inbound] = []
        self.presses: list[tuple[str, int, str]] = []
        """Prompt, index and user of each press."""
        self.failures: list[str] = []
        self.shown = shown
        self._news = anyio.Event()

    async def receive(self, message: Inbound) -> None:
        """Take a message."""
        await anyio.lowlevel.checkpoint()
        self.received.append(message)
        self._tell()

    async def choose(self, prompt: str, index: int, user: str) -> str | None:
        """Take a press."""
        await anyio.lowlevel.checkpoint()
        self.presses.append((prompt, index, user))
        self._tell()
        return self.shown

    def failed(self, reason: str) -> None:
        """Take why the channel ends."""
        self.failures.append(reason)
        self._tell()

    async def wait(self) -> None:
        """Return once the channel called anything that it had not called when the wait began."""
        await self._news.wait()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()


class FakeExecutorHost:
    """The ExecutorHost of one instance, with scripted answers to its questions and permissions.

    What is not scripted is refused: a question is answered by nothing, and a permission with no.
    """

    def __init__(
        self, *, answers: Sequence[tuple[tuple[str, ...], ...]] = (), allow: Sequence[bool | PermissionVerdict] = ()
    ) -> None:
        self.events: list[ExecutorEvent] = []
        self.asked: list[tuple[Question, ...]] = []
        self.permissions: list[Permission] = []
        self.failures: list[str] = []
        self._answers = deque(answers)
        self._allow = deque(allow)

    @property
    def finished(self) -> tuple[Finished, ...]:
        """How each turn ended."""
        return tuple(event for event in self.events if isinstance(event, Finished))

    def event(self, event: ExecutorEvent) -> None:
        """Take an event."""
        self.events.append(event)

    async def ask(self, questions: Sequence[Question]) -> tuple[tuple[str, ...], ...]:
        """Answer by the script."""
        await anyio.lowlevel.checkpoint()
        self.asked.append(tuple(questions))
        return self._answers.popleft() if self._answers else tuple(() for _ in questions)

    async def approve(self, permission: Permission) -> PermissionVerdict:
        """Answer by the script."""
        await anyio.lowlevel.checkpoint()
        self.permissions.append(permission)
        said = self._allow.popleft() if self._allow else False
        return (
            said
            if isinstance(said, PermissionVerdict)
            else PermissionVerdict(said, "" if said else "The test says no.")
        )

    def failed(self, reason: str) -> None:
        """Take why the instance cannot go on."""
        self.failures.append(reason)
