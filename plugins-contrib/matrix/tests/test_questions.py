"""Questions in a room: numbers, reactions and replies that answer them."""

import pytest

from atlas_sdk.testing.fakes import FakeChannelHost

from .conftest import ADA, BOB, PROMPT, ROOM, heard, running, until

pytestmark = pytest.mark.anyio


async def test_a_question_is_numbered_and_has_reactions_to_press(make, server):
    channel = await make()
    async with running(channel):
        await channel.ask(ROOM, PROMPT)

    assert server.sent()[0]["body"] == "Run `make`?\n\n1. Allow once\n2. Deny\n\nReact with the number, or write it."
    marks = [one["m.relates_to"] for one in server.sent(kind="m.reaction")]
    assert [(one["event_id"], one["key"]) for one in marks] == [(server.last(), "1️⃣"), (server.last(), "2️⃣")]


@pytest.mark.parametrize(("key", "index"), [("2️⃣", 1), ("1⃣", 0), ("2", 1)])
async def test_a_reaction_answers_and_the_question_shows_it(make, server, key, index):
    channel = await make()
    async with running(channel) as host:
        await channel.ask(ROOM, PROMPT)
        event = server.last()
        server.react(event, key)
        await until(lambda: len(server.sent()) == 2)

    assert host.presses == [("p1", index, ADA)]
    assert server.sent()[1]["m.new_content"]["body"] == "Run `make`?\n\n**Allowed.**"
    assert server.sent()[1]["m.relates_to"] == {"rel_type": "m.replace", "event_id": event}


async def test_a_reply_with_the_words_of_a_choice_answers(make, server):
    channel = await make()
    async with running(channel) as host:
        await channel.ask(ROOM, PROMPT)
        server.write("deny", **{"m.relates_to": {"m.in_reply_to": {"event_id": server.last()}}})
        await until(lambda: host.presses)

    assert host.presses == [("p1", 1, ADA)]
    assert host.received == []


async def test_a_reply_with_other_words_is_a_message(make, server):
    channel = await make()
    async with running(channel) as host:
        await channel.ask(ROOM, PROMPT)
        server.write("Deny not before noon", **{"m.relates_to": {"m.in_reply_to": {"event_id": server.last()}}})
        message = await heard(host)

    assert (message.text, host.presses) == ("Deny not before noon", [])


async def test_a_press_of_a_stranger_changes_nothing(make, server):
    channel = await make()
    async with running(channel, FakeChannelHost(shown=None)) as host:
        await channel.ask(ROOM, PROMPT)
        server.react(server.last(), "1️⃣", sender=BOB)
        server.write("Next.")
        await heard(host)

    assert [one["body"] for one in server.sent()][1:] == []
    assert channel.state.kept.let_in == []


async def test_other_reactions_are_no_answers(make, server):
    channel = await make()
    async with running(channel) as host:
        await channel.ask(ROOM, PROMPT)
        server.react(server.last(), "3️⃣")
        server.react(server.last(), "👍")
        server.react("$other", "1️⃣")
        server.write("Next.")
        await heard(host)

    assert host.presses == []


async def test_a_question_is_answered_after_a_restart(make, server):
    channel = await make()
    async with running(channel):
        await channel.ask(ROOM, PROMPT)
    server.react(server.last(), "1️⃣")
    async with running(channel) as host:
        await until(lambda: host.presses)

    assert host.presses == [("p1", 0, ADA)]


async def test_a_question_asked_again_stands_once(make, server):
    channel = await make()
    async with running(channel):
        await channel.ask(ROOM, PROMPT)
        await channel.ask(ROOM, PROMPT)

    assert len(server.sent()) == 1
    assert len(server.sent(kind="m.reaction")) == 2
