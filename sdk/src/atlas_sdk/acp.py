"""An executor over the Agent Client Protocol: a harness that speaks it is started, spoken to, and heard as events.

ACP is JSON-RPC 2.0, a message a line, over the harness's standard streams; this is its version 1. The harness
keeps its own files and its own terminal: nothing of Atlas's is lent to it.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from .executors import (
    Called,
    Capabilities,
    CommandsChanged,
    Detection,
    ExecutorError,
    ExecutorEvent,
    ExecutorHost,
    ExecutorSpec,
    Finished,
    Permission,
    Returned,
    Said,
    SlashCommand,
    Started,
    Thought,
    Transcript,
)
from .own_environment import conceal
from .values import Json

ACP_VERSION = 1
LINE_BYTES = 16 << 20
"""A message is a line; a tool's result may be long."""
START_SECONDS = 30.0
"""A harness that has to be fetched first is to be installed, not waited for."""
STOP_SECONDS = 1.0
_STOPS = {"end_turn": "", "max_tokens": "It reached its limit of length.", "refusal": "It declined to go on.",
          "max_turn_requests": "It reached its limit of steps."}  # fmt: skip
_GONE = (anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError)


class AcpExecutor:
    """An Executor of a harness that speaks ACP: ``AcpExecutor("Gemini CLI", ["gemini", "--experimental-acp"])``.

    ``env`` is added to what the harness sees of the environment: ``PATH``, ``HOME`` and the like, none of Atlas's.
    """

    def __init__(self, title: str, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        self.title = title
        self._command = tuple(command)
        self._env = dict(env or {})

    async def detect(self) -> Detection:
        """Look whether the program is there, starting nothing."""
        import shutil

        found = shutil.which(self._command[0])
        return Detection(installed=found is not None, why="" if found else f"{self._command[0]} is not installed.")

    def capabilities(self) -> Capabilities:
        """It asks for leave; sessions are the harness's own, and not read back."""
        return Capabilities(permissions=True)

    async def start(self, spec: ExecutorSpec, host: ExecutorHost) -> AcpSession:
        """Start the harness with a session in the folder."""
        return await AcpSession.start(self._command, spec, host, env=self._env)

    async def transcript(self, session: str, folder: Path) -> Transcript:
        """Refuse: ACP has a session replayed to who resumes it, and no way to read one."""
        raise ExecutorError(f"{self.title} gives no session back to read.")


class AcpSession:
    """One running harness. Made by ``start``."""

    def __init__(self, process: Process, host: ExecutorHost) -> None:
        self._process = process
        self._host = host
        assert process.stdout is not None
        self._lines = BufferedByteReceiveStream(process.stdout)
        self._last = 0
        self._stopping = False
        self._sending = anyio.Lock()
        self._calls: dict[str, bool] = {}
        """The harness's tool calls of this turn, and whether each was answered."""
        self.id = ""
        """The session's id, as the harness has it."""

    @classmethod
    async def start(
        cls, command: Sequence[str], spec: ExecutorSpec, host: ExecutorHost, *, env: Mapping[str, str] | None = None
    ) -> AcpSession:
        """Start the harness, and a session or the one to resume. Raises ExecutorError."""
        kept = ("PATH", "HOME", "USER", "LANG", "TMPDIR", "TEMP", "SYSTEMROOT", "APPDATA", "USERPROFILE", "SHELL")
        environ = {name: os.environ[name] for name in kept if name in os.environ} | dict(env or {})
        conceal()
        try:
            # A group of its own, so that what it starts ends with it.
            process = await anyio.open_process(
                list(command), cwd=spec.folder, env=environ, stderr=None, start_new_session=True
            )
        except OSError as error:
            raise ExecutorError(f"{command[0]} could not be started: {error.strerror}.") from error
        session = cls(process, host)
        try:
            with anyio.fail_after(START_SECONDS):
                await session._begin(spec)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await session.stop()
            if isinstance(error, TimeoutError):
                raise ExecutorError(f"{command[0]} said nothing in {START_SECONDS:.0f} seconds.") from error
            if isinstance(error, _GONE):
                raise ExecutorError(f"{command[0]} ended before it began. Run it by hand to see why.") from error
            raise
        return session

    async def prompt(self, text: str) -> None:
        """Run a turn, until its Finished was reported."""
        self._calls = {}
        try:
            answer = await self._request("session/prompt", sessionId=self.id, prompt=[{"type": "text", "text": text}])
            reason = str(answer.get("stopReason", "end_turn"))
            if reason == "cancelled" or self._stopping:
                self._finish(Finished("stopped"))
            else:
                error = _STOPS.get(reason, f"It stopped: {reason}.")
                self._finish(Finished("failed" if error else "done", error))
        except ExecutorError as error:
            self._finish(Finished("failed", str(error)))
        except _GONE:
            self._finish(Finished("stopped") if self._stopping else Finished("failed", "The harness ended by itself."))

    async def stop(self) -> None:
        """Ask it to stop, then end it with all it started. Harmless twice."""
        first, self._stopping = not self._stopping, True
        with anyio.move_on_after(STOP_SECONDS, shield=True):
            if first and self.id and self._process.returncode is None:
                with suppress(*_GONE, OSError):
                    await self._send({"method": "session/cancel", "params": {"sessionId": self.id}})
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        await self._process.aclose()

    async def _begin(self, spec: ExecutorSpec) -> None:
        offered = await self._request(
            "initialize",
            protocolVersion=ACP_VERSION,
            clientCapabilities={"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
        )
        if offered.get("protocolVersion") != ACP_VERSION:
            raise ExecutorError(f"It speaks version {offered.get('protocolVersion')} of ACP, and Atlas {ACP_VERSION}.")
        where = {"cwd": str(spec.folder), "mcpServers": []}
        if spec.resume:
            if not (offered.get("agentCapabilities") or {}).get("loadSession"):
                raise ExecutorError("It cannot resume a session.")
            await self._request("session/load", sessionId=spec.resume, **where)
            self.id = spec.resume
        else:
            self.id = str((await self._request("session/new", **where)).get("sessionId", ""))
        self._host.event(Started(self.id))

    async def _request(self, method: str, **params: Json) -> dict[str, Any]:
        """Send a request, and hear what comes until it is answered."""
        self._last += 1
        id = self._last
        await self._send({"id": id, "method": method, "params": params})
        while True:
            said = await self._receive()
            if "method" in said:
                await self._heard(said)
            elif said.get("id") == id:
                if "error" in said:
                    raise ExecutorError(f"It answered {method}: {(said['error'] or {}).get('message', 'an error')}")
                return said.get("result") or {}

    async def _send(self, message: dict[str, Json]) -> None:
        assert self._process.stdin is not None
        async with self._sending:  # a stop comes while the prompt is on its way
            await self._process.stdin.send(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _receive(self) -> dict[str, Any]:
        """Return the next message. What is no JSON object is a line of the harness's log."""
        while True:
            line = await self._lines.receive_until(b"\n", LINE_BYTES)
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    return found

    async def _heard(self, said: dict[str, Any]) -> None:
        params = said.get("params") or {}
        if said["method"] == "session/update":
            self._update(params.get("update") or {})
        elif said["method"] == "session/request_permission":
            await self._send({"id": said.get("id"), "result": {"outcome": await self._permitted(params)}})
        elif "id" in said:
            unknown = {"code": -32601, "message": f"Atlas does not do {said['method']}."}
            await self._send({"id": said["id"], "error": unknown})

    def _update(self, update: dict[str, Any]) -> None:
        text = _text(update.get("content"))
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._host.event(Said(text))
            case "agent_thought_chunk":
                self._host.event(Thought(text))
            case "tool_call":
                self._call(update)
                self._returned(update)
            case "tool_call_update":
                self._returned(update)
            case "available_commands_update":
                commands = [
                    SlashCommand(str(one.get("name", "")), str(one.get("description", "")))
                    for one in update.get("availableCommands") or []
                ]
                self._host.event(CommandsChanged(tuple(commands)))

    def _call(self, update: dict[str, Any]) -> None:
        id = str(update.get("toolCallId", ""))
        if id not in self._calls:
            self._calls[id] = False
            tool = str(update.get("title") or update.get("kind") or "tool")
            self._host.event(Called(id, tool, update.get("rawInput")))

    def _returned(self, update: dict[str, Any]) -> None:
        id, status = str(update.get("toolCallId", "")), update.get("status")
        if status in ("completed", "failed") and self._calls.get(id) is False:
            self._calls[id] = True
            self._host.event(Returned(id, _text(update.get("content")), is_error=status == "failed"))

    def _finish(self, event: ExecutorEvent) -> None:
        """Report the end, after an answer for every call that has none."""
        for id, answered in self._calls.items():
            if not answered:
                self._host.event(Returned(id, "It was not told what came of it.", is_error=True))
        self._calls = {}
        self._host.event(event)

    async def _permitted(self, params: dict[str, Any]) -> dict[str, Json]:
        """Ask for leave, and answer with the harness's own option: once, never for always."""
        call = params.get("toolCall") or {}
        title = str(call.get("title") or "a tool")
        verdict = await self._host.approve(Permission(str(call.get("kind") or title), title, call.get("rawInput")))
        kinds = {str(one.get("kind")): one.get("optionId") for one in params.get("options") or []}
        wanted = ("allow_once", "allow_always") if verdict.allow else ("reject_once", "reject_always")
        chosen = next((kinds[kind] for kind in wanted if kind in kinds), None)
        return {"outcome": "cancelled"} if chosen is None else {"outcome": "selected", "optionId": chosen}


def _text(content: Json) -> str:
    """Return the text of a block of content, or of a tool call's list of them."""
    if isinstance(content, list):
        return "\n".join(filter(None, (_text(one.get("content", one)) for one in content if isinstance(one, dict))))
    return str(content.get("text", "")) if isinstance(content, dict) else ""
