"""Files read before the model is asked: by whom, once, within their time, and never in the way of the turn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio.testing

from atlas_attachments.attachments import Attachments
from atlas_attachments.plain import MOST_CHARS, is_text, read_text
from atlas_sdk.errors import NotFoundError
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import FilePart, Sender, TextPart
from atlas_sdk.services.attachments import ATTACHMENTS
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.home import HOME, Added
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fakes import FakeContext, FakeProvider

pytestmark = pytest.mark.anyio
PLUGINS = ("store", "attachments")
VIRTUAL = pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})], ids=["virtual"]
)
PERSON = Sender(kind="person", id="owner")


class Ears:
    """A reader of audio that says what a test gives it, and counts."""

    kind = "audio"

    def __init__(self, said: Any = "Buy milk.") -> None:
        self.said = said
        self.count = 0

    async def read(self, path: Path, media_type: str) -> Any:
        self.count += 1
        if isinstance(self.said, Exception):
            raise self.said
        if self.said is Ellipsis:
            await anyio.sleep_forever()
        return self.said


class World:
    """The plugin of a test: a model and readers."""

    def __init__(self, *readers: Any) -> None:
        self.model = FakeProvider()
        self.readers = list(readers)

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.model]

    @hookimpl
    def atlas_readers(self) -> list[Any]:
        return self.readers


async def send(app: Any, *files: tuple[bytes, str, str], conversation: str = "") -> str:
    """Send files, wait for the turn, and return the conversation."""
    conversations = app.services.need(CONVERSATIONS)
    id = conversation or (await conversations.create(ConversationDraft())).id
    parts: list[Any] = [TextPart(text="Look.")]
    for data, media_type, name in files:
        kept = await app.services.need(STORE).keep(data, media_type=media_type, name=name)
        parts.append(FilePart(attachment=kept.id, media_type=media_type, name=name))
    await conversations.send(id, parts, sender=PERSON)
    with anyio.fail_after(10):
        await conversations.wait(id)
    return str(id)


def read(world: World, request: int = -1) -> list[str | None]:
    """What the model was given of each file."""
    messages = world.model.requests[request].messages
    return [part.text for message in messages for part in message.parts if isinstance(part, FilePart)]


NOTE = (b"OggS milk", "audio/ogg", "note.ogg")


async def test_the_model_reads_what_a_reader_made_of_a_file_and_each_is_read_once(
    atlas_app: Callable[..., Any],
) -> None:
    world = World(ears := Ears())
    world.model.add("One.", "Two.", "Three.")
    async with atlas_app(*PLUGINS, objects={"world": world}) as app:
        conversation = await send(app, NOTE)
        await send(app, (b"plain", "text/plain", "a.txt"), conversation=conversation)
    async with atlas_app(*PLUGINS, objects={"world": world}) as app:
        await send(app, NOTE)

    assert [read(world, number) for number in range(3)] == [["Buy milk."], ["Buy milk.", "plain"], ["Buy milk."]]
    assert ears.count == 1


@pytest.mark.parametrize("said", [RuntimeError("deaf"), "", "  \n", None, 7])
async def test_a_reader_that_makes_nothing_leaves_the_note_and_the_turn_goes_on(
    atlas_app: Callable[..., Any], said: Any
) -> None:
    world = World(ears := Ears(said))
    world.model.add("One.", "Two.")
    async with atlas_app(*PLUGINS, objects={"world": world}) as app:
        conversation = await send(app, NOTE)
        ears.said = "Buy milk."
        await send(app, conversation=conversation)

    assert read(world) == [None]
    assert ears.count == 1


async def test_a_file_sent_again_is_tried_again_and_what_stood_before_stays(atlas_app: Callable[..., Any]) -> None:
    world = World(ears := Ears(RuntimeError("deaf")))
    world.model.add("One.", "Two.")
    async with atlas_app(*PLUGINS, objects={"world": world}) as app:
        conversation = await send(app, NOTE)
        ears.said = "Buy milk."
        await send(app, NOTE, conversation=conversation)

    assert read(world) == [None, "Buy milk."]


async def test_a_file_nobody_reads_and_one_that_is_gone_stop_nothing(atlas_app: Callable[..., Any]) -> None:
    world = World()
    world.model.add("One.")
    async with atlas_app(*PLUGINS, objects={"world": world}) as app:
        conversation = (await app.services.need(CONVERSATIONS).create(ConversationDraft())).id
        parts = [FilePart(attachment="0" * 64, media_type="audio/ogg", name="gone.ogg")]
        await app.services.need(CONVERSATIONS).send(conversation, parts, sender=PERSON)
        await app.services.need(CONVERSATIONS).wait(conversation)
        await send(app, (b"%PDF-", "application/pdf", "a.pdf"))

    assert [read(world, 0), read(world, 1)] == [[None], [None]]


async def test_a_stop_while_a_file_is_read_stops_the_turn(atlas_app: Callable[..., Any]) -> None:
    world = World(ears := Ears(...))
    async with atlas_app(*PLUGINS, objects={"world": world}) as app:
        conversations = app.services.need(CONVERSATIONS)
        id = (await conversations.create(ConversationDraft())).id
        kept = await app.services.need(STORE).keep(NOTE[0], media_type=NOTE[1], name=NOTE[2])
        parts = [FilePart(attachment=kept.id, media_type=kept.media_type, name=kept.name)]
        await conversations.send(id, parts, sender=PERSON)
        while not ears.count:
            await anyio.sleep(0.001)
        await conversations.stop(id)
        with anyio.fail_after(2):
            await conversations.wait(id)

    assert world.model.requests == []


# --- the service alone ---------------------------------------------------------------------------


class FakeHome:
    """What plugins add."""

    def __init__(self, *added: Added) -> None:
        self._added = added

    def added(self, hook: str) -> tuple[Added, ...]:
        return self._added if hook == "atlas_readers" else ()


def service(ctx: FakeContext, *readers: Any) -> Attachments:
    home: Any = FakeHome(*(Added(f"plugin-{number}", one.kind, one) for number, one in enumerate(readers)))
    ctx.services.offer(HOME.by(home))
    made = Attachments(ctx)
    ctx.services.offer(ATTACHMENTS.by(made))
    return made


async def keep(ctx: FakeContext, data: bytes = NOTE[0], media_type: str = NOTE[1], name: str = NOTE[2]) -> str:
    return (await ctx.services.need(STORE).keep(data, media_type=media_type, name=name)).id


@VIRTUAL
async def test_a_reader_has_two_minutes(atlas_context: FakeContext) -> None:
    attachments = service(atlas_context, Ears(...))
    began = anyio.current_time()

    assert await attachments.text(await keep(atlas_context)) is None
    assert anyio.current_time() - began == pytest.approx(120)


async def test_the_first_plugin_reads_and_the_other_is_logged_once(
    atlas_context: FakeContext, caplog: pytest.LogCaptureFixture
) -> None:
    attachments = service(atlas_context, Ears("first"), second := Ears("second"))
    with caplog.at_level(logging.WARNING):
        for number in range(2):
            assert await attachments.text(await keep(atlas_context, b"%d" % number)) == "first"

    assert second.count == 0
    assert [record.getMessage() for record in caplog.records] == [
        "Files of the kind audio are read by plugin-0, and not by plugin-1"
    ]


async def test_two_who_ask_at_once_have_it_read_once(atlas_context: FakeContext) -> None:
    attachments = service(atlas_context, ears := Ears())
    id = await keep(atlas_context)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(attachments.text, id)

    assert ears.count == 1


async def test_an_attachment_nobody_has_is_said(atlas_context: FakeContext) -> None:
    with pytest.raises(NotFoundError):
        await service(atlas_context).text("0" * 64)


@pytest.mark.parametrize(
    ("media_type", "name", "text"),
    [
        ("text/plain", "a", True),
        ("application/json; charset=utf-8", "a", True),
        ("application/vnd.api+json", "a", True),
        ("application/octet-stream", "Main.RS", True),
        ("application/octet-stream", "main", False),
        ("application/pdf", "a.txt", False),
        ("audio/ogg", "a.ogg", False),
    ],
)
def test_what_says_that_it_is_text(media_type: str, name: str, text: bool) -> None:
    assert is_text(media_type, name) is text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("Grüße 猫".encode(), "Grüße 猫"),
        (b"\xef\xbb\xbfa", "a"),
        ("猫".encode("utf-16"), "猫"),
        ("Grüße".encode("latin-1"), "Grüße"),
        (b"\x7fELF\0\0", ""),
        (b"", ""),
    ],
)
def test_text_is_read_in_the_encodings_there_are(tmp_path: Path, raw: bytes, text: str) -> None:
    (tmp_path / "a").write_bytes(raw)

    assert read_text(tmp_path / "a") == text


def test_a_very_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("猫" * (MOST_CHARS * 2))

    text = read_text(tmp_path / "a")

    assert text.startswith("猫" * MOST_CHARS)
    assert text.endswith(f"[The file goes on: these are its first 100,000 characters, of {MOST_CHARS * 6:,} bytes.]")
