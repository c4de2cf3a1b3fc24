"""The method ``plugin.log``: what a plugin did, and the noting of what its tools did."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches

import anyio.to_thread
from pydantic import BaseModel, Field

from atlas_sdk.audit import Audit, when
from atlas_sdk.commands import CommandHost, SlashCommand
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import NotFoundError
from atlas_sdk.events import ToolFinished
from atlas_sdk.manifest_file import kebab
from atlas_sdk.messages import Frozen
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import Call, Effect
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE


class PluginLogQuery(Frozen):
    """A plugin, and how many entries of it."""

    name: str
    limit: int = Field(default=50, ge=1, le=1000)


class PluginLogEntry(Frozen):
    """One thing a plugin did: a ``tool``, ``hook``, ``command``, ``slash`` (a command you typed), ``monitor``, ``mcp``,
    ``secret`` or ``host``, or what a tool touched."""

    at: datetime
    kind: str
    what: str
    outcome: str = ""
    conversation: str = ""


class PluginLog(Frozen):
    """What a plugin did, the oldest first."""

    entries: tuple[PluginLogEntry, ...]


def log_method(ctx: PluginContext) -> Method:
    """Return the method."""

    async def log(params: PluginLogQuery, caller: Caller) -> BaseModel:
        names = {manifest.name for manifest in ctx.services.need(HOME).manifests()}
        # One that was removed left its log, which is asked for more than any other; a name is no path into the home.
        sound = bool(params.name) and kebab(params.name) == params.name
        audit = Audit(ctx.home, params.name, ctx.clock)
        lines = await anyio.to_thread.run_sync(audit.lines, params.limit) if sound else []
        if params.name not in names and not lines:
            near = get_close_matches(params.name, sorted(names), 1)
            hint = f"Did you mean {near[0]}?" if near else "atlas plugins list shows the plugins."
            raise NotFoundError(f"There is no plugin {params.name[:80]!r}.", hint=hint)
        entries = [
            PluginLogEntry(
                at=at,
                kind=str(line.get("kind", "")),
                what=str(line.get("what", "")),
                outcome=str(line.get("outcome", "")),
                conversation=str(line.get("conversation", "")),
            )
            for line in lines
            if (at := when(line)) is not None
        ]
        return PluginLog(entries=tuple(entries))

    return Method("plugin.log", PluginLogQuery, PluginLog, log, "Say what a plugin did: tools, hooks, secrets, hosts.")


async def note_call(ctx: PluginContext, event: ToolFinished) -> None:
    """Note a call that ended, with what it touched, where its tool is of a plugin that did not come with Atlas."""
    store = ctx.services.need(STORE)
    call = await store.get(Call, event.call)
    # Whose tool it was is what the kernel wrote down: a manifest may name any, and nothing has to be behind it.
    plugin = _owner(ctx, call) if call is not None else ""
    if not plugin:
        return
    audit = Audit(ctx.home, plugin, ctx.clock)
    conversation = event.conversation or ""
    audit.note("tool", event.tool, event.outcome, conversation=conversation)
    for effect in await store.find(Effect, call=event.call):
        audit.note(effect.kind, effect.target, effect.state, conversation=conversation)


def _owner(ctx: PluginContext, call: Call) -> str:
    """Return the plugin a call's tool is of, empty for Atlas's own; that of a plugin's MCP server is the plugin's."""
    strangers = {one.name: one.source != "bundled" for one in ctx.services.need(HOME).manifests()}
    if strangers.get(call.plugin, True):
        return call.plugin
    names = [name for name, is_one in strangers.items() if is_one and call.tool.startswith(f"mcp__plugin_{name}_")]
    return max(names, key=len, default="")


def noted_command(ctx: PluginContext, command: SlashCommand) -> SlashCommand:
    """Return a slash command that notes each time it is typed, and whether it answered."""

    async def run(arguments: str, host: CommandHost) -> str:
        outcome = "failed"
        try:
            said = await command.run(arguments, host)
            outcome = "ok"
        finally:
            what = f"/{ctx.name}:{command.name}"  # what was typed behind it is the user's, and is not noted
            Audit(ctx.home, ctx.name, ctx.clock).note("slash", what, outcome, conversation=host.conversation)
        return said

    return replace(command, run=run)
