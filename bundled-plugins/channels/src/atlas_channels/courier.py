"""Sends what waits for the chats of one channel: in order for each chat, again after a failure, never twice."""

from __future__ import annotations

import re
import shutil
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread

from atlas_sdk.channels import Channel, takes_files, takes_keys
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import StorageError
from atlas_sdk.services.store import STORE

from .foreign import attempt, sentence
from .outbox import Item, Kept, Outbox, doubt
from .prompts import Prompts, prompt_of

SEND_SECONDS = 60.0
"""How long a channel has to send one message. A chat service answers in a few seconds or not at all."""
GRACE_SECONDS = 2.0
"""What a send under way is given to finish when its channel is turned off or Atlas closes."""
FIRST_RETRY_SECONDS = 1.0
RETRY_SECONDS = 300.0
GIVE_UP_AFTER = timedelta(hours=24)
FILE_TRIES = 5
"""A file that failed so often will not pass (it is too big, most likely), and a line says where it is."""
SETTLE_TRIES = 3
"""Buttons that cannot be replaced stay, and a press on them answers nothing."""
STUCK_TRIES = 6
"""After half a minute of failing, what is behind a message is tried before it."""
WORKING_SECONDS = 10.0


class Courier:
    """One running channel's way out."""

    def __init__(self, ctx: PluginContext, channel: Channel, outbox: Outbox, prompts: Prompts) -> None:
        self._ctx = ctx
        self._channel = channel
        self._outbox = outbox
        self._prompts = prompts
        self._news = anyio.Event()
        self._draining: set[str] = set()
        self._busy: dict[str, bool] = {}
        self._showing: set[str] = set()
        self._tasks: anyio.abc.TaskGroup | None = None

    def wake(self) -> None:
        """Look for what waits."""
        self._news.set()
        self._news = anyio.Event()

    def working(self, chat: str, busy: bool) -> None:
        """Show in a chat whether Atlas is at work, soon; a failure is not reported."""
        self._busy[chat] = busy
        if self._tasks is not None and chat not in self._showing:
            self._showing.add(chat)
            self._tasks.start_soon(self._show, chat)

    async def run(self) -> None:
        """Send until cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await self._kept(self._outbox.resume, self._channel.name, keyed=takes_keys(self._channel))
            while True:
                news = self._news
                for chat in await self._kept(self._outbox.chats, self._channel.name):
                    if chat not in self._draining:
                        self._draining.add(chat)
                        tasks.start_soon(self._drain, chat)
                await news.wait()

    async def _show(self, chat: str) -> None:
        shown: bool | None = None
        while self._busy.get(chat) != shown:
            shown = self._busy.get(chat)
            with anyio.move_on_after(WORKING_SECONDS):
                await attempt(self._channel.working, chat, bool(shown))
        self._showing.discard(chat)
        if not shown:
            self._busy.pop(chat, None)

    async def _drain(self, chat: str) -> None:
        name = self._channel.name
        while True:
            kept = await self._kept(self._outbox.next, name, chat)
            if kept is not None:
                if not await self._passed_by(kept):
                    await self._deliver(kept)
                continue
            self._draining.discard(chat)
            # What came between that look and this line found the chat still being drained.
            if await self._kept(self._outbox.next, name, chat) is None or chat in self._draining:
                return
            self._draining.add(chat)

    async def _passed_by(self, stuck: Kept) -> bool:
        """Let the next message go before one that failed often; say whether one was tried.

        When that one arrives, the service is there and it is the message it does not take: it has one more try,
        and is given up, so that it does not keep all that is behind it.
        """
        if stuck.tries < STUCK_TRIES:
            return False
        other = await self._kept(self._outbox.next, stuck.item.channel, stuck.item.chat, after=stuck.number)
        if other is None or other.tries >= STUCK_TRIES:
            return False
        if await self._deliver(other):
            await self._deliver(stuck, is_last=True)
        return True

    async def _deliver(self, kept: Kept, *, is_last: bool = False) -> bool:
        """Send one item and keep what came of it; say whether it arrived. ``is_last`` gives up when it does not."""
        if kept.item.kind == "ask" and not await self._prompts.waits(kept.item.subject):
            await self._kept(self._outbox.end, kept, "dropped")
            return False
        if not await self._kept(self._outbox.begin, kept):
            return False
        error: Exception | None = None
        async with anyio.create_task_group() as group:
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + SEND_SECONDS) as sending:
                group.start_soon(_hasten, sending)
                error = await attempt(self._hand_over, kept)
            # What came of it is kept even when the channel is being cancelled: else it would be in doubt.
            with anyio.move_on_after(GRACE_SECONDS, shield=True) as keeping:
                wait = await self._ended(kept, error, in_time=not sending.cancelled_caught, is_last=is_last)
            if keeping.cancelled_caught:
                wait = await self._ended(kept, error, in_time=not sending.cancelled_caught, is_last=is_last)
            group.cancel_scope.cancel()
        await anyio.sleep(wait)
        return error is None and not sending.cancelled_caught

    async def _ended(self, kept: Kept, error: Exception | None, *, in_time: bool, is_last: bool) -> float:
        """Keep how a send ended, and return how long to wait before the next."""
        if not in_time:
            instead = [doubt(kept.item.channel, kept.item.chat, kept.number)]
            await self._kept(self._outbox.end, kept, "unsure", instead=instead)
        elif error is not None:
            return await self._failed(kept, error, is_last=is_last)
        else:
            await self._kept(self._outbox.end, kept, "sent")
        return 0.0

    async def _failed(self, kept: Kept, error: Exception, *, is_last: bool) -> float:
        item, now = kept.item, self._ctx.clock.now()
        told = {"channel": item.channel, "tries": kept.tries + 1}
        if item.kind == "file" and kept.tries + 1 >= FILE_TRIES:
            self._ctx.logger.warning("A file was not sent: %s", sentence(error), extra=told)
            line = Item(item.channel, item.chat, "text", f"{item.source}:line", {"text": _line(item)}, item.subject)
            await self._kept(self._outbox.end, kept, "failed", instead=[line])
            return 0.0
        too_long = kept.failing_since is not None and now - kept.failing_since > GIVE_UP_AFTER
        if is_last or too_long or (item.kind == "settle" and kept.tries + 1 >= SETTLE_TRIES):
            self._ctx.logger.error("A message was given up: %s", sentence(error), extra=told)
            await self._kept(self._outbox.end, kept, "failed")
            return 0.0
        self._ctx.logger.warning("A message is tried again: %s", sentence(error), extra=told)
        await self._kept(self._outbox.failed_once, kept)
        return min(FIRST_RETRY_SECONDS * 2.0 ** min(kept.tries, 20), RETRY_SECONDS)

    async def _hand_over(self, kept: Kept) -> None:
        item, channel = kept.item, self._channel
        match item.kind:
            case "text" if takes_keys(channel):
                await channel.send_once(item.chat, item.data["text"], f"atlas-{kept.number}-{item.source}")
            case "text":
                await channel.send(item.chat, item.data["text"])
            case "file":
                await self._file(item)
            case "ask":
                await channel.ask(item.chat, prompt_of(kept))
            case "settle":
                await channel.settle(item.chat, item.subject, item.data["said"])

    async def _file(self, item: Item) -> None:
        """Send a file under its own name, since where it is kept it is named by its hash."""
        channel = self._channel
        if not takes_files(channel):
            await channel.send(item.chat, _line(item))
            return
        kept = self._ctx.services.need(STORE).file(item.data["attachment"])
        folder = self._ctx.data_folder / "outgoing" / re.sub(r"\W", "_", item.source)[-100:]
        path = folder / _safe(item.data["name"])
        await anyio.to_thread.run_sync(_copy, kept, path)
        try:
            await channel.send_file(item.chat, path, item.data["media_type"])
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))

    async def _kept(self, call: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
        """Read or write the outbox, waiting for a full disk to have room again."""
        wait = FIRST_RETRY_SECONDS
        while True:
            try:
                return await call(*arguments, **named)
            except StorageError as error:
                self._ctx.logger.error("The outbox waits for the disk: %s", error)
            await anyio.sleep(wait)
            wait = min(wait * 2, RETRY_SECONDS)


async def _hasten(sending: anyio.CancelScope) -> None:
    """Let a send under way finish, but soon, once its channel is cancelled."""
    try:
        await anyio.sleep_forever()
    finally:
        sending.deadline = min(sending.deadline, anyio.current_time() + GRACE_SECONDS)


def _line(item: Item) -> str:
    size = item.data["size"]
    said = f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{max(1, round(size / 1000))} KB"
    return f"A file for you: {_safe(item.data['name'])} ({said}). It waits in the app."


def _safe(name: str) -> str:
    """Return a file's own name, with nothing in it that leads elsewhere."""
    own = name.replace("\\", "/").rpartition("/")[2].replace("\0", "").strip()
    return "file" if own in ("", ".", "..") else own[-150:]


def _copy(kept: Path, path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    shutil.copyfile(kept, path)
