"""Each message once: delivered twice, across restarts, failing, and cut off in the middle."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
import trio.testing

from atlas_channels import courier as courier_module
from atlas_channels.courier import FILE_TRIES, SEND_SECONDS, Courier
from atlas_channels.follower import Follower
from atlas_channels.outbox import DOUBT, Item, Outbox
from atlas_channels.prompts import Prompts
from atlas_channels.schema import SCHEMA
from atlas_sdk.channels import InboundFile
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import TurnEnded
from atlas_sdk.messages import Message
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.conformance.patience import until
from atlas_sdk.testing.fake_context import FakeClock
from atlas_sdk.testing.fakes import FakeChannel, FakeContext, FakeFileChannel
from atlas_sdk.testing.model_script import say

from .conftest import Open, World, let_in, replies

pytestmark = pytest.mark.anyio
VIRTUAL = pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})], ids=["virtual"]
)


async def said(app: Any) -> list[str]:
    """What people said, in all conversations."""
    messages = await app.services.need(STORE).find(Message, role="user")
    return [message.parts[-1].text for message in messages]


async def test_a_message_delivered_twice_is_taken_once(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add("One.", "Two.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        first = await channel.says("Hi.")
        await channel.says("Hi.", id=first.id)
        await channel.until_shown("ada", "One.")
        await channel.says("Hi.", id=first.id)
        await channel.says("Bye.")
        await channel.until_shown("ada", "Two.")
        assert await said(app) == ["Hi.", "Bye."]

    assert replies(channel) == ["One.", "Two."]


async def test_a_message_delivered_again_after_new_and_a_restart_begins_nothing(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("One.", "Two.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        first = await channel.says("Hi.")
        await channel.until_shown("ada", "One.")
        new = await channel.says("/new")
    async with open_home() as app:
        await channel.says("Hi.", id=first.id)
        await channel.says("Again.")
        await channel.until_shown("ada", "Two.")
        await channel.says("/new", id=new.id)
        await channel.says("/stop")
        await channel.until_shown("ada", "Nothing is running.")
        assert await said(app) == ["Hi.", "Again."]
        assert len(await app.services.need(CONVERSATIONS).list()) == 2

    assert len(world.model.requests) == 2


async def test_the_same_id_in_two_chats_is_two_messages(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("One.", "Two.")
    async with open_home() as app:
        await let_in(app, channel, "ada", "bob")
        await channel.says("from ada", id="7")
        await channel.says("from bob", user="bob", id="7")
        await channel.until(lambda: bool(replies(channel) and replies(channel, "bob")))
        assert sorted(await said(app)) == ["from ada", "from bob"]


async def test_a_message_that_a_full_disk_refused_is_not_acknowledged_until_it_is_kept(
    open_home: Open, world: World, channel: FakeFileChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atlas_channels import inbound
    from atlas_sdk.errors import StorageError

    naps: list[float] = []
    real = anyio.sleep

    async def nap(seconds: float) -> None:
        naps.append(seconds)
        await real(0)

    world.model.add("One.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        store = app.services.need(STORE)
        keep, refusals = store.keep, [StorageError("The disk is full.")] * 3

        async def full(*arguments: Any, **named: Any) -> Any:
            if refusals:
                raise refusals.pop()
            return await keep(*arguments, **named)

        monkeypatch.setattr(store, "keep", full)
        monkeypatch.setattr(inbound.anyio, "sleep", nap)
        await channel.says("Hi.", files=[InboundFile("a.txt", b"a")])
        monkeypatch.undo()
        await channel.until_shown("ada", "One.")

    assert [seconds for seconds in naps if seconds >= 1][:3] == [1.0, 2.0, 4.0]
    assert replies(channel) == ["One."]


async def test_a_restart_in_the_middle_of_a_turn_is_said_and_nothing_is_told_twice(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("One.", say("Two", idle_after=1), "Three.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("first")
        await channel.until_shown("ada", "One.")
        await channel.says("second")
        await until(lambda: len(world.model.requests) == 2)
    async with open_home() as app:
        await channel.until(lambda: len(replies(channel)) >= 3)
        await channel.says("third")
        await channel.until_shown("ada", "Three.")
        assert await said(app) == ["first", "second", "third"]

    assert replies(channel) == ["One.", "Two", "Stopped.", "Three."]


async def test_an_answer_made_while_the_channel_was_away_comes_when_it_is_back(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("One.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        channel.fail_sends(10_000)
        await channel.says("first")
        (conversation,) = await app.services.need(CONVERSATIONS).list()
        await app.services.need(CONVERSATIONS).wait(conversation.id)
    channel.recover()
    async with open_home():
        await channel.until_shown("ada", "One.")

    assert replies(channel) == ["One."]


async def test_an_answer_that_was_on_disk_when_atlas_died_is_still_told(
    open_home: Open, world: World, channel: FakeFileChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place in the events is kept with what is put, so what came after it is read by the next start."""

    async def dies(*_: Any) -> None:
        await anyio.sleep_forever()

    world.model.add("One.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        monkeypatch.setattr(Follower, "_take", dies)
        monkeypatch.setattr(Follower, "_catch_up", dies)
        await channel.says("first")
        (conversation,) = await app.services.need(CONVERSATIONS).list()
        await app.services.need(CONVERSATIONS).wait(conversation.id)
    monkeypatch.undo()
    for _ in range(2):
        async with open_home():
            await channel.until_shown("ada", "One.")

    assert replies(channel) == ["One."]


async def test_a_turn_that_a_crash_interrupted_is_said_in_the_chat(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add(say("Two", idle_after=1))
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("second")
        await until(lambda: len(world.model.requests) == 1)
        store = app.services.need(STORE)
        (conversation,) = await app.services.need(CONVERSATIONS).list()
        turn = await app.services.need(CONVERSATIONS).running(conversation.id)
        ended = turn.model_copy(update={"state": "interrupted", "error": "Atlas ended while it ran."})
        await store.commit([ended], [TurnEnded(conversation=conversation.id, turn=ended)])
        await channel.until_shown("ada", "Atlas was restarted while it was answering.")


# --- the outbox alone, in virtual time -----------------------------------------------------------


@pytest.fixture
async def outbox(atlas_context: FakeContext) -> Outbox:
    await atlas_context.services.need(STORE).migrate("channels", SCHEMA)
    return Outbox(atlas_context)


def texts(*words: str, chat: str = "ada") -> list[Item]:
    return [Item("fake", chat, "text", f"{chat}:{word}", {"text": word}) for word in words]


async def states(outbox: Outbox) -> list[tuple[str, int]]:
    store = outbox._ctx.services.need(STORE)
    sql = "SELECT state, tries FROM channels_outbox ORDER BY number"
    return [(row["state"], row["tries"]) for row in await store.read(lambda reading: reading.rows(sql))]


def courier(outbox: Outbox, channel: FakeChannel) -> Courier:
    return Courier(outbox._ctx, channel, outbox, Prompts(outbox._ctx))  # type: ignore[arg-type]


@VIRTUAL
async def test_a_send_that_fails_three_times_is_sent_in_the_end_once_and_in_order(outbox: Outbox) -> None:
    channel = FakeChannel()
    channel.fail_sends(3)
    await outbox.put(texts("a", "b"))
    await outbox.put(texts("a"))
    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until_shown("ada", "b")
        took = anyio.current_time() - began
        group.cancel_scope.cancel()

    assert channel.chat("ada").texts == ["a", "b"]
    assert took == pytest.approx(1 + 2 + 4)


@VIRTUAL
async def test_a_chat_that_fails_keeps_no_other_waiting(outbox: Outbox) -> None:
    class HalfDeaf(FakeChannel):
        async def send(self, chat: str, text: str) -> None:
            if chat == "ada":
                raise RuntimeError("blocked")
            await super().send(chat, text)

    channel = HalfDeaf()
    await outbox.put([*texts("a"), *texts("b", chat="bob")])
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until_shown("bob", "b")
        group.cancel_scope.cancel()

    assert (await states(outbox))[0][0] in ("waiting", "sending")


@VIRTUAL
async def test_what_failed_for_a_day_is_given_up_and_the_next_is_tried(outbox: Outbox, atlas_clock: FakeClock) -> None:
    channel = FakeChannel()
    channel.fail_sends(2)
    await outbox.put(texts("a", "b"))
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        while (await states(outbox))[0] != ("waiting", 1):
            await anyio.sleep(0.01)
        atlas_clock.advance(hours=25)
        await channel.until_shown("ada", "b")
        group.cancel_scope.cancel()

    assert channel.chat("ada").texts == ["b"]
    assert await outbox.failures() == {"fake": 1}


@VIRTUAL
async def test_a_message_the_service_never_takes_does_not_keep_those_behind_it(outbox: Outbox) -> None:
    class Picky(FakeChannel):
        async def send(self, chat: str, text: str) -> None:
            if text == "bad":
                raise AtlasError("It has a word the service does not take.")
            await super().send(chat, text)

    channel = Picky()
    await outbox.put(texts("bad", "a", "b"))
    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until_shown("ada", "b")
        took = anyio.current_time() - began
        group.cancel_scope.cancel()

    assert channel.chat("ada").texts == ["a", "b"]
    assert took < 120
    assert (await states(outbox))[0][0] == "failed"


@VIRTUAL
async def test_an_outage_of_an_hour_loses_nothing(outbox: Outbox) -> None:
    class Away(FakeChannel):
        async def send(self, chat: str, text: str) -> None:
            if anyio.current_time() - began < 3600:
                raise ConnectionError("unreachable")
            await super().send(chat, text)

    began = anyio.current_time()
    channel = Away()
    await outbox.put(texts("a", "b", "c"))
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until(lambda: len(channel.chat("ada").texts) == 3)
        group.cancel_scope.cancel()

    assert sorted(channel.chat("ada").texts) == ["a", "b", "c"]


@VIRTUAL
async def test_buttons_that_cannot_be_replaced_hold_up_nothing(outbox: Outbox) -> None:
    class TooLate(FakeChannel):
        async def settle(self, chat: str, prompt: str, said: str) -> None:
            raise AtlasError("The message is too old to be changed.")

    channel = TooLate()
    await outbox.put([Item("fake", "ada", "settle", "s1", {"said": "Denied."}, "q1"), *texts("a")])
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until_shown("ada", "a")
        group.cancel_scope.cancel()

    assert (await states(outbox))[0][0] == "failed"


@VIRTUAL
async def test_what_was_being_sent_when_atlas_died_is_not_sent_again_but_said_to_be_in_doubt(outbox: Outbox) -> None:
    channel = FakeChannel()
    await outbox.put(texts("a", "b"))
    first = await outbox.next("fake", "ada")
    assert first is not None
    assert await outbox.begin(first)
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until(lambda: len(channel.chat("ada").texts) == 2)
        group.cancel_scope.cancel()

    assert channel.chat("ada").texts == ["b", DOUBT]


@VIRTUAL
async def test_where_the_service_knows_messages_by_key_one_in_doubt_is_sent_again_under_its_key(outbox: Outbox) -> None:
    class Keyed(FakeChannel):
        def __init__(self) -> None:
            super().__init__()
            self.keys: list[str] = []

        async def send_once(self, chat: str, text: str, key: str) -> None:
            if key not in self.keys:
                self.keys.append(key)
                await self.send(chat, text)

    channel = Keyed()
    await outbox.put(texts("a"))
    first = await outbox.next("fake", "ada")
    assert first is not None
    await outbox.begin(first)
    await channel.send_once("ada", "a", f"atlas-{first.number}-{first.item.source}")
    await outbox.put(texts("b"))
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until_shown("ada", "b")
        group.cancel_scope.cancel()

    assert channel.chat("ada").texts == ["a", "b"]
    assert (await states(outbox))[0][0] == "sent"


@VIRTUAL
async def test_a_send_under_way_may_finish_when_the_channel_is_turned_off(outbox: Outbox) -> None:
    begun = anyio.Event()

    class Slow(FakeChannel):
        async def send(self, chat: str, text: str) -> None:
            begun.set()
            await anyio.sleep(1)
            await super().send(chat, text)

    channel = Slow()
    await outbox.put(texts("a"))
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await begun.wait()
        group.cancel_scope.cancel()

    assert channel.chat("ada").texts == ["a"]
    assert await states(outbox) == [("sent", 0)]


@VIRTUAL
async def test_a_send_that_never_ends_holds_its_chat_for_a_minute_and_is_in_doubt(outbox: Outbox) -> None:
    class Stuck(FakeChannel):
        async def send(self, chat: str, text: str) -> None:
            if text == "a":
                await anyio.sleep_forever()
            await super().send(chat, text)

    channel = Stuck()
    await outbox.put(texts("a", "b"))
    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until(lambda: len(channel.chat("ada").texts) == 2)
        took = anyio.current_time() - began
        group.cancel_scope.cancel()

    assert channel.chat("ada").texts == ["b", DOUBT]
    assert took == pytest.approx(SEND_SECONDS)


async def test_a_file_that_does_not_pass_is_named_instead(outbox: Outbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courier_module, "FIRST_RETRY_SECONDS", 0.001)  # a copy is made in a thread: no virtual time
    channel = FakeFileChannel()
    channel.fail_sends(FILE_TRIES)
    kept = await outbox._ctx.services.need(STORE).keep(b"x" * 2_000_000, media_type="text/plain", name="big.txt")
    about = {"attachment": kept.id, "name": "../big.txt", "media_type": "text/plain", "size": kept.size}
    await outbox.put([Item("fake", "ada", "file", "f1", about)])
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until_shown("ada", "big.txt")
        group.cancel_scope.cancel()

    assert channel.chat("ada").texts == ["A file for you: big.txt (2.0 MB). It waits in the app."]
    assert list((outbox._ctx.data_folder / "outgoing").iterdir()) == []


@VIRTUAL
async def test_old_rows_are_forgotten(outbox: Outbox, atlas_clock: FakeClock) -> None:
    channel = FakeChannel()
    await outbox.put(texts("a"))
    async with anyio.create_task_group() as group:
        group.start_soon(courier(outbox, channel).run)
        await channel.until_shown("ada", "a")
        while await states(outbox) != [("sent", 0)]:
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    await outbox.put(texts("b"))
    atlas_clock.advance(days=31)
    await outbox.forget_old()

    assert await states(outbox) == [("waiting", 0)]
