"""The tests of matrix. Run them with: atlas plugins test FOLDER."""

import importlib.util
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from atlas.plugins.sdk import InboundFile, Prompt
from atlas_sdk.errors import AtlasError
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.services.pairing import PAIRING
from atlas_sdk.testing.fakes import FakeChannelHost, FakeProvider

pytestmark = pytest.mark.anyio

_spec = importlib.util.spec_from_file_location("matrix_stand_in", Path(__file__).with_name("homeserver.py"))
stand_in = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stand_in)
ADA, BOB, ME, ROOM = stand_in.ADA, stand_in.BOB, stand_in.ME, stand_in.ROOM
TWO = "!two:example.org"
HOME = ("store", "recovery", "questions", "gate", "gateway", "channels")
PROMPT = Prompt("p1", "Run `make`?", ("Allow once", "Deny"))


@pytest.fixture
def server():
    server = stand_in.Homeserver()
    yield server
    server.close()


@pytest.fixture
def make(atlas_plugin, server):
    async def make(**more):
        settings = {"homeserver": server.address, "people": ADA, **more.pop("settings", {})}
        secrets = {"MATRIX_ACCESS_TOKEN": server.token, **more.pop("secrets", {})}
        channel = (await atlas_plugin(settings=settings, secrets=secrets)).channel("matrix")
        channel.client.first_wait_seconds = 0.01
        return channel

    return make


@asynccontextmanager
async def running(channel, host=None, *, ready=True):
    host = host or FakeChannelHost()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(channel.run, host)
            if ready:
                await until(lambda: channel.me and channel.state.since)
            yield host
            group.cancel_scope.cancel()


async def until(is_so):
    while not is_so():
        await anyio.lowlevel.checkpoint()


async def heard(host, count=1):
    await until(lambda: len(host.received) >= count)
    return host.received[-1]


async def ended(channel):
    """Return why a channel that cannot go on ended."""
    host = FakeChannelHost()
    with anyio.fail_after(10):
        await channel.run(host)
    return host.failures


# --- reading ----------------------------------------------------------------------------------


async def test_what_is_written_arrives_with_its_event_and_its_writer(make, server):
    channel = await make()
    async with running(channel) as host:
        event = server.write("Hello.")
        message = await heard(host)

    assert (message.chat, message.user, message.name) == (ROOM, ADA, "Ada")
    assert (message.text, message.id, message.group) == ("Hello.", event, False)


async def test_what_was_said_before_it_came_is_not_answered(make, server):
    server.write("Long ago.")
    channel = await make()
    async with running(channel) as host:
        server.write("Now.")
        await heard(host)

    assert [one.text for one in host.received] == ["Now."]


async def test_what_was_said_while_it_was_off_is_read_on_from_there(make, server):
    channel = await make()
    async with running(channel):
        pass
    server.write("While you were away.")
    async with running(channel) as host:
        message = await heard(host)

    assert message.text == "While you were away."


async def test_what_a_sync_leaves_out_is_fetched_in_order(make, server):
    channel = await make()
    async with running(channel):
        pass
    server.timeline_limit = 2
    for number in range(7):
        server.write(str(number))
    async with running(channel) as host:
        await heard(host, 7)

    assert [one.text for one in host.received] == ["0", "1", "2", "3", "4", "5", "6"]


async def test_a_message_is_handed_over_once_though_its_sync_comes_again(make, server):
    """The second message fails once, so that the same sync is read anew."""
    channel = await make()
    async with running(channel):
        pass
    server.write("one")
    server.write("two", room=ROOM, sender=BOB)
    server.rooms[TWO] = stand_in.Room([ME, BOB])
    server.write("three", room=TWO, sender=BOB)
    plain = channel.client.members

    async def members(room):
        channel.client.members = plain
        server.failing, server.failures = "/joined_members", [(502, {})] * 3
        return await plain(room)

    async with running(channel, ready=False) as host:
        channel.client.first_wait_seconds = 0.01
        channel.client.members = members
        await heard(host, 3)

    assert [one.text for one in host.received] == ["one", "two", "three"]


async def test_a_room_of_more_than_two_is_a_group(make, server):
    server.rooms[ROOM].members.append(BOB)
    channel = await make()
    async with running(channel) as host:
        server.write("Hello, all.", sender=BOB)
        message = await heard(host)

    assert message.group


async def test_somebody_who_joins_makes_it_a_group(make, server):
    channel = await make()
    async with running(channel) as host:
        server.write("Alone.")
        await heard(host)
        server.rooms[ROOM].members.append(BOB)
        server.add(ROOM, "m.room.member", BOB, {"membership": "join"}, state_key=BOB)
        server.write("Together.")
        await heard(host, 2)

    assert [one.group for one in host.received] == [False, True]


async def test_notices_edits_and_its_own_words_are_not_read(make, server):
    channel = await make()
    async with running(channel) as host:
        server.write("I am a bot.", msgtype="m.notice")
        server.write("* Hi.", **{"m.relates_to": {"rel_type": "m.replace", "event_id": "$x"}})
        server.write("My own.", sender=ME)
        server.add(ROOM, "m.room.message", ADA, {})
        server.add(ROOM, "m.room.message", ADA, {"msgtype": "m.text", "body": 7, "m.relates_to": "no"})
        server.write("At last.")
        await heard(host)

    assert [one.text for one in host.received] == ["At last."]


async def test_commands_begin_with_an_exclamation_mark(make, server):
    channel = await make()
    async with running(channel) as host:
        server.write("!new And then?")
        server.write("!important")
        await heard(host, 2)

    assert [one.text for one in host.received] == ["/new And then?", "!important"]


async def test_a_reply_comes_without_what_it_quotes(make, server):
    """https://spec.matrix.org/v1.12/client-server-api/#rich-replies has the fallback that older apps send."""
    channel = await make()
    async with running(channel) as host:
        relates = {"m.relates_to": {"m.in_reply_to": {"event_id": "$x"}}}
        server.write("> <@bob:example.org> What?\n> Why?\n\nBecause.", **relates)
        message = await heard(host)

    assert message.text == "Because."


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
async def test_a_file_arrives_with_its_caption(make, server, old):
    server.old_media = old
    server.media["cat"] = "image/png", b"\x89PNG"
    channel = await make()
    async with running(channel) as host:
        server.write("Look!", msgtype="m.image", filename="cat.png", url="mxc://example.org/cat")
        message = await heard(host)

    assert (message.text, message.files) == ("Look!", (InboundFile("cat.png", b"\x89PNG"),))


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"url": "mxc://example.org/none"}, "404"),
        ({"url": "https://example.org/cat.png"}, "no address"),
        ({"url": "mxc://example.org/cat", "info": {"size": 60_000_000}}, "over 50 MB"),
        ({}, "no address"),
    ],
)
async def test_a_file_that_cannot_be_had_is_said(make, server, about, why):
    channel = await make()
    async with running(channel) as host:
        server.write("cat.png", msgtype="m.file", **about)
        message = await heard(host)

    assert message.files == ()
    assert message.text.startswith("(A file that did not arrive: cat.png: ")
    assert why in message.text


async def test_the_token_does_not_follow_a_file_to_another_host(make, server):
    elsewhere = stand_in.Homeserver()
    server.media_elsewhere = elsewhere.address.replace("127.0.0.1", "localhost")
    channel = await make()
    try:
        async with running(channel) as host:
            server.write("cat.png", msgtype="m.file", url="mxc://example.org/cat")
            await heard(host)
    finally:
        elsewhere.close()

    assert (elsewhere.requests, elsewhere.authorizations) == (["GET /cat"], [""])


# --- invitations ------------------------------------------------------------------------------


async def test_an_invitation_of_the_settings_people_is_accepted_and_what_followed_it_read(make, server):
    channel = await make()
    async with running(channel) as host:
        server.rooms[TWO] = stand_in.Room([ADA])
        server.write("To others.", room=TWO)
        server.invite(TWO, ADA)
        server.write("To you.", room=TWO)
        await heard(host)

    assert [(one.chat, one.text, one.group) for one in host.received] == [(TWO, "To you.", False)]


async def test_an_invitation_of_a_stranger_waits_until_they_are_let_in(make, server):
    server.rooms["!bob:example.org"] = stand_in.Room([ME, BOB])
    channel = await make()
    async with running(channel) as host:
        server.invite(TWO, BOB)
        server.write("Hello.")
        await heard(host)
        waits = ME not in server.rooms[TWO].members
        await channel.working("!bob:example.org", True)
        server.write("Again.")
        await until(lambda: ME in server.rooms[TWO].members)

    assert waits


async def test_who_is_merely_in_a_group_is_not_let_in_by_it(make, server):
    server.rooms[ROOM].members.append(BOB)
    channel = await make(settings={"people": ""})
    async with running(channel):
        await channel.working(ROOM, True)

    assert channel.state.kept.let_in == []


# --- sending ----------------------------------------------------------------------------------


async def test_markdown_is_sent_beside_its_html_and_mentions_nobody(make, server):
    channel = await make()
    async with running(channel):
        await channel.send(ROOM, "**Done**, @room.")

    assert server.sent() == [
        {
            "msgtype": "m.text",
            "body": "**Done**, @room.",
            "format": "org.matrix.custom.html",
            "formatted_body": "<p><strong>Done</strong>, @room.</p>",
            "m.mentions": {},
        }
    ]


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("<img src=x onerror=alert(1)> *a*", "<img"),
        ("![a](https://example.org/?secret)", "<img"),
        ("[a](javascript:alert(1)) *b*", "href"),
        ("[a](mxc://x/y) <https://example.org>", 'mxc://x/y"'),
        ("|a|\n|:-:|\n|b|", "style"),
    ],
)
async def test_html_of_a_reply_can_do_no_harm(make, server, text, never):
    channel = await make()
    async with running(channel):
        await channel.send(ROOM, text)

    assert never not in server.sent()[0]["formatted_body"]


async def test_plain_words_need_no_html(make, server):
    channel = await make()
    async with running(channel):
        await channel.send(ROOM, "Hello.")

    assert "formatted_body" not in server.sent()[0]


async def test_the_longest_text_that_html_makes_longer_is_taken(make, server):
    channel = await make()
    async with running(channel):
        await channel.send(ROOM, "*a*\n" * 900)
        await channel.send(ROOM, '"<&\U0001f600' * 950)

    assert [len(one["body"]) for one in server.sent()] == [3600, 3800]


async def test_a_text_whose_answer_was_lost_arrives_once(make, server):
    channel = await make()
    async with running(channel):
        await channel.send(ROOM, "One.")
        server.failing, server.failures = "/send/", [(-1, None)]
        await channel.send(ROOM, "Two.")

    assert [one["body"] for one in server.sent()] == ["One.", "Two."]


async def test_a_key_is_the_same_transaction_after_a_restart(make, server):
    channel = await make()
    for _ in range(2):
        async with running(channel):
            await channel.send_once(ROOM, "Hello.", "atlas-1")

    bodies = [event["content"]["body"] for _, event in server.rooms[ROOM].events]
    assert bodies == ["Hello."]


async def test_a_homeserver_that_asks_to_slow_down_is_waited_for(make, server):
    """https://spec.matrix.org/v1.14/client-server-api/#rate-limiting"""
    channel = await make()
    async with running(channel):
        server.failing, server.failures = (
            "/send/",
            [(429, {"errcode": "M_LIMIT_EXCEEDED", "error": "Too fast", "retry_after_ms": 5})] * 2,
        )
        await channel.send(ROOM, "Hello.")

    assert [one["body"] for one in server.sent()] == ["Hello."]


async def test_what_a_room_does_not_take_is_an_error(make, server):
    channel = await make()
    async with running(channel):
        with pytest.raises(AtlasError, match="403 M_FORBIDDEN"):
            await channel.send("!nowhere:example.org", "Hello.")


async def test_a_file_is_uploaded_and_sent(make, server, tmp_path):
    path = tmp_path / "plan.pdf"
    path.write_bytes(b"%PDF")
    channel = await make()
    async with running(channel):
        await channel.send_file(ROOM, path, "application/pdf")

    assert server.media == {"media1": ("application/pdf", b"%PDF")}
    assert server.sent()[0]["url"] == "mxc://example.org/media1"
    assert (server.sent()[0]["msgtype"], server.sent()[0]["filename"]) == ("m.file", "plan.pdf")


async def test_typing_is_shown_and_ended(make, server):
    channel = await make()
    async with running(channel):
        await channel.working(ROOM, True)
        await channel.working(ROOM, False)

    assert server.typing == [(ROOM, True), (ROOM, False)]


async def test_typing_is_shown_for_as_long_as_it_works(make, server):
    channel = await make()
    async with running(channel):
        channel._made().typing_seconds = 0.03
        await channel.working(ROOM, True)
        await until(lambda: len(server.typing) >= 3)

    assert {busy for _, busy in server.typing} == {True}


# --- encryption -------------------------------------------------------------------------------


async def test_nothing_is_sent_to_an_encrypted_room(make, server):
    server.encrypt()
    channel = await make()
    async with running(channel):
        with pytest.raises(AtlasError, match="encrypted"):
            await channel.send(ROOM, "A secret.")

    assert server.sent() == []


async def test_a_room_of_which_nobody_says_whether_it_is_encrypted_is_not_written_in(make, server):
    channel = await make()
    async with running(channel):
        server.failing, server.failures = "m.room.encryption", [(404, {"error": "a proxy's page"})]
        with pytest.raises(AtlasError, match="404"):
            await channel.send(ROOM, "A secret.")

    assert server.sent() == []


async def test_a_room_that_becomes_encrypted_is_told_once(make, server):
    channel = await make()
    async with running(channel):
        await channel.send(ROOM, "In the open.")
        server.encrypt()
        await until(lambda: len(server.sent()) == 2)
        server.add(ROOM, "m.room.encrypted", ADA, {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "x"})
        with pytest.raises(AtlasError):
            await channel.send(ROOM, "A secret.")

    assert [one["body"] for one in server.sent()][1].startswith("This room is encrypted")
    assert len(server.sent()) == 2


# --- questions --------------------------------------------------------------------------------


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


# --- going on, and ending ---------------------------------------------------------------------


async def test_it_goes_on_after_the_homeserver_was_away(make, server):
    server.failures = [(502, {}), (-1, None), (503, {"errcode": "M_UNKNOWN", "error": "busy"})]
    channel = await make()
    async with running(channel) as host:
        server.failures = [(500, {})] * 3
        server.write("Still there?")
        message = await heard(host)

    assert message.text == "Still there?"
    assert host.failures == []


async def test_a_refused_token_ends_with_a_sentence(make):
    channel = await make(secrets={"MATRIX_ACCESS_TOKEN": "wrong"})

    (reason,) = await ended(channel)

    assert "refused the access token" in reason
    assert "atlas secrets set MATRIX_ACCESS_TOKEN" in reason
    assert "wrong" not in reason


async def test_a_token_that_is_revoked_ends_it(make, server):
    channel = await make()
    async with running(channel) as host:
        server.token = "another"
        server.write("Hello.")  # the sync that waits is answered, and the next is refused
        await until(lambda: host.failures)

    assert "refused the access token" in host.failures[0]


@pytest.mark.parametrize(
    ("settings", "token", "said"),
    [
        ({}, "", "atlas secrets set MATRIX_ACCESS_TOKEN"),
        ({"homeserver": "example.org"}, "x", "atlas plugins set matrix homeserver"),
        ({"homeserver": ""}, "x", "atlas plugins set matrix homeserver"),
        ({"homeserver": "http://matrix.example.org"}, "x", "not sent in the clear"),
    ],
)
async def test_what_is_not_set_is_said(make, settings, token, said):
    channel = await make(settings=settings, secrets={"MATRIX_ACCESS_TOKEN": token})

    (reason,) = await ended(channel)

    assert said in reason


async def test_an_address_that_is_no_homeserver_is_said(make, server):
    channel = await make(settings={"homeserver": f"{server.address}/elsewhere"})

    (reason,) = await ended(channel)

    assert "Is that its address?" in reason


async def test_what_is_remembered_of_another_account_is_left(make, server):
    channel = await make()
    channel.state._path.write_text(json.dumps({"account": "@old:example.org x", "since": "s9", "let_in": [BOB]}))
    async with running(channel):
        pass

    assert channel.state.kept.let_in == []
    assert channel.state.kept.account.startswith(ME)


async def test_a_broken_state_begins_anew(make):
    channel = await make()
    channel.state._path.write_text('{"since": "s9", "asked": [1]}')
    async with running(channel):
        pass
    async with running(channel):
        assert channel.state.since


async def test_the_token_is_in_no_address(make, server):
    channel = await make()
    async with running(channel) as host:
        server.write("Hello.")
        await heard(host)

    assert [one for one in server.requests if server.token in one] == []
    assert set(server.authorizations) == {f"Bearer {server.token}"}


# --- in a whole home --------------------------------------------------------------------------


async def test_somebody_is_let_in_and_answered_in_a_home(atlas_plugin, atlas_app, server):
    plugin = await atlas_plugin(settings={"homeserver": server.address}, secrets={"MATRIX_ACCESS_TOKEN": server.token})
    channel, model = plugin.channel("matrix"), FakeProvider(["It is **three**."])

    class Models:
        @hookimpl
        def atlas_providers(self):
            return [model]

    bodies = lambda: [one["body"] for one in server.sent()]  # noqa: E731  # looked at again and again
    manifest = replace(plugin.manifest, requires=())
    home = atlas_app(*HOME, objects={"models": Models(), "matrix": plugin.hooks}, manifests=[manifest])
    with anyio.fail_after(20):
        async with home as app:
            await until(lambda: channel.me and channel.state.since)
            server.write("Hello?")
            await until(bodies)
            (waiting,) = await app.services.need(PAIRING).list()
            await app.services.need(PAIRING).approve(waiting.code)
            await until(lambda: len(bodies()) == 2)
            server.write("What time is it?")
            await until(lambda: len(bodies()) == 3)
            await until(lambda: server.typing[-1:] == [(ROOM, False)])

    code, welcome, answer = bodies()
    assert waiting.code in code
    assert (waiting.channel, waiting.user, waiting.name) == ("matrix", ADA, "Ada")
    assert welcome.startswith("You are let in")
    assert answer == "It is **three**."
    assert channel.state.kept.let_in == [ADA]
