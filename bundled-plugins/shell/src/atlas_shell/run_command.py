"""The tool ``run_command``."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path
from typing import Any

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.services.home import HOME
from atlas_sdk.services.vault import VAULT
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost, ToolResult

from .background import COMMANDS
from .environment import environment
from .output import Kept, Lines
from .processes import ending, started
from .recordings import noted

TIMEOUT_SECONDS = 120
LONGEST_SECONDS = 600
_PROGRESS_SECONDS = 1.0
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string"},
        "cwd": {"type": "string"},
        "timeout": {
            "type": "integer",
            "minimum": 1,
            "maximum": LONGEST_SECONDS,
            "description": f"Seconds, default {TIMEOUT_SECONDS}",
        },
        "background": {"type": "boolean", "description": "Return at once; the output goes to a file"},
        "notify_on_complete": {"type": "boolean", "description": "With background: be told when it ends"},
        "stop": {"type": "string", "description": "Instead of command: id of a background command to end"},
    },
    "additionalProperties": False,
}
_LEFT = "It left processes running, and they were ended: use background for what should go on. "


def run_command(ctx: PluginContext) -> Tool:
    """Return the tool."""

    async def run(arguments: Arguments, host: ToolHost) -> ToolResult:
        command, stop = arguments.get("command", ""), arguments.get("stop", "")
        if bool(command.strip()) == bool(stop):
            raise ToolError("Not run: give either command, or stop with the id of a background command.")
        if "\0" in command:
            raise ToolError("Not run: the command has a zero byte in it.")
        if stop:
            return await _stop(ctx, stop)
        if arguments.get("background"):
            return await _start(ctx, command, host, notify=bool(arguments.get("notify_on_complete")))
        async with host.effect("process", command):
            return await _run(ctx, command, host, arguments.get("timeout", TIMEOUT_SECONDS))

    shell = "PowerShell" if sys.platform == "win32" else "bash"
    return Tool(
        "run_command",
        f"Run a {shell} command and get its output and exit code. It cannot ask: its input is closed.",
        PARAMETERS,
        run,
        failure_tolerant=True,
        command="command",
        folder="cwd",
    )


async def _run(ctx: PluginContext, command: str, host: ToolHost, timeout: float) -> ToolResult:
    lines, kept = Lines(), Kept()
    told_at = anyio.current_time()

    async def take(data: bytes) -> None:
        nonlocal told_at
        kept.add(lines.feed(data))
        if anyio.current_time() - told_at >= _PROGRESS_SECONDS:
            told_at = anyio.current_time()
            host.progress(kept.last_line())

    code: int | None = None
    note = ""
    mark = secrets.token_hex(8)
    variables = environment(os.environ, home=ctx.home, mark=mark, secrets=await _secrets(ctx), programs=_programs(ctx))
    # The host's folder is the one that ``cwd`` names, or the conversation's: the gate judged that one.
    with noted(ctx.home / "commands", mark):
        async with started(command, folder=host.folder, environment=variables, mark=mark) as running:
            with anyio.move_on_after(timeout):
                code = await running.read(take)
            if code is None:
                await running.end(take)
            elif await running.end_rest():
                note = _LEFT
    kept.add(lines.rest())
    text = kept.text()
    if text and not text.endswith("\n"):
        text += "\n"
    if code is None:
        text += f"[Stopped after {timeout:.0f} s, with all it had started: it took too long. "
        text += "Give it more time (timeout), or run it in the background.]"
    else:
        text += f"[{note}{ending(code)}]"
    return ToolResult.of(text, source="run_command", is_error=code != 0)


async def _start(ctx: PluginContext, command: str, host: ToolHost, *, notify: bool) -> ToolResult:
    hidden = await _secrets(ctx)
    async with host.effect("process", command):
        job = await ctx.services.need(COMMANDS).start(
            command,
            folder=host.folder,
            environment=lambda id: environment(
                os.environ, home=ctx.home, mark=id, secrets=hidden, programs=_programs(ctx)
            ),
            conversation=host.conversation,
            cause=host.call,
            notify=notify,
        )
    told = " You will be told when it ends." if notify else ""
    return ToolResult.of(
        f"Runs in the background as {job.id}. Its output: {job.recording.file} (the last line says how it ended)."
        f"{told} To end it: stop {job.id}.",
        source="run_command",
    )


async def _stop(ctx: PluginContext, id: str) -> ToolResult:
    job = await ctx.services.need(COMMANDS).stop(id)
    if not job.ended.is_set():
        raise ToolError(f"{id} did not end in time. Look at its processes with ps.")
    tail = job.recording.tail.text()
    return ToolResult.of(f"{job.how}: {job.command[:200]}\n{tail}[{job.recording.file}]", source="run_command")


async def _secrets(ctx: PluginContext) -> tuple[str, ...]:
    """Return the names of what the vault holds; with a broken vault the shapes of keys have to do."""
    vault = ctx.services.get(VAULT)
    if vault is None:
        return ()
    try:
        return tuple(entry.name for entry in await vault.entries())
    except AtlasError:
        return ()


def _programs(ctx: PluginContext) -> list[Path]:
    """Return the folders of programs that plugins add."""
    home = ctx.services.get(HOME)
    return [added.item for added in home.added("atlas_paths")] if home is not None else []
