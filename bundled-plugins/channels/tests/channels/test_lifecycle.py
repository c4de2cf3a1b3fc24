"""A channel's life: on with its plugin, off with it, and an end of its own that is said and not mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.authored import RegisteredChannel
from atlas_sdk.channels import limit_of, takes_files, takes_keys
from atlas_sdk.errors import AtlasError, NotFoundError
from atlas_sdk.events import Noticed
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.manifest import DeclaredSecret, Manifest
from atlas_sdk.services.channels import CHANNELS
from atlas_sdk.services.pairing import PAIRING
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fakes import FakeFileChannel

from .conftest import Open, World, let_in, replies

pytestmark = pytest.mark.anyio


async def rows(app: Any) -> list[tuple[str, str, str]]:
    return [(row.name, row.state, row.why) for row in await app.services.need(CHANNELS).list()]


async def until_row(app: Any, row: tuple[str, str, str]) -> None:
    while row not in await rows(app):
        await anyio.sleep(0.002)


async def test_a_channel_runs_while_its_plugin_is_on(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add("One.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        assert await rows(app) == [("fake", "running", "")]
        await app.plugins.disable("world")
        await channel.until(lambda: not channel.is_running)
        await app.services.need(PAIRING).forget("fake", "ada")
        await app.plugins.enable("world")
        await channel.until(lambda: channel.is_running)
        await let_in(app, channel, "ada")
        await channel.says("Hi.")
        await channel.until_shown("ada", "One.")

    assert not channel.is_running
    assert channel.runs == 2


async def test_another_plugin_turned_on_or_off_leaves_a_channel_running(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    async with open_home("sample") as app:
        await channel.until(lambda: channel.is_running)
        await app.plugins.disable("sample")
        await app.plugins.enable("sample")
        await channel.says("Hi.")
        await channel.until_shown("ada", "Your code is")

    assert channel.runs == 1


@pytest.mark.parametrize(
    ("how", "reason", "why"),
    [
        ("return", "", "It ended by itself."),
        (
            AtlasError("The service refused the token.", hint="Get it again."),
            "",
            "The service refused the token. Get it again.",
        ),
        (RuntimeError("boom"), "", "RuntimeError: boom"),
        (RuntimeError("boom"), "The token was refused.", "The token was refused."),
    ],
)
async def test_a_channel_that_ends_is_said_to_and_not_started_again(
    open_home: Open, world: World, channel: FakeFileChannel, how: Any, reason: str, why: str
) -> None:
    async with open_home("console") as app:
        await channel.until(lambda: channel.is_running)
        channel.end(how, reason=reason)
        await until_row(app, ("fake", "failed", why))
        events = await app.services.need(STORE).events(after=0)
        while not any(isinstance(one.event, Noticed) for one in events):
            await anyio.sleep(0.002)
            events = await app.services.need(STORE).events(after=0)
        checks = {check.id: check for _, check in app.checks()}
        found = await checks["channels.run"].run()

    assert channel.runs == 1
    assert found.state == "warning"
    assert why in found.said


async def test_a_channel_that_raises_leaves_another_alone(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    other = FakeFileChannel("other")
    world.channels.append(other)
    world.model.add("One.")
    async with open_home() as app:
        await channel.until(lambda: channel.is_running)
        channel.end(ExceptionGroup("both", [RuntimeError("boom")]))
        await until_row(app, ("fake", "failed", "RuntimeError: boom"))
        await let_in(app, other, "ada")
        await other.says("Hi.")
        await other.until_shown("ada", "One.")

    assert replies(other) == ["One."]


async def test_of_two_channels_of_one_name_the_first_plugins_runs(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    second = World()
    second.model.id = "second"
    second.atlas_tools = list  # type: ignore[method-assign]
    async with open_home(objects={"world": world, "xerox": second}) as app:
        await channel.until(lambda: channel.is_running)
        assert await rows(app) == [("fake", "running", "")]

    assert second.channel.runs == 0


async def test_nothing_is_received_in_a_home_open_for_one_command(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    channel.write("Hi.")
    kept = ONE_COMMAND.set(True)
    try:
        async with open_home() as app:
            await anyio.wait_all_tasks_blocked()
            assert await rows(app) == [("fake", "off", "Channels run with the server: atlas serve.")]
    finally:
        ONE_COMMAND.reset(kept)

    assert channel.runs == 0


async def test_off_and_on_twice_leaves_nothing_running(open_home: Open, channel: FakeFileChannel) -> None:
    async with open_home() as app:
        await channel.until(lambda: channel.is_running)
        for _ in range(2):
            await app.plugins.disable("channels")
            await channel.until(lambda: not channel.is_running)
            await app.plugins.enable("channels")
            await channel.until(lambda: channel.is_running)
        await channel.says("Hi.")
        await channel.until_shown("ada", "Your code is")

    assert len(channel.chat("ada").texts) == 1


async def test_others_bring_text_and_files_to_a_chat(open_home: Open, channel: FakeFileChannel, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("milk")
    async with open_home() as app:
        channels = app.services.need(CHANNELS)
        await let_in(app, channel, "ada")
        await channels.deliver("fake", "ada", "Good morning.")
        await channels.deliver_file("fake", "ada", note, "text/plain")
        await channel.until_shown("ada", "note.txt")
        for name, chat in (("fake", "eve"), ("pigeon", "ada")):
            with pytest.raises(NotFoundError):
                await channels.deliver(name, chat, "Psst.")

    assert replies(channel) == ["Good morning."]
    assert channel.chat("ada").files[0].data == b"milk"


async def test_a_message_the_kernel_will_not_take_is_said_and_keeps_none_behind_it(
    open_home: Open, world: World, channel: FakeFileChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atlas_sdk.errors import MisuseError
    from atlas_sdk.services.conversations import CONVERSATIONS

    world.model.add("Two.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        conversations = app.services.need(CONVERSATIONS)
        send = conversations.send

        async def picky(id: str, parts: Any, **named: Any) -> Any:
            if parts[0].text == "bad":
                raise MisuseError("That cannot be said.")
            return await send(id, parts, **named)

        monkeypatch.setattr(conversations, "send", picky)
        await channel.says("bad")
        await channel.says("good")
        await channel.until_shown("ada", "Two.")

    assert replies(channel) == ["Atlas could not take your last message: That cannot be said.", "Two."]


class Keyed(FakeFileChannel):
    """A channel that needs a token of the vault."""

    ctx: Any = None

    async def run(self, host: Any) -> None:
        if await self.ctx.secret("FAKE_TOKEN") is None:
            raise AtlasError("It needs FAKE_TOKEN.", hint="Store it: atlas plugins secret keyed FAKE_TOKEN.")
        await super().run(host)


class KeyedPlugin:
    def __init__(self) -> None:
        self.channel = Keyed()

    @hookimpl
    def atlas_channels(self, ctx: Any) -> list[Any]:
        self.channel.ctx = ctx
        return [self.channel]


async def test_a_channel_that_lacked_a_secret_starts_once_it_is_stored(open_home: Open) -> None:
    keyed = KeyedPlugin()
    manifest = Manifest("keyed", channels=("fake",), secrets=(DeclaredSecret("FAKE_TOKEN"),))
    async with open_home("vault", objects={"keyed": keyed}, manifests=[manifest]) as app:
        why = "It needs FAKE_TOKEN. Store it: atlas plugins secret keyed FAKE_TOKEN."
        await until_row(app, ("fake", "failed", why))
        method = app.methods()["secret.set"]
        await method.run(method.params(name="OTHER_TOKEN", value="of-another"), None)
        await method.run(method.params(name="FAKE_TOKEN", value="a-token-of-the-fake"), None)
        await until_row(app, ("fake", "running", ""))
        runs = keyed.channel.runs
        await method.run(method.params(name="FAKE_TOKEN", value="a-newer-token"), None)
        await keyed.channel.until(lambda: keyed.channel.runs > runs)


class Authored:
    """A channel as an author writes it, with what Atlas asks for when it is there."""

    limit_chars = 1000
    said: list[tuple[str, str]]

    def __init__(self) -> None:
        self.said = []

    async def run(self, host: Any) -> None:
        await anyio.sleep_forever()

    async def send_once(self, chat: str, text: str, key: str) -> None:
        self.said.append((chat, key))


class AuthoredPlugin:
    def __init__(self, make: Any) -> None:
        self._channels = [RegisteredChannel("fake", make)]  # in a list: looking at one would make its object

    @hookimpl
    def atlas_channels(self) -> list[Any]:
        return list(self._channels)


def test_what_an_author_s_channel_offers_is_seen_through_what_registers_it() -> None:
    channel: Any = RegisteredChannel("fake", Authored)  # type: ignore[arg-type]  # the part that is asked for

    assert (takes_keys(channel), takes_files(channel), limit_of(channel)) == (True, True, 1000)
    assert (takes_keys(FakeFileChannel()), limit_of(FakeFileChannel())) == (False, None)


async def test_a_channel_whose_object_cannot_be_made_fails_alone(open_home: Open) -> None:
    def make() -> Any:
        raise RuntimeError("there is no token")

    manifest = Manifest("authored", channels=("fake",))
    async with open_home(objects={"authored": AuthoredPlugin(make)}, manifests=[manifest]) as app:
        await until_row(app, ("fake", "failed", "RuntimeError: there is no token"))
        states = {row.name: row.state for row in await app.plugins.list()}

    assert states["channels"] == "on"
