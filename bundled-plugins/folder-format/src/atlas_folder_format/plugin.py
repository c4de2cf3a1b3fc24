"""A plugin folder as an object with hooks: what its files hold, and what its Python registers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from atlas_sdk import hookspecs
from atlas_sdk.agents import AgentDefinition
from atlas_sdk.context import PluginContext
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.mcp import McpServer
from atlas_sdk.monitors import Monitor
from atlas_sdk.screens import Screen
from atlas_sdk.skills import SkillSource

from .background import Background
from .contents import Contents
from .environment import places
from .hooks import HookCommands
from .mcp import mcp_server
from .prompts import slash_command
from .tool_names import to_atlas

_ALIASES = {"sonnet", "opus", "haiku", "inherit", "default", "opusplan", "best", "fable"}
"""Names of models that mean one of Claude Code's; such an agent runs on its parent's model."""


class _Folder:
    """What one folder adds. ``python`` is what its ``register`` made, None where it has no Python."""

    def __init__(self, ctx: PluginContext, contents: Contents, python: object | None) -> None:
        self._ctx = ctx
        self.contents = contents
        self._python = python
        self._later = Background(ctx)
        hooks = contents.parts.hooks
        config = contents.manifest.get("userConfig")
        self._commands_of_hooks = [HookCommands(ctx, hooks, config, self._later.later)] if hooks else []

    def own(self, hook: str) -> list[Any]:
        """Return what the files add by a hook."""
        made: Callable[[], list[Any]] | None = getattr(self, f"_{hook.removeprefix('atlas_')}", None)
        return made() if made is not None else []

    def of_python(self, hook: str) -> list[Any]:
        """Return what the Python adds by a hook."""
        function = getattr(self._python, hook, None)
        if function is None:
            return []
        return list(function(self._ctx) if "ctx" in inspect.signature(function).parameters else function())

    def _hooks(self) -> list[Any]:
        return self._commands_of_hooks

    def _background(self) -> list[Any]:
        return [self._later.serve] if any(hook.is_async for hook in self.contents.parts.hooks) else []

    def _named(self, name: str) -> str:
        return f"{self._ctx.name}:{name}"

    def _skills(self) -> list[SkillSource]:
        return [SkillSource(self._named(one.name), one.description, one.file) for one in self.contents.skills]

    def _commands(self) -> list[Any]:
        return [slash_command(self._ctx, written) for written in self.contents.commands]

    def _agents(self) -> list[AgentDefinition]:
        found = []
        for agent in self.contents.agents:
            tools, model = agent.document.names("tools"), agent.document.text("model").strip()
            found.append(
                AgentDefinition(
                    self._named(agent.name),
                    agent.description,
                    agent.document.body.strip(),
                    tools=None if tools is None or "*" in tools else to_atlas(tools),
                    model=model if "/" in model and model.lower() not in _ALIASES else "",
                )
            )
        return found

    def _mcp_servers(self) -> list[McpServer]:
        config = self.contents.manifest.get("userConfig")
        return [mcp_server(self._ctx, entry, config) for entry in self.contents.parts.mcp]

    def _monitors(self) -> list[Monitor]:
        folder = self._ctx.folder
        known = {name: value for name, value in places(self._ctx, folder).items() if name != "CLAUDE_PROJECT_DIR"}
        return [
            Monitor(entry.name, entry.command, entry.description, folder, entry.when, known)
            for entry in self.contents.parts.monitors
        ]

    def _paths(self) -> list[Any]:
        return [self._ctx.folder / "bin"] if self.contents.parts.programs else []

    def _screens(self) -> list[Screen]:
        place = self.contents.parts.screen
        atlas = self.contents.manifest.get("atlas")
        desktop = atlas.get("desktop") if isinstance(atlas, dict) else None
        names = tuple(str(name) for name in desktop) if isinstance(desktop, list | dict) else ()
        return [Screen(self._ctx.name, place, desktop=names)] if place else []


def _merged(name: str) -> Callable[..., list[Any]]:
    def implementation(self: _Folder, ctx: PluginContext) -> list[Any]:
        return [*self.own(name), *self.of_python(name)]

    implementation.__name__ = name
    return hookimpl(implementation)


# One method a hook, since a folder's Python may use any of them; a hook that comes later is there at once.
FolderPlugin = type(
    "FolderPlugin", (_Folder,), {name: _merged(name) for name in vars(hookspecs) if name.startswith("atlas_")}
)
