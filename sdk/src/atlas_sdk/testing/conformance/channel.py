"""What a channel promises: what people write reaches Atlas once, what Atlas says reaches them, and it can be ended."""

from __future__ import annotations

import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.abc

from ...channels import Channel, Inbound, Prompt, limit_of, takes_files, takes_keys
from ...errors import AtlasError
from ..fake_hosts import FakeChannelHost
from ..suite import suite
from .patience import CANCEL_SECONDS, cancelled_after, until
from .raising import raises

MakeChannel: TypeAlias = Callable[[], Channel]
Write: TypeAlias = Callable[[Channel, str, str], Awaitable[None]]
Sent: TypeAlias = Callable[[Channel, str], list[str]]
PROMPT = Prompt("p1", "May I?", ("Allow once", "Deny"))


@dataclass
class ChannelBench:
    """A channel, and both ends of its wire to the chat service."""

    channel: Channel
    host: FakeChannelHost
    chat: str
    write: Write
    sent: Sent
    nowhere: str

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the channel for the length of the block, from the first thing that ``run`` does.

        A channel makes what it needs as it runs: whoever wrote before would write to what it had the last time.
        """
        async with anyio.create_task_group() as group:
            await group.start(self._run)
            yield
            group.cancel_scope.cancel()

    async def _run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        task_status.started()  # and on without a pause: ``run`` is called before anybody hears of it
        await self.channel.run(self.host)

    async def hear(self, text: str) -> Inbound:
        """Have somebody write, and return what reached Atlas."""
        before = len(self.host.received)
        await self.write(self.channel, self.chat, text)
        await until(lambda: len(self.host.received) > before)
        return self.host.received[-1]


@suite("channel")
@asynccontextmanager
async def check_channel(
    make_channel: MakeChannel, *, write: Write, sent: Sent, chat: str = "1", nowhere: str = ""
) -> AsyncIterator[ChannelBench]:
    """Check a Channel against a stand-in of its chat service.

    ``write(channel, chat, text)`` has somebody write in a chat of that service, and ``sent(channel, chat)``
    returns what was sent to the chat so far, questions and the names of files among it. ``nowhere`` is a chat
    that cannot be sent to.
    """
    yield ChannelBench(make_channel(), FakeChannelHost(), chat, write, sent, nowhere)


@check_channel.promise
async def its_name_is_a_word(bench: ChannelBench) -> None:
    """As the manifest declares it: lowercase letters, digits, - and _."""
    assert isinstance(bench.channel, Channel), "It lacks a member of the Channel protocol."
    assert re.fullmatch(r"[a-z][a-z0-9_-]*", bench.channel.name), bench.channel.name


@check_channel.promise
async def what_is_written_reaches_atlas_once(bench: ChannelBench) -> None:
    """With its chat and its text as they were, and a user who is a stable id."""
    async with bench.running():
        first = await bench.hear("Hello. 猫")
        second = await bench.hear("And again.")

    assert [one.text for one in bench.host.received] == ["Hello. 猫", "And again."]
    assert first.chat == second.chat == bench.chat
    assert first.user
    assert first.user == second.user


@check_channel.promise
async def messages_have_ids_of_their_own(bench: ChannelBench) -> None:
    """Where the service gives ids: a message that comes twice is then known as one."""
    async with bench.running():
        first, second = await bench.hear("a"), await bench.hear("a")

    assert not first.id or first.id != second.id


@check_channel.promise
async def what_is_sent_arrives(bench: ChannelBench) -> None:
    """In the chat it was sent to, in order, whole: also a long text, in as many messages as it takes."""
    text = "word " * 3000
    async with bench.running():
        await bench.channel.send(bench.chat, "Hello.")
        await bench.channel.send(bench.chat, text)

    first, *rest = bench.sent(bench.channel, bench.chat)
    assert "Hello." in first
    assert "".join(rest).count("word") == 3000


@check_channel.promise
async def what_is_not_delivered_is_an_error(bench: ChannelBench) -> None:
    """AtlasError, so that somebody can be told."""
    if not bench.nowhere:
        return
    async with bench.running():
        with raises(AtlasError):
            await bench.channel.send(bench.nowhere, "Hello.")


@check_channel.promise
async def its_own_limit_leaves_room(bench: ChannelBench) -> None:
    """A channel that says how long a message may be says 100 characters or more, and takes one of that length."""
    limit = limit_of(bench.channel)
    if limit is None:
        return
    assert limit >= 100
    async with bench.running():
        await bench.channel.send(bench.chat, "x" * limit)

    assert [one.count("x") for one in bench.sent(bench.channel, bench.chat)] == [limit]


@check_channel.promise
async def what_is_sent_again_under_its_key_arrives_once(bench: ChannelBench) -> None:
    """Where the channel offers ``send_once``: another key is another message, though the words are the same."""
    if not takes_keys(bench.channel):
        return
    async with bench.running():
        for key in ("a", "a", "b"):
            await bench.channel.send_once(bench.chat, "Hello.", key)

    assert len(bench.sent(bench.channel, bench.chat)) == 2


@check_channel.promise
async def a_file_arrives_under_its_name(bench: ChannelBench) -> None:
    """Where the channel carries files; the file itself is left as it was."""
    if not takes_files(bench.channel):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.txt"
        await anyio.Path(path).write_bytes(b"All is well.")
        async with bench.running():
            await bench.channel.send_file(bench.chat, path, "text/plain")
        assert await anyio.Path(path).read_bytes() == b"All is well."

    assert "report.txt" in "\n".join(bench.sent(bench.channel, bench.chat))


@check_channel.promise
async def a_question_is_shown_and_settled(bench: ChannelBench) -> None:
    """With its text; settling a question twice, or one that is not shown, is harmless."""
    async with bench.running():
        await bench.channel.ask(bench.chat, PROMPT)
        shown = bench.sent(bench.channel, bench.chat)
        await bench.channel.settle(bench.chat, PROMPT.id, "Allowed.")
        await bench.channel.settle(bench.chat, PROMPT.id, "Allowed.")
        await bench.channel.settle(bench.chat, "nobody", "Allowed.")

    assert PROMPT.text in "\n".join(shown)


@check_channel.promise
async def showing_that_atlas_works_never_fails(bench: ChannelBench) -> None:
    """Not even in a chat that cannot be sent to."""
    async with bench.running():
        for chat in (bench.chat, bench.nowhere or bench.chat):
            await bench.channel.working(chat, True)
            await bench.channel.working(chat, False)
            await bench.channel.working(chat, False)


@check_channel.promise
async def cancelling_ends_it_within_a_second(bench: ChannelBench) -> None:
    """The plugin was turned off, or Atlas closes; that is no failure to tell of."""
    took = await cancelled_after(lambda: bench.channel.run(bench.host))

    assert took < CANCEL_SECONDS, f"It took {took:.1f} seconds."
    assert bench.host.failures == []


@check_channel.promise
async def it_runs_again_after_it_was_ended(bench: ChannelBench) -> None:
    """Turned off and on, the same channel receives as before."""
    async with bench.running():
        await bench.hear("before")
    async with bench.running():
        await bench.hear("after")

    assert [one.text for one in bench.host.received] == ["before", "after"]
