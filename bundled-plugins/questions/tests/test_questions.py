"""Questions beside their record: who took it, what is kept, what time and a restart do to them."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
import trio.testing

from atlas_questions.ask_user import ask_user
from atlas_questions.methods import methods
from atlas_questions.questions import Questions
from atlas_questions.records import SCHEMA, withdraw_left_open
from atlas_sdk.errors import MisuseError, NeedsConsentError, StorageError
from atlas_sdk.events import QuestionAsked, QuestionSettled
from atlas_sdk.services.gate import Card
from atlas_sdk.services.questions import QUESTIONS, Answer, Question
from atlas_sdk.services.store import STORE
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing.conformance.questions import answered, question
from atlas_sdk.testing.fakes import FakeContext, FakeQuestions, FakeStore, FakeToolHost, FakeVault

pytestmark = pytest.mark.anyio
VIRTUAL = pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})], ids=["virtual"]
)
DAY = 86_400.0


@pytest.fixture
async def questions(atlas_context: FakeContext) -> Questions:
    await atlas_context.services.need(STORE).migrate("questions", SCHEMA)
    made = Questions(atlas_context)
    atlas_context.services.offer(QUESTIONS.by(made))
    return made


async def rows(ctx: FakeContext) -> list[dict[str, Any]]:
    sql = "SELECT * FROM questions_question ORDER BY asked_at, id"
    return [dict(row) for row in await ctx.services.need(STORE).read(lambda reading: reading.rows(sql))]


async def told(ctx: FakeContext) -> list[Any]:
    return [numbered.event for numbered in await ctx.services.need(STORE).events(after=0)]


async def until_waiting(questions: Questions, count: int = 1) -> tuple[Question, ...]:
    while len(await questions.pending()) < count:
        await anyio.lowlevel.checkpoint()
    return await questions.pending()


# --- the record ----------------------------------------------------------------------------------


async def test_a_question_is_on_disk_before_anybody_sees_it(questions: Questions, atlas_context: FakeContext) -> None:
    kept: list[int] = []
    store = atlas_context.services.need(STORE)
    assert isinstance(store, FakeStore)
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question())
        (asked,) = await until_waiting(questions)
        kept = [len(await rows(atlas_context))]
        await questions.answer(asked.id, answered("1"))

    assert kept == [1]


async def test_the_record_says_who_answered_what_and_when(questions: Questions, atlas_context: FakeContext) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question())
        (asked,) = await until_waiting(questions)
        atlas_context.clock.advance(minutes=3)
        await questions.answer(asked.id, answered("2", text="because", by="phone"))

    (row,) = await rows(atlas_context)
    assert Question.model_validate_json(row["data"]) == asked
    assert Answer.model_validate_json(row["answer"]) == answered("2", text="because", by="phone")
    assert row["settled_at"] == atlas_context.clock.now().isoformat()


async def test_it_is_told_once_when_it_is_asked_and_once_when_it_is_settled(
    questions: Questions, atlas_context: FakeContext
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question())
        (asked,) = await until_waiting(questions)
        await questions.answer(asked.id, answered("2", by="phone"))
        await questions.answer(asked.id, answered("1", by="laptop"))

    assert await told(atlas_context) == [
        QuestionAsked(conversation="c1", question=asked.model_dump(mode="json")),
        QuestionSettled(conversation="c1", id=asked.id, how="answered", choice="2", by="phone"),
    ]


async def test_a_question_that_cannot_be_kept_is_not_asked(questions: Questions, atlas_context: FakeContext) -> None:
    store = atlas_context.services.need(STORE)
    assert isinstance(store, FakeStore)
    store.disk.full = True

    with pytest.raises(StorageError):
        await questions.ask(question())

    assert await questions.pending() == ()


async def test_an_answer_that_cannot_be_kept_is_no_answer(questions: Questions, atlas_context: FakeContext) -> None:
    """It was announced to nobody, so nothing may run for it."""
    store = atlas_context.services.need(STORE)
    assert isinstance(store, FakeStore)
    failures: list[StorageError] = []

    async def approve() -> None:
        try:
            await questions.approve(Card("Run it?", "ls", "why"), conversation="c", turn="t", call="k")
        except StorageError as error:
            failures.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(approve)
        (asked,) = await until_waiting(questions)
        store.disk.full = True
        await questions.answer(asked.id, answered("once"))

    assert len(failures) == 1
    assert await questions.pending() == ()


# --- secrets -------------------------------------------------------------------------------------


async def test_a_secret_goes_to_the_vault_and_nowhere_else(questions: Questions, atlas_context: FakeContext) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question(kind="secret", choices=(), secret="API_KEY"))
        (asked,) = await until_waiting(questions)
        await questions.answer(asked.id, answered(text="hunter2-hunter2"))

    assert await atlas_context.services.need(VAULT).get("API_KEY") == "hunter2-hunter2"
    assert "hunter2" not in repr(await rows(atlas_context)) + repr(await told(atlas_context))


async def test_a_secret_the_vault_refuses_leaves_the_question_open(
    questions: Questions, atlas_context: FakeContext
) -> None:
    vault = atlas_context.services.need(VAULT)
    assert isinstance(vault, FakeVault)
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question(kind="secret", choices=(), secret="API_KEY"))
        (asked,) = await until_waiting(questions)
        vault.locked = "The vault's key is missing."
        with pytest.raises(NeedsConsentError):
            await questions.answer(asked.id, answered(text="hunter2-hunter2"))
        waiting = await questions.pending()
        vault.locked = ""
        assert await questions.answer(asked.id, answered(text="hunter2-hunter2"))

    assert [one.id for one in waiting] == [asked.id]


# --- time ----------------------------------------------------------------------------------------


@VIRTUAL
async def test_silence_refuses_after_exactly_the_time_on_the_card(
    questions: Questions, atlas_context: FakeContext
) -> None:
    began = anyio.current_time()
    card = Card("Run it?", "ls", "why", expires_in=300.0)
    scope, answer = await questions.approve(card, conversation="c1", turn="t", call="k")

    assert anyio.current_time() - began == pytest.approx(300.0)
    assert (scope, answer.how) == (None, "timed_out")
    settled = (await told(atlas_context))[-1]
    assert (settled.how, settled.choice) == ("timed_out", "")


@VIRTUAL
async def test_an_answer_a_moment_before_the_end_takes_it(questions: Questions) -> None:
    told_to: list[Any] = []

    async def approve() -> None:
        card = Card("Run it?", "ls", "why", expires_in=300.0)
        told_to.append(await questions.approve(card, conversation="c1", turn="t", call="k"))

    async with anyio.create_task_group() as group:
        group.start_soon(approve)
        (asked,) = await until_waiting(questions)
        await anyio.sleep(299.9)
        assert await questions.answer(asked.id, answered("once"))

    assert told_to[0][0] == "once"


@VIRTUAL
async def test_an_answer_after_the_end_changes_nothing(questions: Questions, atlas_context: FakeContext) -> None:
    asked = question(expires_in=1.0)
    answer = await questions.ask(asked)
    before = await told(atlas_context)

    assert answer.how == "timed_out"
    assert await questions.answer(asked.id, answered("1")) is False
    assert await told(atlas_context) == before


@VIRTUAL
async def test_without_a_time_it_waits_as_long_as_it_takes(questions: Questions) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question())
        (asked,) = await until_waiting(questions)
        await anyio.sleep(30 * DAY)

        assert await questions.answer(asked.id, answered("1"))


# --- stopping and starting -----------------------------------------------------------------------


async def test_cancelling_is_told_as_withdrawn(questions: Questions, atlas_context: FakeContext) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question())
        await until_waiting(questions)
        group.cancel_scope.cancel()

    (row,) = await rows(atlas_context)
    assert json.loads(row["answer"])["how"] == "withdrawn"
    assert [event.type for event in await told(atlas_context)] == ["question.asked", "question.settled"]


async def test_a_crash_leaves_questions_that_the_next_start_withdraws(
    questions: Questions, atlas_context: FakeContext
) -> None:
    crashed = question()
    store = atlas_context.services.need(STORE)
    from atlas_questions.records import keep_question

    await store.write(lambda transaction: keep_question(transaction, crashed, atlas_context.clock.now()))
    atlas_context.clock.advance(seconds=1)

    await withdraw_left_open(atlas_context)
    await withdraw_left_open(atlas_context)

    (row,) = await rows(atlas_context)
    assert json.loads(row["answer"])["how"] == "withdrawn"
    assert [event.how for event in await told(atlas_context) if isinstance(event, QuestionSettled)] == ["withdrawn"]
    assert await questions.answer(crashed.id, answered("1")) is False


async def test_a_start_leaves_alone_what_was_answered(questions: Questions, atlas_context: FakeContext) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question())
        (asked,) = await until_waiting(questions)
        await questions.answer(asked.id, answered("1"))
    before = await told(atlas_context)

    await withdraw_left_open(atlas_context)

    assert [json.loads(row["answer"])["choices"] for row in await rows(atlas_context)] == [["1"]]
    assert await told(atlas_context) == before


async def test_a_real_restart_withdraws_by_itself(atlas_app: Any, atlas_clock: Any) -> None:
    async with atlas_app("store", "questions") as app:
        from atlas_questions.records import keep_question

        crashed, now = question(), atlas_clock.now()
        await app.services.need(STORE).write(lambda transaction: keep_question(transaction, crashed, now))

    async with atlas_app("store", "questions") as app:
        told = [one.event for one in await app.services.need(STORE).events(after=0)]

        assert [event.how for event in told if isinstance(event, QuestionSettled)] == ["withdrawn"]
        assert await app.services.need(QUESTIONS).pending() == ()


# --- the wire and the tool -----------------------------------------------------------------------


class Phone:
    """A client."""

    id = "client-1"
    name = "phone"

    async def is_inside(self) -> bool:
        return False


async def test_a_client_lists_and_answers(questions: Questions, atlas_context: FakeContext) -> None:
    list_, answer = methods(atlas_context)
    async with anyio.create_task_group() as group:
        group.start_soon(questions.ask, question())
        await until_waiting(questions)
        (asked,) = (await list_.run(list_.params(), Phone())).questions  # type: ignore[attr-defined]
        params = answer.params(id=asked.id, choices=("1",))
        taken = [(await answer.run(params, Phone())).taken for _ in range(2)]  # type: ignore[attr-defined]

    assert taken == [True, False]
    settled = (await told(atlas_context))[-1]
    assert settled.by == "phone"


async def test_the_tool_writes_down_each_answer(atlas_context: FakeContext, tmp_path: Any) -> None:
    asked = [{"question": "Tea?", "choices": ["Oolong", "Sencha"]}, {"question": "Why?"}, {"question": "When?"}]
    script = FakeQuestions("2", "I like it.", Answer(how="withdrawn"))
    atlas_context.services.offer(QUESTIONS.by(script))

    answer = await ask_user(atlas_context).run({"questions": asked}, FakeToolHost(tmp_path))

    assert answer == "Tea? → Sencha (answered)\nWhy? → I like it. (answered)\nWhen? → no answer (withdrawn)"
    assert [one.call for one in script.asked] == ["call-1"] * 3


async def test_an_approval_is_not_given_in_words(questions: Questions) -> None:
    async with anyio.create_task_group() as group:
        card = Card("Run it?", "ls", "why")
        group.start_soon(lambda: questions.approve(card, conversation="c", turn="t", call="k"))
        (asked,) = await until_waiting(questions)
        with pytest.raises(MisuseError):
            await questions.answer(asked.id, answered(text="yes, go on"))
        group.cancel_scope.cancel()
