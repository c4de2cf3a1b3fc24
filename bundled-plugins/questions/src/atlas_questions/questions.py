"""The service: a question waits until the first answer, the end of its time, or its withdrawal."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError
from atlas_sdk.ids import new_id
from atlas_sdk.services.gate import Card, Scope
from atlas_sdk.services.questions import Answer, Choice, Question
from atlas_sdk.services.store import STORE
from atlas_sdk.services.vault import VAULT

from .records import keep_answer, keep_question

ONCE = Choice(id="once", label="Allow once")
CONVERSATION = Choice(id="conversation", label="Allow for this conversation")
ALWAYS = Choice(id="always", label="Always allow")
SCOPES: dict[str, Scope] = {"once": "once", "conversation": "conversation", "always": "always"}
DENY = Choice(id="deny", label="Deny", description="A reason may follow.")


@dataclass
class _Waiting:
    question: Question
    settled: anyio.Event = field(default_factory=anyio.Event)
    answer: Answer | None = None


class Questions:
    """Keeps questions. Taking an answer is one step of the event loop, so exactly one answer takes it."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._waiting: dict[str, _Waiting] = {}

    async def approve(self, card: Card, *, conversation: str, turn: str, call: str) -> tuple[Scope | None, Answer]:
        choices = [ONCE, CONVERSATION, *([ALWAYS] if card.always else []), DENY]
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
            choices=tuple(choices),
            expires_in=card.expires_in,
        )
        answer = await self.ask(question)
        picked = answer.choices[0] if answer.how == "answered" and len(answer.choices) == 1 else ""
        scope = SCOPES.get(picked)
        return scope, answer

    async def ask(self, question: Question) -> Answer:
        store, clock = self._ctx.services.need(STORE), self._ctx.clock
        waiting = _Waiting(question)
        asked_at = clock.now()
        await store.write(lambda transaction: keep_question(transaction, question, asked_at))
        self._waiting[question.id] = waiting
        answer = Answer(how="withdrawn", by="atlas")
        try:
            with anyio.move_on_after(question.expires_in):
                await waiting.settled.wait()
            answer = waiting.answer or Answer(how="timed_out", by="atlas")
        finally:
            self._waiting.pop(question.id, None)
            with anyio.CancelScope(shield=True):
                now = clock.now()
                await store.write(lambda transaction: keep_answer(transaction, question, answer, now))
        return answer

    async def answer(self, id: str, answer: Answer) -> bool:
        waiting = self._waiting.get(id)
        if waiting is None or waiting.answer is not None:
            return False
        answer = _checked(waiting.question, answer)
        if waiting.question.kind == "secret" and answer.text:
            text, answer = answer.text, answer.model_copy(update={"text": ""})
            waiting.answer = answer  # taken before anything is awaited
            try:
                await self._ctx.services.need(VAULT).set(waiting.question.secret, text)
            except BaseException:
                waiting.answer = None
                raise
        waiting.answer = answer
        waiting.settled.set()
        return True

    async def pending(self, conversation: str | None = None) -> tuple[Question, ...]:
        return tuple(
            waiting.question
            for waiting in self._waiting.values()
            if waiting.answer is None and conversation in (None, waiting.question.conversation)
        )


def _checked(question: Question, answer: Answer) -> Answer:
    """Refuse an answer that was not on offer: an approval is given by its own words or not at all."""
    known = {choice.id for choice in question.choices}
    unknown = [choice for choice in answer.choices if choice not in known]
    if answer.how != "answered" or unknown or (len(answer.choices) > 1 and not question.multiple):
        raise MisuseError(
            "That is not one of the answers.", hint=f"They are: {', '.join(sorted(known)) or 'free text'}."
        )
    if question.kind == "approval" and len(answer.choices) != 1:
        raise MisuseError("An approval takes exactly one of its choices.")
    return answer
