"""What is sent to rooms: once, in HTML that harms nobody, and never where it would be encrypted."""

import pytest

from atlas_sdk.errors import AtlasError

from .conftest import ADA, ROOM, running, until

pytestmark = pytest.mark.anyio


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
