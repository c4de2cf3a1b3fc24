"""The tools and slash commands that are made of what servers offer."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from atlas_sdk.commands import CommandHost, SlashCommand
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost, ToolResult

from .call import asked, call
from .config import ServerConfig
from .listing import ListedPrompt, ListedTool
from .naming import fitting
from .results import Results
from .servers import Servers

DESCRIPTION_CHARS = 2_048
"""As Claude Code cuts them (2026-11): a longer one is a manual, and is paid for with every request."""
_LISTED = 200
RESOURCES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "server": {"type": "string", "description": "Only this server; needed to read"},
        "uri": {"type": "string", "description": "Read this one, instead of listing what there is"},
    },
    "additionalProperties": False,
}


def tools(ctx: PluginContext, servers: Servers) -> list[Tool]:
    """Return the tools of every server whose tools are known, by name."""
    made: dict[str, Tool] = {}
    for config, listing in servers.offers():
        for listed in listing.tools:
            name = fitting(config.name, listed.name, taken=made)
            if name not in made:
                made[name] = _tool(ctx, servers, config, listed, name)
    if any(listing.has_resources for _, listing in servers.offers()):
        made["mcp_resources"] = resources(ctx, servers)
    return [made[name] for name in sorted(made)]


def commands(servers: Servers) -> list[SlashCommand]:
    """Return ``/mcp__server__prompt`` for every prompt of a server the user trusts."""
    made: dict[str, SlashCommand] = {}
    for config, listing in servers.offers():
        for prompt in listing.prompts if not config.untrusted else ():
            name = fitting(config.name, prompt.name, taken=made)
            made.setdefault(name, _command(servers, config.name, prompt, name))
    return [made[name] for name in sorted(made)]


def _tool(ctx: PluginContext, servers: Servers, config: ServerConfig, listed: ListedTool, name: str) -> Tool:
    server, remote, read_only = config.name, listed.name, listed.read_only

    async def run(arguments: Arguments, host: ToolHost) -> ToolResult:
        try:
            found = servers.server(server)
        except AtlasError as error:
            raise ToolError(f"Not done: {error}") from error
        if read_only:
            answer = await call(found, remote, arguments, host)
        else:
            async with host.effect("host", f"mcp {server}: {remote}"):
                answer = await call(found, remote, arguments, host)
        return await Results(ctx, server, host).of_call(answer)

    return Tool(
        name,
        listed.description[:DESCRIPTION_CHARS] or f"{remote} of the MCP server {server}.",
        _schema(listed.parameters),
        run,
        read_only=read_only,
        deferred=not config.always_load,
        untrusted=config.untrusted,
        source=server,
    )


def _schema(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's schema in the one shape that every provider takes: an object with properties."""
    return {**given, "type": "object", "properties": given.get("properties") or {}}


def resources(ctx: PluginContext, servers: Servers) -> Tool:
    """Return the tool that lists and reads resources."""

    async def run(arguments: Arguments, host: ToolHost) -> ToolResult:
        offering = [config.name for config, listing in servers.offers() if listing.has_resources]
        server, uri = str(arguments.get("server", "")), str(arguments.get("uri", ""))
        if server and server not in offering:
            raise ToolError(
                f"The MCP server {server[:80]!r} offers no resources. Those that do: {', '.join(offering)}."
            )
        if not uri:
            lines = [await _listed(servers, name, host) for name in ([server] if server else offering)]
            return ToolResult.of("\n\n".join(lines), source="mcp_resources")
        if not server and len(offering) > 1:
            raise ToolError(f"Not read: say which server has it, of {', '.join(offering)}.")
        found = servers.server(server or offering[0])
        answer = await asked(found, f"Reading {uri[:200]}", host, lambda client: client.read_resource(uri))
        return await Results(ctx, found.config.name, host).of_contents(list(answer.contents))

    return Tool(
        "mcp_resources",
        "List the resources MCP servers offer (files, records, pages), or read one by its server and uri.",
        RESOURCES,
        run,
        read_only=True,
        deferred=True,
        source="mcp",
    )


async def _listed(servers: Servers, name: str, host: ToolHost) -> str:
    server = servers.server(name)
    try:
        found = await asked(server, "Listing", host, lambda client: client.list_resources())
        shapes = await asked(server, "Listing", host, lambda client: client.list_resource_templates())
    except ToolError as error:
        return f"{name}: {error}"
    lines = [
        f"- {one.uri} {one.name}: {one.description or one.mime_type or ''}".rstrip(": ") for one in found.resources
    ]
    lines += [
        f"- {one.uri_template} (fill it in) {one.name}: {one.description or ''}".rstrip(": ")
        for one in shapes.resource_templates
    ]
    more = [f"- and {len(lines) - _LISTED} more"] if len(lines) > _LISTED or found.next_cursor else []
    return "\n".join([f"{name}:", *lines[:_LISTED], *more])


def _command(servers: Servers, server: str, prompt: ListedPrompt, name: str) -> SlashCommand:
    hint = " ".join(one.name if one.required else f"[{one.name}]" for one in prompt.arguments)

    async def run(text: str, host: CommandHost) -> str:
        given = prompt_arguments(prompt, text)
        found = servers.server(server)
        client = await found.connected()
        try:
            answer = await client.get_prompt(prompt.name, given)
        except Exception as error:  # what a server answers is checked by others' code
            raise found.failure(f"The prompt {prompt.name} of {server}", error) from error
        said = [(message.role, _said(message.content)) for message in answer.messages]
        if all(role == "user" for role, _ in said):
            return "\n\n".join(text for _, text in said)
        return "\n\n".join(f"{role}: {text}" for role, text in said)

    return SlashCommand(name, prompt.description, run, hint=hint, prompts=True)


def prompt_arguments(prompt: ListedPrompt, text: str) -> dict[str, str]:
    """Return a prompt's arguments from what was typed: ``name=value``, else by their place; the last takes the rest.

    Raises MisuseError for one that lacks.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    names = [one.name for one in prompt.arguments]
    given: dict[str, str] = {}
    for word in list(words):
        name, equals, value = word.partition("=")
        if equals and name in names:
            given[name] = value
            words.remove(word)
    free = [name for name in names if name not in given]
    if len(words) > len(free) > 0:
        words[len(free) - 1 :] = [" ".join(words[len(free) - 1 :])]
    given.update(zip(free, words, strict=False))
    lacking = [one.name for one in prompt.arguments if one.required and one.name not in given]
    if lacking:
        raise MisuseError(f"The prompt {prompt.name} needs {', '.join(lacking)}.", hint="Write it after its name.")
    return given


def _said(content: Any) -> str:
    if content.type == "text":
        return str(content.text)
    if content.type == "resource":
        text = getattr(content.resource, "text", None)
        return f"[{content.resource.uri}]\n{text}" if text is not None else f"[{content.resource.uri}]"
    return re.sub(r"\s+", " ", f"[{content.type}]")
