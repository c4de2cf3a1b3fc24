"""A whole conversation through a channel, on a real home with a scripted model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.channels import InboundFile
from atlas_sdk.messages import FilePart, ImagePart, Sender, TextPart
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.testing.conformance.patience import until
from atlas_sdk.testing.fakes import FakeChannel, FakeFileChannel
from atlas_sdk.testing.model_script import Failure, Reply, call, say

from .conftest import Open, World, let_in, replies

pytestmark = pytest.mark.anyio


async def conversations(app: Any) -> Any:
    return await app.services.need(CONVERSATIONS).list()


async def test_what_is_written_is_answered_in_the_chat(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add("Hello, Ada.", "As I said.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Hi.")
        await channel.until_shown("ada", "Hello, Ada.")
        await channel.says("Again?")
        await channel.until_shown("ada", "As I said.")
        (conversation,) = await conversations(app)

    assert replies(channel) == ["Hello, Ada.", "As I said."]
    assert (conversation.origin.kind, conversation.origin.name, conversation.origin.chat) == ("channel", "fake", "ada")
    assert conversation.auto_mode
    assert channel.chat("ada").working == [True, False] * 2


async def test_what_the_agent_says_on_its_way_is_told_as_it_comes(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.file = Path(__file__)
    world.model.add(Reply(text=("I look.",), calls=(call("hand_over"),)), "Here it is.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Send me the test.")
        await channel.until_shown("ada", "Here it is.")

    assert channel.chat("ada").shown[-3:] == ["I look.", "test_conversation.py", "Here it is."]
    assert channel.chat("ada").files[0].data.startswith(b'"""A whole conversation')


async def test_a_channel_that_carries_no_files_gets_a_line(open_home: Open, world: World) -> None:
    channel = FakeChannel()
    world.channels = [channel]
    world.file = Path(__file__)
    world.model.add(Reply(calls=(call("hand_over"),)), "There.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Send it.")
        await channel.until_shown("ada", "There.")

    assert replies(channel)[0].startswith("A file for you: test_conversation.py (")


async def test_files_reach_the_model_with_their_caption(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("A cat.")
    files = (InboundFile("../cat.PNG", b"\x89PNG"), InboundFile("note.oga", b"Ogg"))
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Look.", files=files)
        await channel.until_shown("ada", "A cat.")
    image, file = world.model.requests[0].messages[-1].parts[-2:]

    assert isinstance(image, ImagePart)
    assert isinstance(file, FilePart)
    assert (image.name, image.media_type) == ("cat.PNG", "image/png")
    assert (file.name, file.media_type) == ("note.oga", "audio/ogg")


async def test_new_starts_another_conversation_from_the_next_message(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("One.", "Two.", "Three.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("first")
        await channel.until_shown("ada", "One.")
        await channel.says("/new")
        assert len(await conversations(app)) == 1
        await channel.says("second")
        await channel.until_shown("ada", "Two.")
        await channel.says("/new third")
        await channel.until_shown("ada", "Three.")
        found = await conversations(app)

    assert [one.title for one in found] == ["third", "second", "first"]


async def test_start_says_hello_and_starts_no_turn(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("/start now")
        await channel.says("/stop")
        await channel.until_shown("ada", "Nothing is running.")
        assert await conversations(app) == ()

    assert replies(channel)[0].startswith("Hello, Ada.")
    assert world.model.requests == []


async def test_stop_ends_the_turn_and_says_so(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add(say("Once upon", idle_after=1))
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Tell me a story.")
        await until(lambda: bool(world.model.requests))
        await channel.says("/stop")
        await channel.until_shown("ada", "Stopped.")

    assert replies(channel)[-1] == "Stopped."


async def test_a_turn_that_fails_says_why_in_the_chat(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add(Failure("no_credit", message="The account has no credit left."))
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Hi.")
        await channel.until_shown("ada", "no credit")

    assert replies(channel) == ["The account has no credit left."]


async def test_two_chats_at_once_get_their_own_answers(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add(
        *(say(f"{user} {number}", match=f"{user}-{number}!") for number in range(3) for user in ("ada", "bob"))
    )
    async with open_home() as app:
        await let_in(app, channel, "ada", "bob")
        for number in range(3):
            channel.write(f"ada-{number}!")
            channel.write(f"bob-{number}!", user="bob")
            await channel.until_shown("ada", f"ada {number}")
            await channel.until_shown("bob", f"bob {number}")

    assert replies(channel) == ["ada 0", "ada 1", "ada 2"]
    assert replies(channel, "bob") == ["bob 0", "bob 1", "bob 2"]


async def test_what_is_said_in_the_app_is_told_in_the_chat_with_its_question(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("One.", "Two.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("first")
        await channel.until_shown("ada", "One.")
        (conversation,) = await conversations(app)
        owner = Sender(kind="person", id="owner", name="app")
        await app.services.need(CONVERSATIONS).send(conversation.id, [TextPart(text="And from here?")], sender=owner)
        await channel.until_shown("ada", "Two.")

    assert replies(channel) == ["One.", "> And from here?\n\nTwo."]


async def test_a_conversation_the_chat_left_is_told_there_no_more(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("One.", "Two.", "Three.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("first")
        await channel.until_shown("ada", "One.")
        (left,) = await conversations(app)
        await channel.says("/new")
        owner = Sender(kind="person", id="owner", name="app")
        await app.services.need(CONVERSATIONS).send(left.id, [TextPart(text="On with this.")], sender=owner)
        await app.services.need(CONVERSATIONS).wait(left.id)
        await channel.says("second")
        await channel.until_shown("ada", "Three.")

    assert replies(channel)[-1] == "Three."
    assert "Two." not in "".join(replies(channel))


async def test_an_answer_asked_for_before_new_still_comes(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    go = anyio.Event()

    async def slow(arguments: Any, host: Any) -> str:
        await go.wait()
        return "Posted."

    world.model.add(Reply(calls=(call("hand_over"),)), "Done at last.")
    world._hand_over = slow  # type: ignore[method-assign]
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Work.")
        await until(lambda: bool(world.model.requests))
        await channel.says("/new")
        go.set()
        await channel.until_shown("ada", "Done at last.")

    assert replies(channel)[-1] == "Done at last."


async def test_a_long_reply_comes_in_pieces_in_order(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    text = "\n\n".join(f"Paragraph {number}. " + "word " * 150 for number in range(20))
    world.model.add(text)
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Go on.")
        await channel.until_shown("ada", "Paragraph 19")
    pieces = replies(channel)

    assert all(len(piece) <= 4000 for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


async def test_a_slash_command_of_the_home_is_answered_without_a_model(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("/shout hello")
        await channel.until_shown("ada", "HELLO")

    assert replies(channel) == ["HELLO"]
    assert world.model.requests == []


async def test_a_notice_that_starts_a_turn_is_answered_in_the_chat(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("One.", "The build is done.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("first")
        await channel.until_shown("ada", "One.")
        (conversation,) = await conversations(app)
        await app.services.need(CONVERSATIONS).notify(conversation.id, "exit 0", source="shell")
        await channel.until_shown("ada", "The build is done.")

    assert replies(channel) == ["One.", "The build is done."]
