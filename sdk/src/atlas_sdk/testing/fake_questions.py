"""Questions with nobody to ask: answers come from a script, or from the test by ``answer``."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import anyio

from ..errors import MisuseError
from ..ids import new_id
from ..services.gate import Card, Scope
from ..services.questions import Answer, Choice, Question

_CHOICES = (
    Choice(id="once", label="Allow once"),
    Choice(id="conversation", label="Allow for this conversation"),
    Choice(id="always", label="Always allow"),
    Choice(id="deny", label="Deny"),
)
_SCOPES: dict[str, Scope] = {"once": "once", "conversation": "conversation", "always": "always"}


@dataclass
class _Waiting:
    question: Question
    settled: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None


class FakeQuestions:
    """A QuestionsService in memory.

    ``answers`` is the script, one entry a question: the id of a choice (``"once"``, ``"deny"``), a text, or a
    whole Answer. A question that comes when the script is at its end waits until the test calls ``answer``.
    """

    def __init__(self, *answers: str | Answer, by: str = "a test") -> None:
        self.asked: list[Question] = []
        """Every question there was, settled or not."""
        self.secrets: dict[str, str] = {}
        """What was typed for questions of kind ``secret``, by the secret's name."""
        self._script = deque(answers)
        self._by = by
        self._waiting: dict[str, _Waiting] = {}

    def script(self, *answers: str | Answer) -> None:
        """Put more answers at the end of the script."""
        self._script.extend(answers)

    async def approve(self, card: Card, *, conversation: str, turn: str, call: str) -> tuple[Scope | None, Answer]:
        """Ask to allow a call."""
        question = Question(
            id=new_id(),
            conversation=conversation,
            turn=turn,
            call=call,
            kind="approval",
            title=card.title,
            exact=card.exact,
            why=card.why,
            parts=card.parts,
            always=card.always,
            choices=tuple(choice for choice in _CHOICES if choice.id != "always" or card.always),
            expires_in=card.expires_in,
        )
        answer = await self.ask(question)
        picked = answer.choices[0] if answer.how == "answered" and answer.choices else ""
        return _SCOPES.get(picked), answer

    async def ask(self, question: Question) -> Answer:
        """Ask, and wait for the script or the test."""
        waiting = _Waiting(question)
        self.asked.append(question)
        self._waiting[question.id] = waiting
        try:
            if self._script:
                said = self._script.popleft()
                if isinstance(said, Answer) and said.how != "answered":
                    return said
                await self.answer(question.id, self._answer(question, said))
            with anyio.move_on_after(question.expires_in):
                await waiting.settled.wait()
            return waiting.answer or Answer(how="timed_out")
        finally:
            del self._waiting[question.id]

    async def answer(self, id: str, answer: Answer) -> bool:
        """Answer a question that waits."""
        waiting = self._waiting.get(id)
        if waiting is None or waiting.answer is not None:
            return False
        question, known = waiting.question, {choice.id for choice in waiting.question.choices}
        if answer.how != "answered" or set(answer.choices) - known:
            raise MisuseError("That is not one of the answers.", hint=f"They are: {', '.join(sorted(known))}.")
        if len(answer.choices) > 1 and not question.multiple:
            raise MisuseError("This question takes one answer.")
        if question.kind == "approval" and len(answer.choices) != 1:
            raise MisuseError("An approval takes exactly one of its choices.")
        if question.kind == "secret":
            self.secrets[question.secret] = answer.text
            answer = answer.model_copy(update={"text": ""})
        waiting.answer = answer
        waiting.settled.set()
        return True

    async def pending(self, conversation: str | None = None) -> tuple[Question, ...]:
        """Return the questions that wait."""
        return tuple(
            waiting.question
            for waiting in self._waiting.values()
            if waiting.answer is None and conversation in (None, waiting.question.conversation)
        )

    def _answer(self, question: Question, said: str | Answer) -> Answer:
        if isinstance(said, Answer):
            return said
        if said in {choice.id for choice in question.choices}:
            return Answer(how="answered", choices=(said,), by=self._by)
        return Answer(how="answered", text=said, by=self._by)
