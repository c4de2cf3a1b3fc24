"""Errors that are sentences: what happened, to what, and the way out."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status means."""

    DONE = 0
    """The thing asked was done."""
    FAILED = 1
    """The thing asked failed."""
    MISUSE = 2
    """The command, its arguments or a file of settings are wrong."""
    NEEDS_CONSENT = 3
    """A consent or a key is missing."""
    SERVER = 4
    """The server is not running, or another one holds the home."""
    REFUSED = 5
    """Refused for safety."""
    INTERRUPTED = 130
    """Stopped by the user."""


class AtlasError(Exception):
    """An error that a user reads: printed as a sentence and its way out, without a traceback.

    ``code`` is a stable word for programs, such as ``"unknown_setting"``; ``hint`` is the way out.
    """

    exit_code: ExitCode = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str = "", code: str = "failed") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class MisuseError(AtlasError):
    """What was asked cannot be meant: a wrong argument, a misspelt setting, a broken file."""

    exit_code = ExitCode.MISUSE


class SettingsError(MisuseError):
    """A file of settings cannot be meant. It stops Atlas, rather than being half obeyed."""


class NotFoundError(AtlasError):
    """The thing named does not exist."""


class NeedsConsentError(AtlasError):
    """A consent or a key is missing."""

    exit_code = ExitCode.NEEDS_CONSENT


class ServerError(AtlasError):
    """The server is not running, or another process holds the home."""

    exit_code = ExitCode.SERVER


class RefusedError(AtlasError):
    """Refused for safety; nothing was done."""

    exit_code = ExitCode.REFUSED


class StorageError(AtlasError):
    """What had to be kept could not be written or read; nothing was announced."""


class MissingServiceError(AtlasError):
    """A service is needed that no plugin provides at the moment."""

    exit_code = ExitCode.NEEDS_CONSENT


def is_plain(error: BaseException) -> bool:
    """Whether an error, or every error of a group, is an AtlasError: a fact for the user and no bug."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_plain(inner) for inner in error.exceptions)
    return isinstance(error, AtlasError)


def lone(group: BaseExceptionGroup[BaseException]) -> AtlasError | None:
    """Return the AtlasError a group comes down to, or None where something else is in it, too."""
    inner = [lone(one) if isinstance(one, BaseExceptionGroup) else one for one in group.exceptions]
    return inner[0] if inner and all(isinstance(one, AtlasError) for one in inner) else None  # type: ignore[return-value]


def sentence(error: BaseException) -> str:
    """Return an error as one sentence: an AtlasError's own, else its type and message."""
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        return sentence(error.exceptions[0])
    if isinstance(error, AtlasError):
        return str(error)
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
