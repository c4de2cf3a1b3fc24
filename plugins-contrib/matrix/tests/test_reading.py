"""What arrives from rooms, and whose invitations are accepted."""

import pytest

from atlas.plugins.sdk import InboundFile

from .conftest import ADA, BOB, ME, ROOM, TWO, heard, running, stand_in, until

pytestmark = pytest.mark.anyio


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
