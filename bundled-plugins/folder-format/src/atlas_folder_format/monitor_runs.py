"""Monitors at work: a command for each conversation, whose lines reach it as notices."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import anyio
import anyio.abc
from anyio.abc import Process

from atlas_sdk.audit import Audit
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import ConversationChanged, Event, PluginChanged, ToolCalled, TurnStarted
from atlas_sdk.monitors import Monitor
from atlas_sdk.process_trees import end_tree, start
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.home import HOME
from atlas_sdk.services.notify import NOTIFY

from .environment import base, new_mark
from .process import close, shell_line

GATHER_SECONDS = 1.0
MOST_CHARS = 8_000
"""How much one notice says: a turn that reads more than this costs more than it is worth."""
ALWAYS = "always"
ON_SKILL = "on-skill-invoke:"


class MonitorRuns:
    """Starts monitors and ends them. Each runs once a conversation, for as long as that and its plugin last."""

    def __init__(self, ctx: PluginContext, group: anyio.abc.TaskGroup) -> None:
        self._ctx = ctx
        self._group = group
        self._runs: dict[tuple[str, str, str], anyio.CancelScope] = {}

    async def see(self, event: Event) -> None:
        """Look at an event: a turn starts monitors, a skill those that wait for it; a change ends them."""
        if isinstance(event, TurnStarted) and event.conversation:
            await self._start(event.conversation, ALWAYS)
            await self._said(event)
        elif isinstance(event, ToolCalled) and event.tool == "use_skill" and isinstance(event.arguments, dict):
            if event.conversation and isinstance(
                name := event.arguments.get("name", event.arguments.get("skill")), str
            ):
                await self._start(event.conversation, f"{ON_SKILL}{name}")
        elif isinstance(event, PluginChanged):
            self._end(lambda plugin, conversation: plugin == event.name)
        elif isinstance(event, ConversationChanged) and event.state.archived:
            self._end(lambda plugin, conversation: conversation == event.state.id)

    async def _said(self, event: TurnStarted) -> None:
        """Start what waits for a skill that was typed as a command."""
        if not any(monitor.when.startswith(ON_SKILL) for _, monitor in self._monitors()):
            return
        path = await self._ctx.services.need(CONVERSATIONS).path(event.conversation or "", limit=1)
        text = path[-1].text().strip() if path else ""
        for line in text.splitlines():
            if line.startswith("/"):
                await self._start(event.conversation or "", f"{ON_SKILL}{line[1:].partition(' ')[0]}")

    def _monitors(self) -> Iterator[tuple[str, Monitor]]:
        for added in self._ctx.services.need(HOME).added("atlas_monitors"):
            if isinstance(added.item, Monitor):
                yield added.plugin, added.item

    async def _start(self, conversation: str, when: str) -> None:
        wanted = [(plugin, monitor) for plugin, monitor in self._monitors() if _is_time(monitor.when, when, plugin)]
        if not wanted or not (await self._ctx.services.need(CONVERSATIONS).get(conversation)).attended:
            return  # in a run that nobody watches nobody would read what a monitor sees
        for plugin, monitor in wanted:
            key = (plugin, conversation, monitor.name)
            if key not in self._runs:
                self._runs[key] = anyio.CancelScope()
                self._group.start_soon(self._run, key, monitor)

    def _end(self, is_meant: Callable[[str, str], bool]) -> None:
        for (plugin, conversation, _), scope in list(self._runs.items()):
            if is_meant(plugin, conversation):
                scope.cancel()

    async def _run(self, key: tuple[str, str, str], monitor: Monitor) -> None:
        plugin, conversation, name = key
        mark = new_mark()
        with self._runs[key]:
            try:
                process = await start(
                    shell_line(monitor.command, ""),
                    mark=mark,
                    folder=monitor.folder,
                    environment={**base(os.environ), **monitor.environment},
                )
            except OSError as error:
                self._ctx.logger.warning("The monitor %s of %s could not be started: %s", name, plugin, error)
                return
            note = partial(Audit(self._ctx.home, plugin, self._ctx.clock).note, "monitor", f"{name}: {monitor.command}")
            note("started", conversation=conversation)
            try:
                await self._listen(process, plugin, conversation, monitor)
                self._ctx.logger.info("The monitor %s of %s ended", name, plugin)
            except AtlasError as error:
                self._ctx.logger.warning("The monitor %s of %s was ended: %s", name, plugin, error)
            finally:
                await end_tree(process.pid, mark)
                await close(process)
                note("ended", conversation=conversation)
        if self._runs.get(key) and self._runs[key].cancel_called:
            del self._runs[key]  # it may start again; one that ended by itself has had its say

    async def _listen(self, process: Process, plugin: str, conversation: str, monitor: Monitor) -> None:
        """Bring what a monitor prints to the conversation: the lines of a second are one notice."""
        lines = bytearray()
        news = anyio.Event()
        done = anyio.Event()

        async def read() -> None:
            nonlocal news
            assert process.stdout is not None
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async for chunk in process.stdout:
                    lines.extend(chunk[: max(0, MOST_CHARS - len(lines))])
                    news.set()
            done.set()
            news.set()

        async def drain() -> None:
            assert process.stderr is not None
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async for _ in process.stderr:
                    pass

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(drain)
            while not (done.is_set() and not lines):
                await news.wait()
                news = anyio.Event()
                if not done.is_set():
                    with anyio.move_on_after(GATHER_SECONDS):
                        await done.wait()
                text = bytes(lines).decode("utf-8", "replace").strip()
                lines.clear()
                if text:
                    said = f"[The monitor {monitor.name} of {plugin}: {monitor.description}]\n{text}"
                    await self._ctx.services.need(NOTIFY).notify(conversation, said, source=f"plugin:{plugin}")
                if done.is_set() and not lines:
                    break
            group.cancel_scope.cancel()


def _is_time(wanted: str, now: str, plugin: str) -> bool:
    if now == ALWAYS or wanted == ALWAYS:
        return wanted == now
    return wanted == now or f"{ON_SKILL}{plugin}:{wanted.removeprefix(ON_SKILL)}" == now
