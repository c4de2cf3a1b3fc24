"""The ``ctx`` of an author's ``register(ctx)``: what it may register, and what it may reach."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import anyio

from .audit import Audit
from .authored import (
    AuthorChannel,
    AuthorExecutor,
    RegisteredCall,
    RegisteredChannel,
    RegisteredExecutor,
    RegisteredReader,
    ThreadToolHost,
    called,
    is_async,
)
from .commands import CommandHost, SlashCommand
from .context import PluginContext
from .errors import AtlasError, MisuseError
from .hook_events import EventHook
from .http import http_client
from .manifest import Manifest
from .screens import Call
from .services.home import HOME
from .services.llm import LLM, LlmResult
from .services.notify import NOTIFY
from .tools import Tool, ToolHost, ToolResult
from .values import Json

if TYPE_CHECKING:
    import httpx2

ToolRun: TypeAlias = Callable[[dict[str, Any], ToolHost], Awaitable[ToolResult | str] | ToolResult | str]
HookFunction: TypeAlias = Callable[[dict[str, Any]], Awaitable[Json] | Json]
CommandRun: TypeAlias = Callable[[str, CommandHost], Awaitable[str] | str]
CliRun: TypeAlias = Callable[[list[str]], int | None]
CallRun: TypeAlias = Callable[[Any], Awaitable[Json] | Json]
ReaderRun: TypeAlias = Callable[[Path, str], Awaitable[str] | str]
Stop: TypeAlias = Callable[[], Awaitable[None] | None]

SECRET_SECONDS = 10.0
"""How long the vault may take to open a value; it takes some milliseconds."""
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class LlmError(AtlasError):
    """The user's model did not answer; the message says why."""


@dataclass(frozen=True)
class LlmMessage:
    """One message of a short exchange given to ``ctx.llm.complete`` in the place of one text."""

    role: Literal["user", "assistant"]
    text: str


class PluginLlm(Protocol):
    """``ctx.llm``: the model the user's conversations use when they pick none."""

    async def complete(
        self,
        prompt: str | Sequence[LlmMessage],
        *,
        system: str = "",
        max_tokens: int | None = None,
        json_schema: Json = None,
    ) -> LlmResult:
        """Ask once; each call costs the user's credit. Raises LlmError.

        With ``json_schema``, ``parsed`` holds the JSON, or None when the model gave none that fits.
        """


@dataclass(frozen=True)
class CliEntry:
    """A terminal command of a plugin: ``run`` gets the arguments as typed and returns the exit code."""

    name: str
    run: CliRun
    description: str


@dataclass
class Registrations:
    """What one ``register(ctx)`` registered."""

    tools: list[Tool] = field(default_factory=list)
    channels: list[RegisteredChannel] = field(default_factory=list)
    executors: list[RegisteredExecutor] = field(default_factory=list)
    readers: list[RegisteredReader] = field(default_factory=list)
    hooks: list[EventHook] = field(default_factory=list)
    commands: list[SlashCommand] = field(default_factory=list)
    cli: list[CliEntry] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """A sentence for each thing Atlas does not take from this plugin, since the name is its own."""
    stops: list[Stop] = field(default_factory=list)


class AuthorContext:
    """What ``register(ctx)`` is given. It registers while ``register`` runs; all else works for as long as it is on."""

    def __init__(self, ctx: PluginContext, manifest: Manifest) -> None:
        self._ctx = ctx
        self._manifest = manifest
        self._open = True
        self.registered = Registrations()
        self.llm: PluginLlm = _Llm(ctx, manifest)
        """The user's model. The manifest says ``"llm": true``."""

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self._ctx.name

    @property
    def data_folder(self) -> Path:
        """Where the plugin keeps its files. It exists, survives updates, and backups carry it."""
        return self._ctx.data_folder

    @property
    def logger(self) -> logging.Logger:
        """The plugin's log. Secrets are masked in it."""
        return self._ctx.logger

    def setting(self, name: str) -> Json:
        """Return a setting that the manifest declares: the user's value, or its default."""
        return self._ctx.setting(name)

    def secret(self, name: str) -> str | None:
        """Return a secret that the manifest declares, from the vault as it is now; None while the user stored none.

        It is opened in a thread of its own and waited for, so that it may be asked for anywhere, also where
        nothing can be awaited. Ask when you need it and keep it no longer.
        """
        found: list[str | None] = []
        failed: list[BaseException] = []

        def look() -> None:
            try:
                found.append(anyio.run(self._ctx.secret, name, backend="trio" if "trio" in sys.modules else "asyncio"))
            except Exception as error:  # noqa: BLE001  # it is raised again below, in the caller's thread
                failed.append(error)

        looking = threading.Thread(target=look, name=f"secret of {self.name}", daemon=True)
        looking.start()
        looking.join(SECRET_SECONDS)
        if failed:
            raise failed[0]
        if not found:
            raise AtlasError(f"The vault did not answer in {SECRET_SECONDS:.0f} seconds.", hint="Ask it again.")
        return found[0]

    def on_unload(self, stop: Stop) -> None:
        """Have ``stop``, plain or async, run when the plugin is turned off, loaded again, or Atlas closes."""
        if self._open:
            self.registered.stops.append(stop)
        else:
            self._ctx.on_unload(stop)

    def http(self, **options: Any) -> httpx2.AsyncClient:
        """Return a client of httpx for requests, with ``httpx2.AsyncClient``'s own options: ``async with ctx.http()``.

        Each host it asks is put into the plugin's log, which the user can read; one that ``network`` in the manifest
        does not name is marked there, and asked all the same.
        """
        return http_client(self._ctx, self._manifest, **options)

    async def notify(self, conversation: str, text: str) -> None:
        """Bring text to a conversation, where it starts a turn. The manifest says ``"notify": true``."""
        if not self._manifest.notify:
            raise MisuseError(
                f"The plugin {self.name} brings notices, and its manifest does not say so.",
                hint='Add "notify": true under "atlas" in .claude-plugin/plugin.json.',
            )
        await self._ctx.services.need(NOTIFY).notify(conversation, text, source=self.name)

    def register_tool(
        self, name: str, description: str, parameters: Json, run: ToolRun, *, read_only: bool = False
    ) -> None:
        """Add a tool. ``run(arguments, host)`` returns what the model reads; what it raises fails that call only.

        ``parameters`` is a JSON Schema of type object. ``read_only`` says that it changes nothing, so that it
        may run beside other read-only calls. A name of one of Atlas's tools is left out. A plain ``run`` runs in a
        thread, and of its host it uses ``progress``, ``folder`` and ``conversation``.
        """
        self._declared("tool", "tools", name, [tool.name for tool in self.registered.tools])
        if not _TOOL_NAME.fullmatch(name):
            raise MisuseError(f"The tool name {name!r} is none that models take.", hint="Use letters, digits and _.")
        if not description.strip():
            raise MisuseError(f"The tool {name} has no description.", hint="Say what it is for: the model reads it.")
        _check_schema(name, parameters)
        self._callable("tool", name, run)
        if owner := self._owner("tools", name):
            self._leave_out(f"The tool {name} is left out: Atlas has one of that name, from {owner}.")
            return

        async def answer(arguments: Mapping[str, Json], host: ToolHost) -> ToolResult | str:
            theirs = host if is_async(run) else ThreadToolHost(host)
            said = await called(run, dict(arguments), theirs)
            if not isinstance(said, str | ToolResult):
                raise MisuseError(f"The tool {name} returned {type(said).__name__}, and text is due.")
            return said

        self.registered.tools.append(
            Tool(name, description, parameters, answer, read_only=read_only, source=f"plugin:{self.name}")
        )

    def register_channel(self, name: str, make: Callable[[], AuthorChannel]) -> None:
        """Add a channel. ``make`` makes its object each time it starts."""
        self._declared("channel", "channels", name, [one.name for one in self.registered.channels])
        self._callable("channel", name, make)
        self.registered.channels.append(RegisteredChannel(name, make))

    def register_executor(self, name: str, make: Callable[[], AuthorExecutor]) -> None:
        """Add an executor. ``make`` makes its object, once."""
        self._declared("executor", "executors", name, [one.name for one in self.registered.executors])
        self._callable("executor", name, make)
        self.registered.executors.append(RegisteredExecutor(name, make))

    def register_reader(self, kind: str, run: ReaderRun) -> None:
        """Add a reader of a kind of attachment. ``run(path, media_type)`` returns the file's text."""
        self._declared("reader", "readers", kind, [one.kind for one in self.registered.readers])
        self._callable("reader", kind, run)
        self.registered.readers.append(RegisteredReader(kind, run))

    def register_hook(self, event: str, run: HookFunction, *, matcher: str = "") -> None:
        """Add a hook. ``run`` gets the JSON of Claude Code's event as a dict and returns its answer, or None.

        ``matcher`` is the tools it is for, by Atlas's name or Claude Code's. ``allow`` lowers no approval.
        One that raises, or takes over a minute, stops what it was asked about.
        """

        where = f"{event} ({matcher})" if matcher not in ("", "*") else event

        async def ask(told: dict[str, Json]) -> Json:
            outcome = "stopped"
            try:
                said = await called(run, told)
                outcome = "ran"
            except Exception as error:
                outcome = f"raised {type(error).__name__}"
                raise
            finally:
                Audit(self._ctx.home, self.name, self._ctx.clock).note(
                    "hook", where, outcome, conversation=str(told.get("session_id", ""))
                )
            return said

        hook = EventHook(event, ask, matcher)
        self._declared("hook on", "hooks", event, [])
        self._callable("hook", event, run)
        self.registered.hooks.append(hook)

    def register_command(self, name: str, run: CommandRun, description: str, *, hint: str = "") -> None:
        """Add the slash command ``/<plugin>:<name>``. What ``run(text, host)`` returns is the reply."""
        self._declared("command", "commands", name, [one.name for one in self.registered.commands])
        self._callable("command", name, run)

        async def reply(text: str, host: CommandHost) -> str:
            return str(await called(run, text, host))

        self.registered.commands.append(SlashCommand(name, description, reply, hint))

    def register_cli_command(self, name: str, run: CliRun, description: str) -> None:
        """Add the terminal command ``atlas <name>``. ``run(argv)`` writes to the terminal and returns the exit code."""
        declared = tuple(command.name for command in self._manifest.cli)
        self._declared("terminal command", "cli", name, [one.name for one in self.registered.cli], declared=declared)
        self._callable("terminal command", name, run)
        if owner := self._owner("cli", name):
            self._leave_out(f"The terminal command {name} is left out: Atlas has one of that name, from {owner}.")
            return
        self.registered.cli.append(CliEntry(name, run, description))

    def register_call(self, name: str, run: CallRun) -> None:
        """Add what the plugin's own screen reaches with ``ctx.call(name, params)``."""
        self._declared("call", "calls", name, [one.name for one in self.registered.calls])
        self._callable("call", name, run)
        self.registered.calls.append(Call(name, RegisteredCall(run)))

    def close(self) -> None:
        """Take no more registrations: ``register`` has returned."""
        self._open = False

    def _declared(
        self, what: str, field: str, name: str, before: Sequence[str], *, declared: tuple[str, ...] | None = None
    ) -> None:
        if not self._open:
            raise MisuseError(
                f"The {what} {name} comes too late: register(ctx) has returned.",
                hint="Register everything before it returns; the work itself may come later.",
            )
        named = getattr(self._manifest, field) if declared is None else declared
        if not isinstance(name, str) or (name not in named and "*" not in named):
            raise MisuseError(
                f"The plugin {self.name} registers the {what} {name!r}, and its manifest does not name it.",
                hint=f'Add it to "{field}" under "atlas" in .claude-plugin/plugin.json.',
            )
        if name in before:
            raise MisuseError(f"The {what} {name} is registered twice.", hint="Give each its own name.")

    def _callable(self, what: str, name: str, run: object) -> None:
        if not callable(run):
            raise MisuseError(f"The {what} {name} is given {type(run).__name__}, and a function is due.")

    def _owner(self, field: str, name: str) -> str:
        """Return the bundled plugin that has a name, or nothing."""
        home = self._ctx.services.get(HOME)
        for manifest in home.manifests() if home is not None else ():
            names = [getattr(one, "name", one) for one in getattr(manifest, field)]
            if manifest.source == "bundled" and manifest.name != self.name and name in names:
                return manifest.name
        return ""

    def _leave_out(self, why: str) -> None:
        self.registered.left_out.append(why)
        self.logger.error("%s", why)


class _Llm:
    """``ctx.llm``, on the service of the providers."""

    def __init__(self, ctx: PluginContext, manifest: Manifest) -> None:
        self._ctx = ctx
        self._manifest = manifest

    async def complete(
        self,
        prompt: str | Sequence[LlmMessage],
        *,
        system: str = "",
        max_tokens: int | None = None,
        json_schema: Json = None,
    ) -> LlmResult:
        name = self._ctx.name
        if not self._manifest.llm:
            raise MisuseError(
                f"The plugin {name} asks your model, and its manifest does not say so.",
                hint='Add "llm": true under "atlas" in .claude-plugin/plugin.json.',
            )
        text = prompt if isinstance(prompt, str) else "\n\n".join(f"{one.role}: {one.text}" for one in prompt)
        try:
            return await self._ctx.services.need(LLM).complete(
                text, purpose=f"plugin:{name}", system=system, max_tokens=max_tokens, json_schema=json_schema
            )
        except TimeoutError as error:
            raise LlmError("The model did not answer in time.", hint="Ask again, or for less.") from error
        except AtlasError as error:
            raise LlmError(error.message, hint=error.hint, code=error.code) from error


def _check_schema(name: str, parameters: Json) -> None:
    """Refuse a schema that would check nothing: Atlas holds the model's arguments against it."""
    import json

    import fastjsonschema

    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        raise MisuseError(
            f"The parameters of the tool {name} are no JSON Schema of an object.",
            hint='Begin with {"type": "object", "properties": {…}}.',
        )
    try:
        json.dumps(parameters)
        cast(Any, fastjsonschema).compile(parameters, use_default=False)
    except Exception as error:  # a broken schema makes its compiler raise anything
        raise MisuseError(f"The parameters of the tool {name} are no JSON Schema: {error}.") from error
