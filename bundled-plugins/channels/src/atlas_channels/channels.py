"""The service: runs every channel that plugins add, each in a scope of its own, and brings messages to chats."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from atlas_sdk.channels import LIMIT_CHARS, Channel, limit_of
from atlas_sdk.checks import Finding
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.events import Event, Noticed, PluginChanged, SettingChanged
from atlas_sdk.ids import new_id
from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.plain_text import counted
from atlas_sdk.services.channels import CHANNELS, ChannelRow
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.home import HOME, Added
from atlas_sdk.services.store import STORE

from .chats import Chats
from .foreign import attempt, sentence
from .outbox import Item, Outbox
from .pairing import Pairing

if TYPE_CHECKING:  # what runs a channel is loaded when there is one: every command opens the home, few run a channel
    from .courier import Courier
    from .inbound import Host

STOP_SECONDS = 5.0
COMPOSING_SECONDS = 0.01
LATE_SECONDS = 25.0
"""A plugin of somebody else has 20 seconds to be loaded, and the home is open before it is."""
LATE_LOOK_SECONDS = 0.1
ENDED = "It ended by itself."
SERVER = "Channels run with the server: atlas serve."


@dataclass
class Running:
    """A channel that runs."""

    added: Added
    host: Host
    courier: Courier
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)

    @property
    def channel(self) -> Channel:
        channel: Channel = self.added.item
        return channel


class Channels:
    """The channels of one home."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._outbox = Outbox(ctx)
        self._chats = Chats(ctx)
        self._running: dict[str, Running] = {}
        self._failed: dict[str, tuple[str, str]] = {}  # plugin and reason, by channel
        self._doubled: set[tuple[str, str]] = set()
        self._changed: set[str] = set()
        self._news = anyio.Event()
        self._serves = False
        self._follows = False
        self.pairing = Pairing(ctx, self.wake, self._forgotten)

    async def list(self) -> tuple[ChannelRow, ...]:
        rows: dict[str, ChannelRow] = {}
        for added in self._added():
            rows.setdefault(added.name, self._row(added))
        for manifest in self._ctx.services.need(HOME).manifests():
            for name in manifest.channels:
                if name != "*":
                    rows.setdefault(name, ChannelRow(name=name, plugin=manifest.name, state="off"))
        return tuple(rows[name] for name in sorted(rows))

    def _row(self, added: Added) -> ChannelRow:
        name, plugin = added.name, added.plugin
        if name in self._running:
            return ChannelRow(name=name, plugin=plugin, state="running")
        if name in self._failed:
            return ChannelRow(name=name, plugin=plugin, state="failed", why=self._failed[name][1])
        return ChannelRow(name=name, plugin=plugin, state="off", why="" if self._serves else SERVER)

    async def deliver(self, channel: str, chat: str, text: str) -> None:
        from .splitting import split

        await self._need_chat(channel, chat)
        source = f"deliver:{new_id()}"
        pieces = split(text, self.limit_chars(channel))
        if not pieces:
            raise MisuseError("There is no text to deliver.")
        await self._outbox.put(
            [Item(channel, chat, "text", f"{source}:{number}", {"text": piece}) for number, piece in enumerate(pieces)]
        )
        self.wake(channel)

    async def deliver_file(self, channel: str, chat: str, path: Path, media_type: str) -> None:
        await self._need_chat(channel, chat)
        try:
            data = await anyio.Path(path).read_bytes()
        except OSError as error:
            raise NotFoundError(f"{path} cannot be sent: {error.strerror}.") from error
        media_type = media_type or "application/octet-stream"
        kept = await self._ctx.services.need(STORE).keep(data, media_type=media_type, name=path.name)
        about = {"attachment": kept.id, "name": path.name, "media_type": media_type, "size": len(data)}
        await self._outbox.put([Item(channel, chat, "file", f"deliver:{new_id()}", about)])
        self.wake(channel)

    async def _need_chat(self, channel: str, chat: str) -> None:
        if channel not in {added.name for added in self._added()}:
            known = ", ".join(sorted({added.name for added in self._added()}))
            hint = f"Those there are: {known}." if known else "No plugin that is on brings one."
            raise NotFoundError(f"There is no channel {channel!r}.", hint=hint)
        if await self._chats.get(channel, chat) is None:
            said = f"Nobody who was let in has the chat {chat!r} on {channel}."
            raise NotFoundError(said, hint="They write first: atlas pairing list shows who is let in.")

    # --- running ------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run the channels for as long as the plugin is on, in a home that stays open."""
        if ONE_COMMAND.get():
            return
        self._serves = True
        await self._composed()
        await attempt(self._outbox.forget_old)
        await self._chats.load()
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._watch)
            tasks.start_soon(self._look_for_late_ones)
            while True:
                news, changed = self._news, self._changed
                self._changed = set()
                await self._bring_about(tasks, changed)
                await news.wait()

    async def _watch(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with self._ctx.services.need(EVENTS).subscribe() as feed:
            task_status.started()
            async for numbered in feed:
                if changed := self._concerned(numbered.event):
                    self._changed |= changed
                    self._wake_up()

    async def _look_for_late_ones(self) -> None:
        """Notice the channels of plugins that are loaded while the home opens, of which nothing is announced."""
        seen: tuple[Added, ...] | None = None
        with anyio.move_on_after(LATE_SECONDS):
            while True:
                await anyio.sleep(LATE_LOOK_SECONDS)
                if (now := self._added()) != seen:
                    seen = now
                    self._wake_up()

    def _wake_up(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    def _concerned(self, event: Event) -> set[str]:
        """Return the plugins whose channels an event has start anew: one that changed, or whose secret did."""
        if isinstance(event, PluginChanged):
            return {event.name}
        secret = event.secret if isinstance(event, SettingChanged) else ""
        manifests = self._ctx.services.need(HOME).manifests() if secret else ()
        return {one.name for one in manifests if one.channels and secret in {each.name for each in one.secrets}}

    async def _composed(self) -> None:
        """Wait until the home knows what its plugins add: this one's own methods are then among it."""
        home = self._ctx.services.need(HOME)
        # Nothing is announced when a home has been composed, which takes a fraction of a second, once.
        while "pairing.list" not in home.methods():  # noqa: ASYNC110  # there is no event to wait for
            await anyio.sleep(COMPOSING_SECONDS)

    async def _bring_about(self, tasks: anyio.abc.TaskGroup, changed: set[str]) -> None:
        """Start what was added and stop what is gone. A plugin that changed has its channels started anew."""
        wanted: dict[str, Added] = {}
        for added in self._added():
            first = wanted.setdefault(added.name, added)
            if first is not added and (added.plugin, added.name) not in self._doubled:
                self._doubled.add((added.plugin, added.name))
                self._ctx.logger.error(
                    "The channel %s of %s is not run: %s has one of that name", added.name, added.plugin, first.plugin
                )
        for name, running in list(self._running.items()):
            if name not in wanted or wanted[name].plugin != running.added.plugin or running.added.plugin in changed:
                await self._stop(running)
        for name, (plugin, _) in list(self._failed.items()):
            if name not in wanted or plugin in changed or wanted[name].plugin != plugin:
                del self._failed[name]
        for name, added in wanted.items():
            if name not in self._running and name not in self._failed:
                self._start(tasks, added)

    def _start(self, tasks: anyio.abc.TaskGroup, added: Added) -> None:
        from .courier import Courier
        from .follower import Follower
        from .inbound import Host
        from .prompts import Prompts

        if not self._follows:
            self._follows = True
            tasks.start_soon(Follower(self._ctx, self._chats, self).run)
        prompts = Prompts(self._ctx)
        parts = {"pairing": self.pairing, "chats": self._chats, "prompts": prompts, "outbox": self._outbox}
        host = Host(self._ctx, added.name, wake=self.wake, **parts)  # type: ignore[arg-type]  # each by its own name
        running = Running(added, host, Courier(self._ctx, added.item, self._outbox, prompts))
        self._running[added.name] = running
        tasks.start_soon(self._run_one, running)

    async def _run_one(self, running: Running) -> None:
        name, error = running.added.name, None
        try:
            with running.scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(running.courier.run)
                    error = await attempt(running.channel.run, running.host)
                    group.cancel_scope.cancel()
        finally:
            running.ended.set()
            if self._running.get(name) is running:
                del self._running[name]
        if running.scope.cancelled_caught:
            return
        why = running.host.reason or (sentence(error) if error is not None else ENDED)
        self._failed[name] = running.added.plugin, why
        self._ctx.logger.error("A channel ended: %s", why, extra={"channel": name, "plugin": running.added.plugin})
        said = f"The channel {name} ended and is not started again by itself: {why}"
        await attempt(self._ctx.services.need(EVENTS).announce, Noticed(text=said))

    async def _stop(self, running: Running) -> None:
        running.scope.cancel()
        with anyio.move_on_after(STOP_SECONDS):
            await running.ended.wait()
        self._running.pop(running.added.name, None)

    def _added(self) -> tuple[Added, ...]:
        return self._ctx.services.need(HOME).added("atlas_channels")

    # --- what the others say ------------------------------------------------------------------

    def wake(self, channel: str) -> None:
        """Something waits for a channel."""
        if (running := self._running.get(channel)) is not None:
            running.courier.wake()

    def working(self, channel: str, chat: str, busy: bool) -> None:
        """A turn began or ended in a chat."""
        if (running := self._running.get(channel)) is not None:
            running.courier.working(chat, busy)

    def limit_chars(self, channel: str) -> int:
        """How long a message of a channel may be."""
        from .splitting import LEAST_CHARS

        item = next((added.item for added in self._added() if added.name == channel), None)
        limit = limit_of(item) if item is not None else None
        return max(LEAST_CHARS, limit) if limit is not None else LIMIT_CHARS

    def _forgotten(self, channel: str, chat: str) -> None:
        self.working(channel, chat, False)

    async def check(self) -> Finding:
        """Say which channels do not run, and what could not be delivered."""
        said = [f"{row.name}: {row.why}" for row in await self.list() if row.state == "failed"]
        for channel, count in sorted((await self._outbox.failures()).items()):
            said.append(f"{channel}: {counted(count, 'message')} could not be delivered.")
        return Finding("warning", " ".join(said)) if said else Finding("ok", "Every channel that is on runs.")


def own(ctx: PluginContext) -> Channels | None:
    """Return the service, or None where the settings chose another plugin's."""
    found = ctx.services.get(CHANNELS)
    return found if isinstance(found, Channels) else None
