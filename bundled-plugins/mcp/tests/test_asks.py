"""What a server may ask of the user is bounded, and goes to the conversation it is about or to nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from atlas_mcp.asks import MOST_FORMS, MOST_QUESTIONS, Asks
from atlas_mcp.usage import Usage
from atlas_sdk.services.questions import QUESTIONS, Answer
from atlas_sdk.testing.fake_context import FakeContext
from atlas_sdk.testing.fake_hosts import FakeToolHost
from atlas_sdk.testing.fake_questions import FakeQuestions

pytestmark = pytest.mark.anyio
NOBODY: Any = None


class Box:
    """A server's questions, without the server."""

    def __init__(self, ctx: FakeContext, folder: Path, *answers: str | Answer) -> None:
        self.questions = FakeQuestions(*answers)
        ctx.services.offer(QUESTIONS.by(self.questions))
        self.usage = Usage()
        self.asks = Asks(ctx, "box", untrusted=False, usage=self.usage)
        self._folder = folder

    def host(self, conversation: str) -> FakeToolHost:
        return FakeToolHost(self._folder, conversation=conversation, call=f"call of {conversation}")

    async def elicit(self, **properties: Any) -> str:
        from mcp import types

        schema = {"type": "object", "properties": properties}
        params = types.ElicitRequestFormParams.model_validate({"message": "Which?", "requestedSchema": schema})
        answer = await self.asks.elicit(NOBODY, params)
        assert isinstance(answer, types.ElicitResult)
        return answer.action


async def test_a_server_asks_the_user_only_so_often_in_one_call(atlas_context: FakeContext, tmp_path: Path) -> None:
    box = Box(atlas_context, tmp_path, *["yes"] * 100)
    with box.usage.by(box.host("one")):
        said = [await box.elicit() for _ in range(MOST_FORMS + 3)]
    with box.usage.by(box.host("one")):
        again = await box.elicit()

    assert said == ["accept"] * MOST_FORMS + ["decline"] * 3
    assert again == "accept"


async def test_the_fields_of_all_forms_count_together(atlas_context: FakeContext, tmp_path: Path) -> None:
    box = Box(atlas_context, tmp_path, *["x"] * 1_000)
    fields = {f"f{number}": {"type": "string"} for number in range(18)}
    with box.usage.by(box.host("one")):
        said = [await box.elicit(**fields) for _ in range(4)]

    assert said == ["accept", "accept", "decline", "decline"]
    assert len(box.questions.asked) == MOST_QUESTIONS


async def test_only_one_form_of_a_call_is_open(atlas_context: FakeContext, tmp_path: Path) -> None:
    box = Box(atlas_context, tmp_path)
    with box.usage.by(box.host("one")):
        async with anyio.create_task_group() as group:
            group.start_soon(box.elicit)
            with anyio.fail_after(5):
                while not box.questions.asked:
                    await anyio.lowlevel.checkpoint()

            assert await box.elicit() == "decline"
            group.cancel_scope.cancel()
    assert len(box.questions.asked) == 1


async def test_while_two_conversations_use_a_server_it_asks_neither(atlas_context: FakeContext, tmp_path: Path) -> None:
    box = Box(atlas_context, tmp_path, "yes", "yes")
    said: list[str] = []

    async def call(conversation: str, until: anyio.Event, ready: anyio.Event) -> None:
        with box.usage.by(box.host(conversation)):
            ready.set()
            await until.wait()

    async with anyio.create_task_group() as group:
        ends = [anyio.Event(), anyio.Event()]
        for conversation, end in zip(("one", "two"), ends, strict=True):
            ready = anyio.Event()
            group.start_soon(call, conversation, end, ready)
            await ready.wait()
        said.append(await box.elicit())
        ends[1].set()
        await anyio.wait_all_tasks_blocked()
        said.append(await box.elicit())
        ends[0].set()

    assert said == ["decline", "accept"]
    assert [one.conversation for one in box.questions.asked] == ["one"]


async def test_what_a_server_asks_within_its_answer_goes_to_the_call_it_answers(
    atlas_context: FakeContext, tmp_path: Path
) -> None:
    box = Box(atlas_context, tmp_path, "yes", "yes")

    async def call(conversation: str, together: list[anyio.Event]) -> None:
        with box.usage.by(box.host(conversation)):
            together.pop().set()
            while together:
                await anyio.lowlevel.checkpoint()
            assert await box.elicit() == "accept"

    async with anyio.create_task_group() as group:
        together = [anyio.Event(), anyio.Event()]
        for conversation in ("one", "two"):
            group.start_soon(call, conversation, together)

    assert {(one.conversation, one.call) for one in box.questions.asked} == {
        ("one", "call of one"), ("two", "call of two"),
    }  # fmt: skip


async def test_a_form_that_outlives_its_call_asks_nobody_else(atlas_context: FakeContext, tmp_path: Path) -> None:
    box = Box(atlas_context, tmp_path)
    fields = {"a": {"type": "string"}, "b": {"type": "string"}}
    said: list[str] = []

    async def ask() -> None:
        said.append(await box.elicit(**fields))

    async with anyio.create_task_group() as group:
        with box.usage.by(box.host("one")):
            group.start_soon(ask)
            with anyio.fail_after(5):
                while not box.questions.asked:
                    await anyio.lowlevel.checkpoint()
        with box.usage.by(box.host("two")):
            await box.questions.answer(box.questions.asked[0].id, Answer(how="answered", text="x"))
            with anyio.fail_after(5):
                while not said:
                    await anyio.lowlevel.checkpoint()

    assert said == ["decline"]
    assert [one.conversation for one in box.questions.asked] == ["one"]
