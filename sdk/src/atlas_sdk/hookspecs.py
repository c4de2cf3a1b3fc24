"""The hooks: where everybody may add. One manager a home calls them, one implementation at a time.

Rules that hold for all: an implementation is a plain function (never ``async``), takes ``ctx`` or nothing,
returns a list, does no I/O, and may be called again whenever plugins are turned on or off. When it raises, its
plugin is turned off and named, and no other is affected. Since api 1 unless said otherwise.

Of a plugin that did not come with Atlas it is called in a thread, and waited for a little: while the plugin is turned
on five seconds for all hooks, three for one that everybody waits for; later a quarter of a second, after which its last
answer counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from .agents import AgentDefinition
    from .channels import Channel
    from .checks import Check
    from .commands import SlashCommand
    from .context import PluginContext
    from .executors import Executor
    from .hooks import Hook
    from .instructions import Section
    from .mcp import McpServer
    from .memory import Forgetter, MemorySystem
    from .methods import Method
    from .monitors import Monitor
    from .providers import Provider
    from .readers import Reader
    from .schema import Schema
    from .screens import Call, Screen
    from .services import Provided
    from .settings import SettingsSection
    from .skills import SkillSource
    from .tools import Tool

hookspec = pluggy.HookspecMarker("atlas")
hookimpl = pluggy.HookimplMarker("atlas")


# --- What the tagline promises -------------------------------------------------------------------


@hookspec
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    """Add tools the model may call.

    Called when a generation of plugins is built. Return the tools; an empty list means none. Answers are
    joined; a name two plugins claim stays with the first by plugin name, and the second plugin is turned off.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_tools(ctx):
            return [Tool("say_hello", "Say hello.", SCHEMA, hello, read_only=True)]
    """
    raise NotImplementedError


@hookspec
def atlas_channels(ctx: PluginContext) -> list[Channel]:
    """Add chat channels, such as Telegram.

    Called when a generation is built; the plugin that consumes channels runs them. Answers are joined.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_channels(ctx):
            return [Postcards(ctx)]
    """
    raise NotImplementedError


@hookspec
def atlas_executors(ctx: PluginContext) -> list[Executor]:
    """Add coding agents that run beside Atlas.

    Called when a generation is built; the workbench plugin starts them. Answers are joined.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_executors(ctx):
            return [MyAgent(ctx)]
    """
    raise NotImplementedError


@hookspec
def atlas_readers(ctx: PluginContext) -> list[Reader]:
    """Add readers that turn an attachment into text.

    Called when a generation is built; the attachments plugin asks the first reader that takes the file.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_readers(ctx):
            return [AudioReader(ctx)]
    """
    raise NotImplementedError


@hookspec
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    """Add interceptors (around a turn, a model call, a tool call) and observers of events.

    Called when a generation is built. Interceptors compose by stage, then plugin name. An interceptor that
    raises fails what it stands around; an observer that raises is logged.

        @hookimpl
        def atlas_hooks(ctx):
            return [Retry(ctx)]
    """
    raise NotImplementedError


@hookspec
def atlas_screens(ctx: PluginContext) -> list[Screen]:
    """Add screens of the app: folders of plain JavaScript.

    Called when a generation is built; the gateway serves them. Answers are joined.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_screens(ctx):
            return [Screen("notes", ctx.folder / "desktop")]
    """
    raise NotImplementedError


# --- The model -----------------------------------------------------------------------------------


@hookspec
def atlas_providers(ctx: PluginContext) -> list[Provider]:
    """Add model providers.

    Called when a generation is built. Answers are joined by ``id``; a second claim of an id turns its plugin off.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_providers(ctx):
            return [MyProvider(ctx)]
    """
    raise NotImplementedError


@hookspec
def atlas_instructions(ctx: PluginContext) -> list[Section]:
    """Add sections of the system prompt.

    Called when a generation is built; each section's text is asked for once, when a conversation begins, and
    then stands still with it. Sections are sorted by ``order``, then name. One that fails is left out and said.

        @hookimpl
        def atlas_instructions(ctx):
            return [Section(300, "units", lambda conversation: "Use metric units.")]
    """
    raise NotImplementedError


# --- Plumbing ------------------------------------------------------------------------------------


@hookspec
def atlas_services(ctx: PluginContext) -> list[Provided]:
    """Offer services: ``KEY.by(object)`` for each key the manifest's ``provides`` names.

    Called once when the plugin is turned on, before any other hook of it. One owner a key: with two, the
    settings choose, and a start without a choice is refused by name.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_services(ctx):
            return [VAULT.by(AgeVault(ctx))]
    """
    raise NotImplementedError


@hookspec
def atlas_settings(ctx: PluginContext) -> list[type[SettingsSection]]:
    """Add sections of ``config.toml``, each named in the manifest's ``sections``.

    Called when settings are read. A broken value stops Atlas with the key and what it takes.

        @hookimpl
        def atlas_settings(ctx):
            return [TrustSettings]
    """
    raise NotImplementedError


@hookspec
def atlas_schema(ctx: PluginContext) -> list[Schema]:
    """Add tables to the home's database. At most one Schema a plugin.

    Called when the plugin is turned on, before its services start. A migration that fails leaves the
    database as it was, and the plugin off.

        @hookimpl
        def atlas_schema(ctx):
            return [Schema((Migration(1, ("CREATE TABLE notes_note (id TEXT PRIMARY KEY)",)),))]
    """
    raise NotImplementedError


@hookspec
def atlas_methods(ctx: PluginContext) -> list[Method]:
    """Add JSON-RPC methods that clients may call. What did not come with Atlas names them under `methods`.

    Called when a generation is built. A name that is taken turns the second plugin off, and what came with Atlas goes
    first.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_methods(ctx):
            return [Method("note.list", Nothing, Notes, list_notes, "List the notes.")]
    """
    raise NotImplementedError


@hookspec
def atlas_commands(ctx: PluginContext) -> list[SlashCommand]:
    """Add slash commands of a conversation: ``/name`` for a bundled plugin, ``/plugin:name`` for others.

    Called when a generation is built. What came with Atlas keeps a name, then the first by plugin name.
    When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_commands(ctx):
            return [SlashCommand("status", "What is rendering.", status)]
    """
    raise NotImplementedError


# --- What other plugins use: kept by the kernel, and read there as ``HOME.added(hook)`` --------------


@hookspec
def atlas_skills(ctx: PluginContext) -> list[SkillSource]:
    """Add skills the model may load.

    Called when a generation is built; the skills plugin lists them and reads their text when they are used.
    Answers are
    joined. When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_skills(ctx):
            return [SkillSource("video:render", "Render a video.", ctx.folder / "skills/render/SKILL.md")]
    """
    raise NotImplementedError


@hookspec
def atlas_agents(ctx: PluginContext) -> list[AgentDefinition]:
    """Add predefined subagents that ``delegate`` offers.

    Called when a generation is built; the plugin that consumes agents runs them. Answers are
    joined. When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_agents(ctx):
            return [AgentDefinition("video:reviewer", "Reviews a cut.", "You review cuts.")]
    """
    raise NotImplementedError


@hookspec
def atlas_mcp_servers(ctx: PluginContext) -> list[McpServer]:
    """Add MCP servers, whose tools the model gets.

    Called when a generation is built; the mcp plugin connects one on first use. Answers are
    joined. When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_mcp_servers(ctx):
            return [McpServer("plugin_docs_docs", {"type": "http", "url": URL}, ctx.folder)]
    """
    raise NotImplementedError


@hookspec
def atlas_monitors(ctx: PluginContext) -> list[Monitor]:
    """Add commands that run in the background of each conversation.

    Called when a generation is built; the plugin that consumes monitors runs them. Answers are
    joined. When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_monitors(ctx):
            return [Monitor("deploys", "./watch.sh", "Deploys change.", ctx.folder)]
    """
    raise NotImplementedError


@hookspec
def atlas_paths(ctx: PluginContext) -> list[Path]:
    """Add folders of programs to the ``PATH`` of the commands the model runs.

    Called when a generation is built; the shell plugin reads them for each command. Answers are
    joined. When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_paths(ctx):
            return [ctx.folder / "bin"]
    """
    raise NotImplementedError


@hookspec
def atlas_calls(ctx: PluginContext) -> list[Call]:
    """Add functions that the plugin's own screen calls. The manifest names them under ``calls``.

    Called when a generation is built; the gateway answers ``plugin.call`` with them. Answers are
    joined. When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_calls(ctx):
            return [Call("renders", renders)]
    """
    raise NotImplementedError


@hookspec
def atlas_memories(ctx: PluginContext) -> list[MemorySystem]:
    """Add memory systems, one of which the home uses at a time.

    Called when a generation is built; the memory plugin puts the one that ``[memory] system`` names in the slot,
    and its plugin adds its tools only then (``MEMORY.system`` says which it is). Answers are
    joined. When it raises, its plugin is turned off and named, and nothing else is.

        @hookimpl
        def atlas_memories(ctx):
            return [Diary(ctx)]
    """
    raise NotImplementedError


@hookspec
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    """Add a place that ``atlas memory forget`` looks into: whatever else the plugin keeps of what was said.

    Called when a generation is built; the memory plugin asks each one. A memory system needs none: it is asked
    itself. Answers are joined. When it raises, its plugin is turned off and named, and nothing else is. What no
    plugin looks after is found and named, and not erased.

        @hookimpl
        def atlas_forgetters(ctx):
            return [Rows(ctx.services, "diary_day", "said", where="your diary", asked=False)]
    """
    raise NotImplementedError


@hookspec
def atlas_checks(ctx: PluginContext) -> list[Check]:
    """Add checks that ``atlas doctor`` runs.

    Called by ``doctor``. A check that raises or takes over ten seconds is reported as failed.
    Answers are joined.

        @hookimpl
        def atlas_checks(ctx):
            return [Check("vault.modes", "The vault is yours alone", modes)]
    """
    raise NotImplementedError


@hookspec
def atlas_startup(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    """Add async functions to await before the home opens: closing what a crash left open, above all.

    Called once when the plugin is turned on with the home. They run one after another, before any client is served;
    one that raises turns the plugin off. Answers are joined.

        @hookimpl
        def atlas_startup(ctx):
            return [lambda: close_left_open(ctx)]
    """
    raise NotImplementedError


@hookspec
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    """Add async functions that run in the plugin's own nursery while it is on.

    Called once when the plugin is turned on. They are cancelled when it is turned off; one that raises turns
    the plugin off, and one that returns is done.
    Answers are joined.

        @hookimpl
        def atlas_background(ctx):
            return [watch_folder]
    """
    raise NotImplementedError
