"""Generations: what the plugins that are on add together, as one immutable whole a turn can hold on to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from atlas_sdk.commands import SlashCommand
from atlas_sdk.errors import MisuseError
from atlas_sdk.hooks import ModelInterceptor, Observer, ToolInterceptor, TurnInterceptor
from atlas_sdk.instructions import Section
from atlas_sdk.methods import Method
from atlas_sdk.providers import Provider
from atlas_sdk.services.home import CONSUMED_BY_PLUGINS, Added
from atlas_sdk.tools import Tool

from .guard import PluginFailed
from .plugins import Manager, Plugin

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class OwnedTool:
    """A tool and the plugin that brought it."""

    tool: Tool
    plugin: str


@dataclass(frozen=True)
class Runtime:
    """One generation. Nothing in it changes; a turn that holds it finishes on it."""

    number: int
    tools: dict[str, OwnedTool] = field(default_factory=dict)
    around_turn: tuple[TurnInterceptor, ...] = ()
    around_model: tuple[ModelInterceptor, ...] = ()
    around_tool: tuple[ToolInterceptor, ...] = ()
    observers: tuple[tuple[str, Observer], ...] = ()
    providers: dict[str, Provider] = field(default_factory=dict)
    sections: tuple[tuple[str, Section], ...] = ()
    methods: dict[str, Method] = field(default_factory=dict)
    commands: dict[str, SlashCommand] = field(default_factory=dict)


def build(number: int, manager: Manager) -> Runtime:
    """Ask every plugin that is on what it adds. Raises PluginFailed for the plugin whose answer will not do."""
    manager.added = {}  # first, since what plugins add for others shapes the tools and commands of those
    for hook in CONSUMED_BY_PLUGINS:
        kind = hook.removeprefix("atlas_")
        for plugin, item in manager.contributions(hook):
            name = str(getattr(item, "kind" if kind == "readers" else "name", item))
            if kind in ("channels", "executors", "readers", "calls"):
                _declared(plugin, kind, name)
            manager.added[hook] = (*manager.added.get(hook, ()), Added(plugin.manifest.name, name, item))
    tools: dict[str, OwnedTool] = {}
    for plugin, tool in manager.contributions("atlas_tools"):
        _declared(plugin, "tools", tool.name)
        if not _TOOL_NAME.fullmatch(tool.name):
            raise _bad(plugin, f"the tool name {tool.name!r} has characters that models do not take")
        if tool.name in tools:
            raise _bad(plugin, f"the tool {tool.name} belongs to {tools[tool.name].plugin} already")
        tools[tool.name] = OwnedTool(tool, plugin.manifest.name)
    providers: dict[str, Provider] = {}
    for plugin, provider in manager.contributions("atlas_providers"):
        _declared(plugin, "providers", provider.id)
        if provider.id in providers:
            raise _bad(plugin, f"there is a model provider {provider.id} already")
        providers[provider.id] = provider
    methods: dict[str, Method] = {}
    for plugin, method in manager.contributions("atlas_methods"):
        if plugin.manifest.source != "bundled":
            _declared(plugin, "methods", method.name)
        if method.name in methods:
            raise _bad(plugin, f"there is a method {method.name} already")
        methods[method.name] = method
    commands: dict[str, SlashCommand] = {}
    for plugin, command in manager.contributions("atlas_commands"):
        name = command.name if plugin.manifest.source == "bundled" else f"{plugin.manifest.name}:{command.name}"
        commands.setdefault(name, command)
    manager.added["atlas_commands"] = tuple(Added("", name, command) for name, command in commands.items())
    hooks = manager.contributions("atlas_hooks")
    sections = manager.contributions("atlas_instructions")
    return Runtime(
        number=number,
        tools=tools,
        around_turn=tuple(_staged(hooks, TurnInterceptor)),
        around_model=tuple(_staged(hooks, ModelInterceptor)),
        around_tool=tuple(_staged(hooks, ToolInterceptor)),
        observers=tuple((plugin.manifest.name, hook) for plugin, hook in hooks if isinstance(hook, Observer)),
        providers=dict(sorted(providers.items(), key=lambda item: (item[1].order, item[0]))),
        sections=tuple(
            (plugin.manifest.name, section)
            for plugin, section in sorted(sections, key=lambda pair: (pair[1].order, pair[1].name))
        ),
        methods=methods,
        commands=commands,
    )


def _staged(hooks: list[tuple[Plugin, Any]], kind: type[Any]) -> list[Any]:
    return [hook for _, hook in sorted(hooks, key=lambda pair: getattr(pair[1], "stage", 0)) if isinstance(hook, kind)]


def _declared(plugin: Plugin, what: str, name: str) -> None:
    named = getattr(plugin.manifest, what)
    if name not in named and "*" not in named:
        raise _bad(plugin, f"its manifest does not name {name!r} among its {what}")


def _bad(plugin: Plugin, why: str) -> PluginFailed:
    return PluginFailed(plugin.manifest.name, "being turned on", MisuseError(f"{why}."))


class Generations:
    """The runtime of the moment, and those that running turns still hold."""

    def __init__(self) -> None:
        self.current = Runtime(0)
        self._holders: dict[int, int] = {}
        self._changed = anyio.Event()

    @contextmanager
    def hold(self) -> Iterator[Runtime]:
        """Hold the runtime of the moment for the length of a turn."""
        runtime = self.current
        self._holders[runtime.number] = self._holders.get(runtime.number, 0) + 1
        try:
            yield runtime
        finally:
            self._holders[runtime.number] -= 1
            if not self._holders[runtime.number]:
                del self._holders[runtime.number]
                self._changed.set()
                self._changed = anyio.Event()

    def replace(self, runtime: Runtime) -> None:
        """Let new turns begin on this one."""
        self.current = runtime

    async def released(self, number: int) -> None:
        """Return once no turn holds a generation up to ``number``."""
        while any(held <= number for held in self._holders):
            await self._changed.wait()
