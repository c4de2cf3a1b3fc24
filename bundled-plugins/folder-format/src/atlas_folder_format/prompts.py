"""Commands of a plugin folder: Markdown that becomes what the model is told, with the user's words put in."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.audit import Audit
from atlas_sdk.commands import CommandHost, SlashCommand
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.folder_files import is_file
from atlas_sdk.process_trees import end_marked
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.gate import GATE, GateRequest

from .environment import base, filled, new_mark, places
from .process import run, shell_line
from .texts import Written

COMMAND_SECONDS = 60.0
OUTPUT_CHARS = 20_000
FILE_BYTES = 100_000
_ARGUMENT = re.compile(r"\$ARGUMENTS\[(\d{1,2})\]|\$ARGUMENTS\b|\$(\d)(?![\w.,]*\d)")
_RUN = re.compile(r"```![^\S\n]*\n\s*+(.*?)\n?```|(?<![\w`])!`([^`\n]+)`", re.DOTALL)
_FILE = re.compile(r"(?<![\w`@/.])@((?:\$\{CLAUDE_PLUGIN_ROOT\}|~|\.{1,2})?[\w./-]*[\w/-])")


def slash_command(ctx: PluginContext, written: Written) -> SlashCommand:
    """Return a command's file as a slash command that prompts the model."""

    async def prompt(arguments: str, host: CommandHost) -> str:
        return await _Prompt(ctx, host.conversation).of(written.document.body, arguments)

    hint = written.document.text("argument-hint")
    return SlashCommand(written.name, written.description, prompt, hint=hint, prompts=True)


class Words:
    """What the user typed behind a command's name, to be put into its text.

    ``$1`` is the first word, as commands have always had it, unless the text counts from ``$0``;
    ``$ARGUMENTS[0]`` is always the first one.
    """

    def __init__(self, typed: str, body: str) -> None:
        self._typed = typed
        try:
            self._words = shlex.split(typed)
        except ValueError:  # a quote left open: what was typed is words all the same
            self._words = typed.split()
        self._first = 0 if re.search(r"\$0(?!\w)", body) else 1
        self.have_a_place = _ARGUMENT.search(body) is not None

    def put(self, text: str) -> str:
        """Return a text of the command with the words in their places."""
        return _ARGUMENT.sub(self._word, text)

    def _word(self, found: re.Match[str]) -> str:
        if found[1] is None and found[2] is None:
            return self._typed
        index = int(found[1]) if found[1] is not None else int(found[2]) - self._first
        return self._words[index] if 0 <= index < len(self._words) else ""


class _Prompt:
    def __init__(self, ctx: PluginContext, conversation: str) -> None:
        self._ctx = ctx
        self._id = conversation

    async def of(self, body: str, typed: str) -> str:
        """Return what the model is told. A command line in it is run only where the gate lets it without asking."""
        conversation = await self._ctx.services.need(CONVERSATIONS).get(self._id)
        folder = _expanded(conversation.folder)
        known = places(self._ctx, folder, self._id)
        words = Words(typed, body)
        said, files, last = [], [], 0
        # Only the text as written is searched for commands and files, never what was typed or a command printed.
        for found in _RUN.finditer(body):
            files += _FILE.findall(body[last : found.start()])
            said.append(filled(words.put(body[last : found.start()]), known))
            said.append(await self._run(filled(words.put(found[1] or found[2]), known), folder, known))
            last = found.end()
        files += _FILE.findall(body[last:])
        said.append(filled(words.put(body[last:]), known))
        whole = ["".join(said).strip()]
        if typed and not words.have_a_place:
            whole.append(f"ARGUMENTS: {typed}")
        for name in dict.fromkeys(files):
            if text := await self._file(filled(words.put(name), known), folder):
                whole.append(text)
        return "\n\n".join(whole)

    async def _run(self, line: str, folder: Path, known: Mapping[str, str]) -> str:
        why = await self._refusal("run_command", {"command": line}, folder, command=line)
        if why:
            return f"(Not run: `{line}`. {why} Run it with run_command if you need it.)"
        mark = new_mark()
        environment = {**base(os.environ), **known}
        try:
            command = shell_line(line, "")
            ended = await run(
                command, mark=mark, stdin="", folder=folder, environment=environment, timeout_seconds=COMMAND_SECONDS
            )
        except (OSError, ValueError) as error:
            return f"(Not run: `{line}`. {error})"
        finally:
            await end_marked(mark)  # what it left running belongs to nobody
        outcome = "too slow" if ended.code is None else f"exit code {ended.code}"
        Audit(self._ctx.home, self._ctx.name, self._ctx.clock).note("command", line, outcome, conversation=self._id)
        said = (ended.stdout + (ended.stderr if ended.code else "")).strip()[:OUTPUT_CHARS]
        if ended.code is None:
            return f"(`{line}` took over {COMMAND_SECONDS:.0f} seconds and was ended.)"
        return said if ended.code == 0 else f"(`{line}` ended with {ended.code}.)\n{said}"

    async def _file(self, name: str, folder: Path) -> str:
        path = folder / _expanded(name)
        if not await anyio.to_thread.run_sync(is_file, path):
            return ""  # an @ that names no file is a handle, a decorator or an address
        if why := await self._refusal("read_file", {"path": str(path)}, folder, reads=(path,)):
            return f"(Not read: {name}. {why})"
        try:
            data = await anyio.to_thread.run_sync(_head, path)
        except OSError as error:
            return f"(Not read: {name}. {error.strerror}.)"
        return f"Contents of {name}:\n{data}"

    async def _refusal(
        self,
        tool: str,
        arguments: Mapping[str, str],
        folder: Path,
        *,
        command: str | None = None,
        reads: tuple[Path, ...] = (),
    ) -> str:
        """Return why the gate does not let this happen without asking, empty when it does. A broken gate does not."""
        gate = self._ctx.services.get(GATE)
        if gate is None:
            return "There is no approval gate on."
        request = GateRequest(
            conversation=self._id,
            turn="",
            call="",
            tool=tool,
            plugin=self._ctx.name,
            arguments=dict(arguments),
            folder=folder,
            read_only=command is None,
            command=command,
            reads=reads,
            auto_mode=False,  # no tool call shows it, so only what nobody would be asked about may run
            attended=False,
        )
        try:
            verdict = await gate.judge(request)
        except AtlasError as error:
            return f"The approval gate failed: {error}"
        return "" if verdict.decision == "allow" else verdict.why


def _head(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(FILE_BYTES + 1)
    text = data[:FILE_BYTES].decode("utf-8", "replace")
    return text if len(data) <= FILE_BYTES else f"{text}\n[It is longer; these are the first {FILE_BYTES:,} bytes.]"


def _expanded(name: str) -> Path:
    return Path(name).expanduser() if name.startswith("~") else Path(name)
