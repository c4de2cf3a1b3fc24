"""What a keeper of questions promises: the first answer takes it, silence and stopping are never a yes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio

from ...errors import AtlasError
from ...ids import new_id
from ...services.gate import Card, Scope
from ...services.questions import Answer, Choice, Question, QuestionsService
from ..suite import made, suite
from .patience import until_found
from .raising import raises

MakeQuestions: TypeAlias = Callable[[], QuestionsService | Awaitable[QuestionsService]]
SOON_SECONDS = 0.01
CARD = Card("Run this command?", "rm -r build", "It deletes files.", parts=("rm -r build",), always="rm -r build")


@dataclass
class QuestionsBench:
    """A keeper of questions, and what its callers were told."""

    questions: QuestionsService
    told: list[Any] = field(default_factory=list)

    async def ask(self, question: Question) -> None:
        """Ask in a task of its own."""
        self.told.append(await self.questions.ask(question))

    async def approve(self, card: Card = CARD) -> None:
        """Ask for leave in a task of its own."""
        self.told.append(await self.questions.approve(card, conversation="c1", turn="t1", call="k1"))

    async def waiting(self, count: int = 1) -> tuple[Question, ...]:
        """Return the questions once so many wait."""

        async def look() -> bool:
            return len(await self.questions.pending()) >= count

        await until_found(look)
        return await self.questions.pending()

    async def approved_by(self, *choices: str, text: str = "", card: Card = CARD) -> tuple[Scope | None, Answer]:
        """Ask for leave and answer so."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.approve, card)
            (question,) = await self.waiting()
            assert await self.questions.answer(question.id, answered(*choices, text=text))
        scope, answer = self.told[-1]
        return scope, answer


@suite("keeper of questions")
@asynccontextmanager
async def check_questions(make_questions: MakeQuestions) -> AsyncIterator[QuestionsBench]:
    """Check a QuestionsService. ``make_questions`` makes a new one, with nothing that waits, for every promise."""
    yield QuestionsBench(await made(make_questions()))


def question(conversation: str = "c1", **more: Any) -> Question:
    """Return a question with two choices."""
    values: dict[str, Any] = {
        "id": new_id(), "kind": "question", "title": "Which?",
        "choices": (Choice(id="1", label="This"), Choice(id="2", label="That")),
    }  # fmt: skip
    return Question(conversation=conversation, **{**values, **more})


def answered(*choices: str, text: str = "", by: str = "phone") -> Answer:
    """Return an answer that somebody gave."""
    return Answer(how="answered", choices=choices, text=text, by=by)


@check_questions.promise
async def the_one_who_asked_gets_the_answer(bench: QuestionsBench) -> None:
    """What was picked, what was typed, and who it was."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, question())
        (asked,) = await bench.waiting()
        assert await bench.questions.answer(asked.id, answered("2", text="because", by="phone"))

    assert bench.told == [answered("2", text="because", by="phone")]
    assert await bench.questions.pending() == ()


@check_questions.promise
async def the_first_answer_takes_it(bench: QuestionsBench) -> None:
    """True for the first and False for the second, which changes nothing, even before the asker wakes up."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, question())
        (asked,) = await bench.waiting()
        taken = [await bench.questions.answer(asked.id, answered(choice)) for choice in ("1", "2")]

    assert taken == [True, False]
    assert bench.told == [answered("1")]
    assert await bench.questions.answer(asked.id, answered("2")) is False


@check_questions.promise
async def of_answers_at_once_one_takes_it(bench: QuestionsBench) -> None:
    """Every client may press at the same moment."""
    taken: list[bool] = []

    async def press(id: str, number: int) -> None:
        taken.append(await bench.questions.answer(id, answered("1", by=f"client {number}")))

    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, question())
        (asked,) = await bench.waiting()
        async with anyio.create_task_group() as presses:
            for number in range(10):
                presses.start_soon(press, asked.id, number)

    assert sorted(taken) == [False] * 9 + [True]


@check_questions.promise
async def an_answer_to_nothing_is_false(bench: QuestionsBench) -> None:
    """A question nobody asked is answered by nobody."""
    assert await bench.questions.answer("nobody", answered("1")) is False


@check_questions.promise
async def an_answer_that_was_not_on_offer_is_refused(bench: QuestionsBench) -> None:
    """AtlasError, and the question still waits for a right one."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, question())
        (asked,) = await bench.waiting()
        for wrong in (answered("3"), answered("1", "2"), Answer(how="timed_out"), Answer(how="withdrawn")):
            with raises(AtlasError):
                await bench.questions.answer(asked.id, wrong)
        assert len(await bench.questions.pending()) == 1
        await bench.questions.answer(asked.id, answered("1"))

    assert bench.told == [answered("1")]


@check_questions.promise
async def questions_wait_side_by_side(bench: QuestionsBench) -> None:
    """``pending`` lists them, the oldest first, of one conversation or of all."""
    made_here = [question("c1"), question("c2"), question("c1")]
    async with anyio.create_task_group() as group:
        for number, one in enumerate(made_here):
            group.start_soon(bench.ask, one)
            await bench.waiting(number + 1)

        assert await bench.questions.pending() == tuple(made_here)
        assert await bench.questions.pending("c1") == (made_here[0], made_here[2])
        assert await bench.questions.pending("c3") == ()
        for one in reversed(made_here):
            await bench.questions.answer(one.id, answered("1"))

    assert len(bench.told) == 3


@check_questions.promise
async def silence_is_timed_out(bench: QuestionsBench) -> None:
    """After ``expires_in`` seconds, and an answer that comes later is False."""
    asked = question(expires_in=SOON_SECONDS)
    await bench.ask(asked)

    assert [answer.how for answer in bench.told] == ["timed_out"]
    assert await bench.questions.pending() == ()
    assert await bench.questions.answer(asked.id, answered("1")) is False


@check_questions.promise
async def cancelling_withdraws_the_question(bench: QuestionsBench) -> None:
    """The turn was stopped: nothing waits any longer, and an answer is False."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, question())
        (asked,) = await bench.waiting()
        group.cancel_scope.cancel()

    assert await bench.questions.pending() == ()
    assert await bench.questions.answer(asked.id, answered("1")) is False


@check_questions.promise
async def an_approval_shows_all_of_the_card(bench: QuestionsBench) -> None:
    """What would run, why it is asked, its parts, the rule that "always" would save, and how long it waits."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.approve)
        (asked,) = await bench.waiting()
        group.cancel_scope.cancel()

    shown = (asked.kind, asked.title, asked.exact, asked.why, asked.parts, asked.always, asked.expires_in)
    assert shown == ("approval", CARD.title, CARD.exact, CARD.why, CARD.parts, CARD.always, CARD.expires_in)
    assert (asked.conversation, asked.turn, asked.call) == ("c1", "t1", "k1")


@check_questions.promise
async def an_approval_is_for_the_scope_picked(bench: QuestionsBench) -> None:
    """``once``, ``conversation`` and ``always`` are yes for so long."""
    for choice in ("once", "conversation", "always"):
        scope, answer = await bench.approved_by(choice)
        assert scope == choice
        assert answer.how == "answered"


@check_questions.promise
async def always_is_taken_only_where_offered(bench: QuestionsBench) -> None:
    """A card without a rule to save offers no ``always``, and takes none."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.approve, Card("Allow?", "x", "y"))
        (asked,) = await bench.waiting()
        assert "always" not in {choice.id for choice in asked.choices}
        with raises(AtlasError):
            await bench.questions.answer(asked.id, answered("always"))
        group.cancel_scope.cancel()


@check_questions.promise
async def a_denial_is_no_scope_and_keeps_its_reason(bench: QuestionsBench) -> None:
    """The reason goes to the model."""
    scope, answer = await bench.approved_by("deny", text="Not on a Friday.")

    assert scope is None
    assert answer.text == "Not on a Friday."


@check_questions.promise
async def an_approval_in_words_is_refused(bench: QuestionsBench) -> None:
    """Only a choice is a yes: a text alone, or two choices at once, raise AtlasError."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.approve)
        (asked,) = await bench.waiting()
        for wrong in (answered(text="yes"), answered("once", "deny"), answered("yes")):
            with raises(AtlasError):
                await bench.questions.answer(asked.id, wrong)
        group.cancel_scope.cancel()


@check_questions.promise
async def silence_and_stopping_are_never_a_yes(bench: QuestionsBench) -> None:
    """An approval that times out has no scope."""
    await bench.approve(Card("Allow?", "x", "y", expires_in=SOON_SECONDS))

    ((scope, answer),) = bench.told
    assert (scope, answer.how) == (None, "timed_out")


@check_questions.promise
async def a_secret_is_in_no_answer(bench: QuestionsBench) -> None:
    """What is typed for a question of kind ``secret`` goes to the vault and not to the one who asked."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, question(kind="secret", choices=(), secret="API_KEY"))
        (asked,) = await bench.waiting()
        assert await bench.questions.answer(asked.id, answered(text="hunter2-hunter2"))

    assert "hunter2" not in repr(bench.told)
    assert bench.told[0].how == "answered"
