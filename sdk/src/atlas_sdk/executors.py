"""Executors: coding agents installed on the computer, run beside Atlas.

An executor only carries: it starts the harness, reads what it says into events, and writes back the answers it is
given. It never learns who answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from .errors import AtlasError
from .values import Json


class ExecutorError(AtlasError):
    """The harness cannot do what was asked; the message is for the user."""


@dataclass(frozen=True)
class Account:
    """The login a harness uses: what to show of it, never a credential."""

    email: str = ""
    plan: str = ""


@dataclass(frozen=True)
class Detection:
    """What is installed."""

    installed: bool
    version: str = ""
    supported: bool = True
    account: Account | None = None
    why: str = ""


@dataclass(frozen=True)
class Capabilities:
    """What an executor offers beyond the required; nothing behind a flag that is off is ever called."""

    questions: bool = False
    permissions: bool = False
    steer: bool = False
    auto: bool = False
    sessions: bool = False
    fork: bool = False
    models: bool = False
    usage: bool = False
    files: bool = False
    accounts: bool = False
    connectors: bool = False
    folders: bool = False
    commands: bool = False
    account_folders: bool = False
    delete_sessions: bool = False


@dataclass(frozen=True)
class ExecutorSpec:
    """How an instance is to be started. ``resume`` is a session's id, ``fork`` continues it in a copy.

    ``resume_from`` is the account's folder that the session is in, where it is another's; ``directories`` are
    folders it may work in besides its own.
    """

    folder: Path
    resume: str = ""
    fork: bool = False
    model: str = ""
    auto: bool = False
    resume_from: Path | None = None
    directories: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Option:
    """One choice of a question."""

    label: str
    description: str = ""


@dataclass(frozen=True)
class Question:
    """A question of the harness to the person."""

    text: str
    options: tuple[Option, ...] = ()
    multiple: bool = False


@dataclass(frozen=True)
class Permission:
    """What the harness wants to do and may not without an answer."""

    tool: str
    title: str
    arguments: Json = None


@dataclass(frozen=True)
class PermissionVerdict:
    """The answer to a permission; ``reason`` is read by the harness on a refusal."""

    allow: bool
    reason: str = ""


@dataclass(frozen=True)
class Started:
    """The harness's session has an id."""

    session: str


@dataclass(frozen=True)
class Said:
    """The harness's agent said text."""

    text: str


@dataclass(frozen=True)
class Thought:
    """The harness's agent thought aloud."""

    text: str


@dataclass(frozen=True)
class Called:
    """A tool of the harness is called."""

    id: str
    tool: str
    arguments: Json = None


@dataclass(frozen=True)
class Returned:
    """A tool of the harness answered."""

    id: str
    text: str
    is_error: bool = False


@dataclass(frozen=True)
class LimitReached:
    """The account's plan is used up; ``resets_at`` is in seconds since the epoch where it was said."""

    resets_at: float | None = None


@dataclass(frozen=True)
class Compacted:
    """The harness compacted its history."""


@dataclass(frozen=True)
class Finished:
    """A turn of the harness ended."""

    how: Literal["done", "stopped", "failed"]
    error: str = ""


@dataclass(frozen=True)
class UsageWindow:
    """How much of a plan's window is used: ``used`` from 0 to 1, ``resets_at`` in seconds since the epoch."""

    name: str
    used: float
    resets_at: float | None = None


@dataclass(frozen=True)
class PlanUsage:
    """How much of the account's plan is used, window by window."""

    windows: tuple[UsageWindow, ...] = ()


@dataclass(frozen=True)
class UsageChanged:
    """The plan's usage is another one."""

    usage: PlanUsage


@dataclass(frozen=True)
class SlashCommand:
    """A command of the harness, typed as ``/name``."""

    name: str
    description: str = ""
    hint: str = ""


@dataclass(frozen=True)
class CommandsChanged:
    """The harness has other commands than before."""

    commands: tuple[SlashCommand, ...]


ExecutorEvent: TypeAlias = (
    Started | Said | Thought | Called | Returned | LimitReached | Compacted | Finished | UsageChanged | CommandsChanged
)


@dataclass(frozen=True)
class SessionInfo:
    """A session the harness keeps. ``updated_at`` is in seconds since the epoch."""

    id: str
    title: str = ""
    folder: Path | None = None
    updated_at: float | None = None


@dataclass(frozen=True)
class SessionFolder:
    """A folder the harness worked in, and how many sessions it keeps of it."""

    path: Path
    sessions: int = 0


@dataclass(frozen=True)
class ModelChoice:
    """A model the harness offers."""

    id: str
    name: str = ""
    default: bool = False


@dataclass(frozen=True)
class Connector:
    """A server of tools the harness is connected with."""

    name: str
    connected: bool
    why: str = ""


@dataclass(frozen=True)
class ExecutorFile:
    """A file that goes with a prompt."""

    path: Path
    media_type: str
    name: str = ""


@dataclass(frozen=True)
class TranscriptEntry:
    """One entry of a session read back."""

    kind: Literal["user", "assistant", "thought", "call", "result"]
    text: str
    tool: str = ""


@dataclass(frozen=True)
class Transcript:
    """A session read back, wherever the harness keeps it."""

    entries: tuple[TranscriptEntry, ...]


class ExecutorHost(Protocol):
    """What a running instance may call."""

    def event(self, event: ExecutorEvent) -> None:
        """Report what happened, in order. Never waits."""

    async def ask(self, questions: Sequence[Question]) -> tuple[tuple[str, ...], ...]:
        """Ask the person; return the answers to each question. It waits as long as it takes."""

    async def approve(self, permission: Permission) -> PermissionVerdict:
        """Ask for leave. It waits as long as it takes."""

    def failed(self, reason: str) -> None:
        """Say that the instance cannot go on, in a sentence for its owner."""


class ExecutorInstance(Protocol):
    """One running harness."""

    async def prompt(self, text: str) -> None:
        """Run a turn, until its Finished was reported. Never called while one runs."""

    async def stop(self) -> None:
        """End it with every process it started, within two seconds. Harmless twice."""


@runtime_checkable
class Executor(Protocol):
    """A harness. The implementer guarantees what each member says."""

    @property
    def name(self) -> str:
        """Its name, as the manifest declares it."""

    @property
    def title(self) -> str:
        """How people read it."""

    async def detect(self) -> Detection:
        """Look what is installed, changing nothing."""

    def capabilities(self) -> Capabilities:
        """Say what it offers."""

    async def start(self, spec: ExecutorSpec, host: ExecutorHost) -> ExecutorInstance:
        """Start the harness. Raises ExecutorError."""

    async def transcript(self, session: str, folder: Path) -> Transcript:
        """Read a session back. Raises ExecutorError."""
