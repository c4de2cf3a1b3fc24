"""The questions plugin keeps every promise of a keeper of questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from atlas_questions.questions import Questions
from atlas_questions.records import SCHEMA
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.conformance import check_questions, check_tool
from atlas_sdk.testing.fakes import FakeContext, FakeQuestions

pytestmark = pytest.mark.anyio


@pytest.fixture
def make_questions(atlas_context: FakeContext) -> Callable[[], Awaitable[Questions]]:
    async def make() -> Questions:
        await atlas_context.services.need(STORE).migrate("questions", SCHEMA)
        return Questions(atlas_context)

    return make


@pytest.mark.parametrize("promise", check_questions.promises, ids=str)
async def test_the_plugin_keeps_the_promise(promise: Any, make_questions: Callable[[], Awaitable[Questions]]) -> None:
    await promise(make_questions)


@pytest.mark.parametrize("promise", check_tool.promises, ids=str)
async def test_the_tool_ask_user_keeps_the_promise(promise: Any, atlas_context: FakeContext) -> None:
    from atlas_questions.ask_user import ask_user
    from atlas_sdk.services.questions import QUESTIONS

    atlas_context.services.offer(QUESTIONS.by(FakeQuestions("1", "In my own words.")))
    asked = [{"question": "Tea?", "choices": ["Oolong", "Sencha"]}, {"question": "Why?"}]
    await promise(ask_user(atlas_context), {"questions": asked})
