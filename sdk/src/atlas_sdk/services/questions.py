"""Questions and approvals that wait for a person."""

from __future__ import annotations

from typing import Literal, Protocol

from ..messages import Frozen
from . import ServiceKey
from .gate import Card, Scope


class Choice(Frozen):
    """One answer that may be picked."""

    id: str
    label: str
    description: str = ""


class Question(Frozen):
    """A card that waits, as every client sees it.

    ``kind`` is ``approval`` (choices are ``once``, ``conversation``, ``always`` where offered, and ``deny``),
    ``question`` (an answer in words is welcome too) or ``secret`` (the answer goes to the vault as ``secret``).
    ``expires_in`` is in seconds; None waits as long as it takes.
    """

    id: str
    conversation: str
    turn: str = ""
    call: str = ""
    kind: Literal["approval", "question", "secret"]
    title: str
    exact: str = ""
    why: str = ""
    parts: tuple[str, ...] = ()
    always: str = ""
    choices: tuple[Choice, ...] = ()
    multiple: bool = False
    secret: str = ""
    expires_in: float | None = None


class Answer(Frozen):
    """How a question ended. ``choices`` are ids of what was picked and ``text`` what was typed.

    ``timed_out`` and ``withdrawn`` (the turn was stopped) are never a yes.
    """

    how: Literal["answered", "timed_out", "withdrawn"]
    choices: tuple[str, ...] = ()
    text: str = ""
    by: str = ""


class QuestionsService(Protocol):
    """Keeps questions until somebody answers: every client sees them and the first answer takes it."""

    async def approve(self, card: Card, *, conversation: str, turn: str, call: str) -> tuple[Scope | None, Answer]:
        """Ask a person to allow a call; return the scope they allowed it for, or None for a refusal.

        Silence for ``[trust] approval_timeout`` seconds is a refusal. Cancelling withdraws the question.
        """

    async def ask(self, question: Question) -> Answer:
        """Ask and wait for the answer. Cancelling withdraws the question."""

    async def answer(self, id: str, answer: Answer) -> bool:
        """Answer a question; False when it is gone or taken already, and nothing changes then."""

    async def pending(self, conversation: str | None = None) -> tuple[Question, ...]:
        """Return the questions that wait, the oldest first."""


QUESTIONS: ServiceKey[QuestionsService] = ServiceKey("questions", 1)
