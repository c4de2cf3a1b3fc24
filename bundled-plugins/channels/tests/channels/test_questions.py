"""Questions in a chat: approvals and the agent's own, answered by a button, in words, or in the app first."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from atlas_channels.prompts import answer_of, items_for
from atlas_sdk.services.questions import QUESTIONS, Answer, Choice, Question
from atlas_sdk.testing.fakes import FakeFileChannel
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Open, World, let_in, replies

pytestmark = pytest.mark.anyio
POST = Reply(text=("I post it.",), calls=(call("post"),))
ASK = Reply(calls=(call("ask_user", {"questions": [{"question": "Which tea?", "choices": ["Oolong", "Sencha"]}]}),))


def results(world: World) -> str:
    """What the model read of its calls, at its last request."""
    return str([message.parts for message in world.model.requests[-1].messages if message.role == "tool"])


async def test_an_approval_stands_in_the_chat_and_a_press_allows_the_call(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(POST, "Posted.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Post it.")
        await channel.until(lambda: bool(channel.chat("ada").prompts))
        (shown,) = channel.chat("ada").prompts
        said = await channel.press("Allow once")
        await channel.until_shown("ada", "Posted.")

    assert channel.chat("ada").shown[-3] == "I post it."
    assert shown.prompt.choices[0] == "Allow once"
    assert shown.prompt.choices[-1] == "Deny"
    assert said == shown.said == "Allow once (Ada, fake)"
    assert "Posted." in results(world)


async def test_the_first_answer_takes_it_in_the_app_or_in_the_chat(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(POST, "I did not.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Post it.")
        await channel.until(lambda: bool(channel.chat("ada").prompts))
        (question,) = await app.services.need(QUESTIONS).pending()
        denied = Answer(how="answered", choices=("deny",), by="app")
        pressed: list[Any] = []

        async def press() -> None:
            pressed.append(await channel.press("Allow once"))

        assert await app.services.need(QUESTIONS).answer(question.id, denied)
        await press()
        await channel.until_shown("ada", "I did not.")
        (shown,) = channel.chat("ada").prompts
        await channel.until(lambda: bool(shown.said))

    assert pressed == [None]
    assert shown.said == "Deny (app)"


async def test_a_chat_and_the_app_at_once_make_one_answer(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(POST, "Well.")
    taken: list[object] = []
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Post it.")
        await channel.until(lambda: bool(channel.chat("ada").prompts))
        (question,) = await app.services.need(QUESTIONS).pending()

        async def in_the_app() -> None:
            answer = Answer(how="answered", choices=("deny",), by="app")
            taken.append(await app.services.need(QUESTIONS).answer(question.id, answer))

        async def in_the_chat() -> None:
            taken.append(await channel.press("Allow once"))

        async with anyio.create_task_group() as group:
            group.start_soon(in_the_chat)
            group.start_soon(in_the_app)
        await channel.until_shown("ada", "Well.")

    assert sum(1 for one in taken if one) == 1


async def test_a_stranger_answers_nothing(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add(POST, "Not yet.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Post it.", chat="family", group=True)
        await channel.until(lambda: bool(channel.chat("family").prompts))

        assert await channel.press("Allow once", user="eve", chat="family") is None
        await channel.says("1", user="eve", chat="family", group=True)
        assert len(await app.services.need(QUESTIONS).pending()) == 1
        assert await channel.press("Deny", chat="family") is not None
        await channel.until_shown("family", "Not yet.")


async def test_a_denial_in_words_carries_its_reason_to_the_agent(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(POST, "Then not.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Post it.")
        await channel.until(lambda: bool(channel.chat("ada").prompts))
        await channel.says("Deny wait for the stamp")
        await channel.until_shown("ada", "Then not.")

    assert "wait for the stamp" in results(world)
    assert channel.chat("ada").prompts[0].said == "Deny (Ada, fake)"


async def test_a_question_is_answered_in_words_and_the_words_start_no_turn(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(ASK, "Black it is.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Make tea.")
        await channel.until(lambda: bool(channel.chat("ada").prompts))
        answered = await channel.says("Black, please")
        await channel.says("Black, please", id=answered.id)
        await channel.until_shown("ada", "Black it is.")

    assert "Which tea? → Black, please (answered)" in results(world)
    assert len(world.model.requests) == 2
    assert replies(channel) == ["Black it is."]


async def test_a_question_of_a_stopped_turn_is_settled(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add(ASK)
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Make tea.")
        await channel.until(lambda: bool(channel.chat("ada").prompts))
        (shown,) = channel.chat("ada").prompts
        await channel.says("/stop")
        await channel.until(lambda: bool(shown.said))
        assert await channel.press("Oolong") is None

    assert shown.said == "No longer asked."


async def test_a_channel_that_starts_later_still_gets_the_questions_that_wait(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(ASK, "Sencha.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        channel.fail_sends(10_000)
        await channel.says("Make tea.")
        while not await app.services.need(QUESTIONS).pending():
            await anyio.sleep(0.001)
        channel.end("return")
        await channel.until(lambda: not channel.is_running)
        channel.recover()
        await app.plugins.refresh("world")
        await channel.until(lambda: bool(channel.chat("ada").prompts))
        assert await channel.press("Sencha") == "Sencha (Ada, fake)"
        await channel.until_shown("ada", "Sencha.")


# --- rules ---------------------------------------------------------------------------------------


def question(kind: str = "approval", **more: Any) -> Question:
    ids = [("once", "Allow once"), ("conversation", "Allow for this conversation"), ("deny", "Deny")]
    choices = tuple(Choice(id=id, label=label) for id, label in ids)
    fields = {"id": "q1", "conversation": "c1", "kind": kind, "title": "Run this?", "choices": choices}
    return Question.model_validate({**fields, **more})


@pytest.mark.parametrize(
    ("text", "choices", "reason"),
    [
        ("1", ("once",), ""),
        ("allow ONCE", ("once",), ""),
        ("3", ("deny",), ""),
        ("3 not before the release", ("deny",), "not before the release"),
        ("deny: it is late", ("deny",), "it is late"),
        ("Deny", ("deny",), ""),
    ],
)
def test_an_approval_takes_its_own_words(text: str, choices: tuple[str, ...], reason: str) -> None:
    answer = answer_of(question(), text)

    assert answer is not None
    assert (answer.choices, answer.text) == (choices, reason)


@pytest.mark.parametrize("text", ["yes", "ok", "allow", "1 2", "4", "0", "do it", "", "1 and go on", "/deny"])
def test_an_approval_takes_nothing_else(text: str) -> None:
    assert answer_of(question(), text) is None


@pytest.mark.parametrize(
    ("text", "choices", "words"),
    [("2, 1", ("conversation", "once"), ""), ("1, 9", (), "1, 9"), ("deny", ("deny",), ""), ("Neither", (), "Neither")],
)
def test_a_question_takes_several_choices_or_words(text: str, choices: tuple[str, ...], words: str) -> None:
    answer = answer_of(question("question", multiple=True), text)

    assert answer is not None
    assert (answer.choices, answer.text) == (choices, words)


def test_a_key_is_never_asked_for_in_a_chat() -> None:
    (item,) = items_for(question("secret", secret="NOTES_TOKEN", choices=()), "fake", "ada", 4000)

    assert item.kind == "text"
    assert "`atlas secrets set NOTES_TOKEN`" in item.data["text"]
    assert answer_of(question("secret", secret="NOTES_TOKEN", choices=()), "hunter2") is None


def test_what_would_run_is_shown_whole_in_a_fence_it_cannot_leave() -> None:
    exact = "echo '```'\nrm -r /tmp/x # " + "x" * 5000

    whole, prompt = items_for(question(exact=exact, why="It deletes.", expires_in=300), "fake", "ada", 4000)

    assert f"````\n{exact}\n````" in whole.data["text"]
    assert "No answer within 5 minutes is a no." in whole.data["text"]
    assert prompt.kind == "ask"
    assert len(prompt.data["text"]) < 4000
