"""Guests: people who may talk, and who are not the owner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from atlas_sdk.channels import InboundFile
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.questions import QUESTIONS
from atlas_sdk.testing.conformance.patience import until
from atlas_sdk.testing.fakes import FakeFileChannel
from atlas_sdk.testing.model_script import Reply, call, say

from .conftest import Open, World, let_in, replies

pytestmark = pytest.mark.anyio
POST = Reply(calls=(call("post"),))
ASK = Reply(calls=(call("ask_user", {"questions": [{"question": "Which tea?", "choices": ["Oolong", "Sencha"]}]}),))


def heard(world: World) -> list[str]:
    """Whose the last words were that the model read, and the files with them."""
    message = [one for one in world.model.requests[-1].messages if one.role == "user"][-1]
    return [part.trust for part in message.parts if getattr(part, "trust", "agent") != "agent"]  # type: ignore[union-attr]


async def test_what_a_guest_says_is_a_guests_and_what_the_owner_says_the_owners(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("Hello.", "Hello.")
    async with open_home() as app:
        await let_in(app, channel, "gus", guest=True)
        await let_in(app, channel, "ada")
        await channel.says("Hi.", user="gus", files=(InboundFile("a.txt", b"tea"),))
        await channel.until(lambda: replies(channel, "gus") == ["Hello."])
        theirs = heard(world)
        await channel.says("Hi.", user="ada", chat="gus")
        await channel.until(lambda: len(replies(channel, "gus")) == 2)
        (conversation,) = await app.services.need(CONVERSATIONS).list()

    assert theirs == ["guest", "guest"]
    assert heard(world) == ["owner"]
    assert not conversation.auto_mode


async def test_a_guest_who_joins_takes_a_conversation_out_of_auto_mode(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("Hello.", "Hello.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await let_in(app, channel, "gus", guest=True)
        await channel.says("Hi.", chat="room")
        await channel.until_shown("room", "Hello.")
        (before,) = await app.services.need(CONVERSATIONS).list()
        await channel.says("Hi, too.", user="gus", chat="room")
        await channel.until(lambda: len(channel.chat("room").texts) == 2)
        (after,) = await app.services.need(CONVERSATIONS).list()

    assert (before.auto_mode, after.auto_mode) == (True, False)


async def test_a_guest_approves_nothing_and_is_not_shown_what_would_run(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(POST, "Posted.")
    async with open_home() as app:
        await let_in(app, channel, "gus", guest=True)
        await channel.says("Post it.", user="gus")
        await channel.until_shown("gus", "needs its owner's word first")
        await channel.says("1", user="gus")
        await channel.says("Allow once", user="gus")
        waiting = await app.services.need(QUESTIONS).pending()

    assert len(waiting) == 1
    assert channel.chat("gus").prompts == []


async def test_a_guests_press_on_the_owners_buttons_does_nothing(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(POST, "Posted.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await let_in(app, channel, "gus", guest=True)
        await channel.says("Post it.", chat="room")
        await channel.until(lambda: bool(channel.chat("room").prompts))
        pressed = await channel.press("Allow once", user="gus", chat="room")
        waiting = await app.services.need(QUESTIONS).pending()
        await channel.press("Allow once", user="ada", chat="room")
        await channel.until_shown("room", "Posted.")

    assert pressed is None
    assert len(waiting) == 1


async def test_a_guest_answers_what_the_agent_asks(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add(ASK, "Oolong it is.")
    async with open_home() as app:
        await let_in(app, channel, "gus", guest=True)
        await channel.says("Tea.", user="gus")
        await channel.until(lambda: bool(channel.chat("gus").prompts))
        await channel.press("Oolong", user="gus", chat="gus")
        await channel.until_shown("gus", "Oolong it is.")


@pytest.mark.parametrize("command", ["/new", "/new Tell me.", "/NEW@bot"])
async def test_a_guest_ends_no_conversation_that_others_are_in(
    open_home: Open, world: World, channel: FakeFileChannel, command: str
) -> None:
    world.model.add("Hello.", "Hello again.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await let_in(app, channel, "gus", guest=True)
        await channel.says("Hi.", chat="room")
        await channel.until_shown("room", "Hello.")
        await channel.says(command, user="gus", chat="room")
        await channel.until_shown("room", "Only the owner may do that.")
        await channel.says("Hi again.", chat="room")
        await channel.until_shown("room", "Hello again.")
        before = await app.services.need(CONVERSATIONS).list()
        await channel.says("/new", chat="room")
        await channel.until_shown("room", "Your next message starts a new conversation.")

    assert len(before) == 1


@pytest.mark.parametrize(("began", "stopped"), [("ada", False), ("gus", True)])
async def test_a_guest_stops_only_what_a_guest_began(
    open_home: Open, world: World, channel: FakeFileChannel, began: str, *, stopped: bool
) -> None:
    world.model.add(say("Once upon", idle_after=1))
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await let_in(app, channel, "gus", guest=True)
        await channel.says("Go on.", user=began, chat="room")
        await until(lambda: bool(world.model.requests))
        await channel.says("/stop", user="gus", chat="room")
        await channel.until_shown("room", "Stopped." if stopped else "Only the owner may do that.")
        (conversation,) = await app.services.need(CONVERSATIONS).list()
        running = await app.services.need(CONVERSATIONS).running(conversation.id)
        await channel.says("/stop", user="ada", chat="room")

    assert (running is None) is stopped


async def test_a_guest_is_welcomed_with_what_a_guest_may_do(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    async with open_home() as app:
        await let_in(app, channel, "gus", guest=True)
        await channel.says("/start", user="gus")
        await channel.until_shown("gus", "Hello, Gus.")

    assert "/stop" in channel.chat("gus").texts[-1]
    assert not any("/new" in text for text in channel.chat("gus").texts)


def test_somebody_is_let_in_as_a_guest_by_a_flag(run_pairing: Callable[..., Any]) -> None:
    code = run_pairing("list").output.split()[-1]

    assert run_pairing("approve", code, "--guest").output == "Ada (ada) may talk to Atlas on fake, as a guest.\n"
    assert run_pairing("list").output.rstrip().endswith(", a guest")
