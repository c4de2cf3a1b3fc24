"""A plugin folder as an object with hooks: what its files hold, and what its Python registers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from atlas_sdk import hookspecs
from atlas_sdk.agents import AgentDefinition
from atlas_sdk.claude_names import atlas_names
from atlas_sdk.commands import SlashCommand
from atlas_sdk.context import PluginContext
from atlas_sdk.hooks_apart import HooksApart
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.mcp import McpServer
from atlas_sdk.monitors import Monitor
from atlas_sdk.providers import Provider
from atlas_sdk.screens import Screen
from atlas_sdk.services.providers import PROVIDERS
from atlas_sdk.skills import SkillSource

from .background import Background
from .contents import Contents
from .environment import filled, places
from .history import noted_command
from .hooks import hook_commands
from .mcp import mcp_server
from .programs import placed
from .prompts import slash_command

HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("atlas_"))
_ALIASES = {"sonnet", "opus", "haiku", "inherit", "default", "opusplan", "best", "fable"}
"""Names of models that mean one of Claude Code's; such an agent runs on its parent's model."""


def folder_plugin(
    ctx: PluginContext, contents: Contents, python: object | None, *, handed: PluginContext | None = None
) -> object:
    """Return an object with a function for each hook by which the folder adds something.

    ``python`` is what the folder's ``register`` made, or a module of hooks; None where it has no Python. ``ctx`` is for
    what its files add, and ``handed``, where it is another, for its hooks. The object has nothing else: each attribute
    more is one that is looked at, for each plugin, whenever Atlas starts.
    """
    folder = _Folder(ctx, contents)
    plugin = ModuleType(ctx.name)
    written = _written(python) if python is not None else {}
    if isinstance(python, ModuleType):  # what register made gives lists, and runs nothing of the plugin's
        written = _apart(written, handed or ctx)
    for name in HOOKS:
        own = getattr(folder, name.removeprefix("atlas_"), None)
        its = written.pop(name, None)
        if its is not None and inspect.iscoroutinefunction(its):
            written[name] = its
        elif its is not None or (own is not None and own()):
            bound = None if its is None else _bound(its, handed or ctx)
            if bound is not None and name == "atlas_commands":
                bound = partial(_noted, ctx, bound)
            setattr(plugin, name, _merged(own, bound))
    for name, wrong in written.items():  # a hook that is misspelt or async: whoever registers it says so
        setattr(plugin, name, wrong)
    return plugin


def _apart(written: dict[str, Callable[..., Any]], ctx: PluginContext) -> dict[str, Callable[..., Any]]:
    """Return a plugin's own hooks so that none of them holds up Atlas; an async one, which is refused, stays."""
    hooks = HooksApart()
    plain = {one: its for one, its in written.items() if one in HOOKS and not inspect.iscoroutinefunction(its)}
    made: dict[str, Callable[..., Any]] = {one: partial(hooks.hook(one, its), ctx) for one, its in plain.items()}
    if hooks.are_asked_again and "atlas_startup" not in written:
        made["atlas_startup"] = lambda: [hooks.first(ctx)]
    return {**written, **made}


def _noted(ctx: PluginContext, its: Callable[[], Any]) -> Any:
    """Return the slash commands of the folder's Python, each of which notes that it ran."""
    commands = its()
    if not isinstance(commands, list | tuple):
        return commands
    return [noted_command(ctx, one) if isinstance(one, SlashCommand) else one for one in commands]


def _bound(its: Callable[..., Any], ctx: PluginContext) -> Callable[[], Any]:
    """Return a hook that takes nothing: the ``ctx`` that notes what it reads is in it."""
    return partial(its, ctx) if "ctx" in inspect.signature(its).parameters else its


def _written(python: object) -> dict[str, Callable[..., Any]]:
    """Return the hooks that a package's module implements, or what ``register`` made, by the name of the hook."""
    found: dict[str, Callable[..., Any]] = {name: getattr(python, name) for name in HOOKS if hasattr(python, name)}
    for name, member in inspect.getmembers(python, callable):
        options = getattr(member, "atlas_impl", None)
        if isinstance(options, dict):
            found[options.get("specname") or name] = member
    return found


def _merged(own: Callable[[], list[Any]] | None, its: Callable[[], Any] | None) -> Callable[..., Any]:
    def implementation(ctx: PluginContext) -> Any:
        added = list(own()) if own is not None else []
        if its is None:
            return added
        more = its()
        return [*added, *more] if isinstance(more, list | tuple) else more  # what is no list is refused by its name

    return hookimpl(implementation)


class _Folder:
    """What the files of one folder add, a method a hook."""

    def __init__(self, ctx: PluginContext, contents: Contents) -> None:
        self._ctx = ctx
        self._contents = contents
        self._later = Background(ctx)
        self._programs: Path | None = None
        self._providers: list[Provider] | None = None  # opened once: their connections outlive a generation
        hooks, config = contents.parts.hooks, contents.manifest.get("userConfig")
        self._hooks = [hook_commands(ctx, hooks, config, self._later.later)] if hooks else []

    def hooks(self) -> list[Any]:
        return list(self._hooks)

    def background(self) -> list[Any]:
        return [self._later.serve] if self._hooks else []

    def _named(self, name: str) -> str:
        return f"{self._ctx.name}:{name}"

    def skills(self) -> list[SkillSource]:
        return [SkillSource(self._named(one.name), one.description, one.file) for one in self._contents.skills]

    def commands(self) -> list[Any]:
        return [noted_command(self._ctx, slash_command(self._ctx, one)) for one in self._contents.commands]

    def agents(self) -> list[AgentDefinition]:
        found = []
        known = {"CLAUDE_PLUGIN_ROOT": str(self._ctx.folder)}
        for agent in self._contents.agents:
            tools, model = agent.document.names("tools"), agent.document.text("model").strip()
            found.append(
                AgentDefinition(
                    self._named(agent.name),
                    agent.description,
                    filled(agent.document.body.strip(), known),
                    tools=None if tools is None or "*" in tools else atlas_names(tools),
                    model=model if "/" in model and model.lower() not in _ALIASES else "",
                )
            )
        return found

    def mcp_servers(self) -> list[McpServer]:
        config = self._contents.manifest.get("userConfig")
        return [mcp_server(self._ctx, entry, config) for entry in self._contents.parts.mcp]

    def monitors(self) -> list[Monitor]:
        folder = self._ctx.folder
        known = {name: value for name, value in places(self._ctx, folder).items() if name != "CLAUDE_PROJECT_DIR"}
        return [
            Monitor(entry.name, entry.command, entry.description, folder, entry.when, known)
            for entry in self._contents.parts.monitors
        ]

    def paths(self) -> list[Any]:
        if self._contents.parts.programs and self._programs is None:  # once: a generation is built more often
            place = self._ctx.home / "cache" / "programs" / self._ctx.name
            self._programs = placed(self._ctx.folder, self._contents.parts.programs, place)
        return [self._programs] if self._programs is not None else []

    def providers(self) -> list[Provider]:
        if self._providers is None:
            atlas = self._contents.manifest.get("atlas")
            described = atlas.get("providers") if isinstance(atlas, dict) else None
            entries = described if isinstance(described, dict) else {}
            self._providers = [
                self._ctx.services.need(PROVIDERS).open(id, entry, self._ctx) for id, entry in entries.items()
            ]
        return self._providers

    def screens(self) -> list[Screen]:
        place = self._contents.parts.screen
        atlas = self._contents.manifest.get("atlas")
        desktop = atlas.get("desktop") if isinstance(atlas, dict) else None
        names = tuple(str(name) for name in desktop) if isinstance(desktop, list | dict) else ()
        return [Screen(self._ctx.name, place, desktop=names)] if place else []
