"""Tool calls: checked, intercepted, judged, run, kept, paired."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import anyio
import anyio.to_thread

from atlas_sdk.context import Clock
from atlas_sdk.errors import is_plain, sentence
from atlas_sdk.events import FileSent, ToolCalled, ToolFinished, ToolProgressed
from atlas_sdk.hooks import ToolRequest
from atlas_sdk.ids import new_id
from atlas_sdk.messages import ImagePart, Sender, TextPart, ToolCallPart, ToolResultPart
from atlas_sdk.providers import ModelInfo
from atlas_sdk.records import Call, Effect, Turn
from atlas_sdk.schemas import problem
from atlas_sdk.services import Services
from atlas_sdk.services.gate import GATE, GateRequest, Verdict
from atlas_sdk.services.log import LOG
from atlas_sdk.services.notify import NOTIFY
from atlas_sdk.services.questions import QUESTIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import Tool, ToolError, ToolResult
from atlas_sdk.values import Json, read_json

from .chain import chained
from .events import Bus
from .guard import caught, log
from .live import Live
from .runtime import OwnedTool, Runtime

RESULT_CHARS = 40_000
"""A longer result goes whole to a file: about 10,000 tokens is what a model still reads with care."""
SPILL_HEAD_CHARS = 4_000
GATE_SECONDS = 90.0
"""Longer than any reviewer may take; a gate that is silent for so long is broken, and broken is a refusal."""
ASK_ROUNDS = 3
"""How often one call may come back to the person because what it would run changed under the question."""

Outcome = Literal["ok", "error", "refused", "stopped", "interrupted"]
STOPPED = "Stopped by the user before it ended. What it had done until then stays done."
NO_GATE = "Not run: there is no approval gate on, and without one only read-only tools run."


class Refusal(ToolError):
    """The gate or the person refused; the message says so to the model."""


@dataclass(frozen=True)
class Workplace:
    """What tool calls need of the kernel."""

    services: Services
    bus: Bus
    clock: Clock


class ToolCalls:
    """Runs the calls of one turn's messages. Every call ends with a result in the conversation, whatever happens."""

    def __init__(self, place: Workplace, live: Live, turn: Turn, runtime: Runtime, model: ModelInfo) -> None:
        self._place = place
        self._live = live
        self._turn = turn
        self._runtime = runtime
        self._model = model

    async def run(self, message: str, calls: Sequence[ToolCallPart]) -> None:
        """Run calls in order, neighbours that only read side by side. Results are kept as each one ends."""
        finished: set[str] = set()
        try:
            for reads, neighbours in groupby(calls, self._only_reads):
                for batch in [list(neighbours)] if reads else [[call] for call in neighbours]:
                    await self._together(message, batch, finished)
        finally:
            with anyio.CancelScope(shield=True):
                for call in calls:
                    if call.call not in finished:
                        await self._keep(call, ToolResult.of(STOPPED, is_error=True), "stopped", None)

    def _only_reads(self, call: ToolCallPart) -> bool:
        owned = self._runtime.tools.get(call.name)
        return owned is not None and owned.tool.read_only

    async def _together(self, message: str, calls: list[ToolCallPart], finished: set[str]) -> None:
        async with anyio.create_task_group() as group:
            for call in calls:
                group.start_soon(self._one, message, call, finished)

    async def _one(self, message: str, call: ToolCallPart, finished: set[str]) -> None:
        owned = self._runtime.tools.get(call.name)
        row = Call(
            id=new_id(),
            conversation=self._live.record.id,
            turn=self._turn.id,
            message=message,
            call=call.call,
            tool=call.name,
            plugin=owned.plugin if owned else "",
            arguments=_arguments(call),
            key=hashlib.sha256(f"{message}:{call.call}".encode()).hexdigest()[:32],
            started_at=self._place.clock.now(),
        )
        store = self._place.services.need(STORE)
        called = ToolCalled(
            conversation=row.conversation, call=row.id, tool=row.tool, arguments=row.arguments, turn=row.turn
        )
        await store.commit([row], [called])
        running = [row]
        result, outcome = ToolResult.of(STOPPED, is_error=True), "stopped"
        try:
            result, outcome = await self._answer(owned, running)
        finally:
            with anyio.CancelScope(shield=True):
                await self._keep(call, result, outcome, running[0])
                finished.add(call.call)

    async def _answer(self, owned: OwnedTool | None, running: list[Call]) -> tuple[ToolResult, str]:
        # ``running`` holds the call's one row, which an interceptor's rewriting and the verdict replace.
        row = running[0]
        if owned is None:
            known = ", ".join(sorted(self._runtime.tools))
            return _failed(f"There is no tool {row.tool!r} at the moment. Those there are: {known}."), "error"
        request = ToolRequest(self._live.record, self._turn, row.id, owned.tool, row.arguments)
        if wrong := _wrong(owned.tool, row.arguments):
            return _failed(wrong), "error"

        async def judged(asked: ToolRequest) -> ToolResult:
            return await self._judge_and_run(asked, running)

        result, error = await caught(chained(self._runtime.around_tool, "around_tool", judged), request)
        if error is None and result is not None:
            return result, "error" if result.is_error else "ok"
        if isinstance(error, Refusal):
            return _failed(str(error)), "refused"
        if error is not None and not is_plain(error):
            log.error("A tool raised", exc_info=error, extra={"tool": row.tool, "plugin": row.plugin})
        return _failed(sentence(error or ToolError("It answered nothing."))), "error"

    async def _judge_and_run(self, request: ToolRequest, running: list[Call]) -> ToolResult:
        owned = self._runtime.tools.get(request.tool.name)
        plugin = owned.plugin if owned else running[0].plugin
        changed = request.tool.name != running[0].tool or request.arguments != running[0].arguments
        running[0] = running[0].model_copy(
            update={"tool": request.tool.name, "plugin": plugin, "arguments": request.arguments}
        )
        if changed and (wrong := _wrong(request.tool, request.arguments)):
            return _failed(wrong)
        verdict = await self._verdict(request, plugin)
        running[0] = running[0].model_copy(
            update={
                "verdict": "allow" if verdict.decision == "allow" else "deny",
                "verdict_by": f"{verdict.by}:{verdict.rule}",
                "verdict_why": verdict.why,
            }
        )
        if verdict.decision != "allow":
            raise Refusal(verdict.why)
        if not request.tool.read_only:
            await self._place.services.need(STORE).commit([running[0]])
        host = Host(self._place, self._live, running[0], self._folder(request), self._model.sees_images)
        answer = await request.tool.run(request.arguments, host)
        return ToolResult.of(answer, source=request.tool.name) if isinstance(answer, str) else answer

    def _folder(self, request: ToolRequest) -> Path:
        base = Path(self._live.record.folder).expanduser() if self._live.record.folder else Path.home()
        named = request.arguments.get(request.tool.folder) if request.tool.folder else None
        return _resolved(base, named) if isinstance(named, str) and named else base

    async def _verdict(self, request: ToolRequest, plugin: str) -> Verdict:
        tool, record = request.tool, self._live.record
        gate = self._place.services.get(GATE)
        if gate is None and tool.read_only and not request.ask:
            return Verdict("allow", "no-gate", "It only reads.", by="kernel")
        if gate is None:
            return _denied("no-gate", NO_GATE)
        folder = self._folder(request)
        judged = GateRequest(
            conversation=record.id,
            turn=self._turn.id,
            call=request.call,
            tool=tool.name,
            plugin=plugin,
            arguments=request.arguments,
            folder=folder,
            read_only=tool.read_only,
            command=_text(request.arguments, tool.command),
            paths=_paths(request.arguments, tool.paths, folder),
            reads=_paths(request.arguments, tool.reads, folder),
            untrusted=tool.untrusted,
            auto_mode=record.auto_mode,
            attended=record.attended,
            asks=request.ask,
        )

        async def bounded() -> Verdict:
            with anyio.fail_after(GATE_SECONDS):
                return await gate.judge(judged)

        verdict, error = await caught(bounded)
        if verdict is None:
            log.error("The gate failed", exc_info=error, extra={"tool": tool.name})
            return _denied("gate-failed", "Not run: the approval gate failed, and that counts as a refusal.")
        for _ in range(ASK_ROUNDS):
            if verdict.decision != "ask":
                return verdict
            verdict = await self._ask(judged, verdict)
        why = "Not run: what it would run kept changing."
        return verdict if verdict.decision != "ask" else _denied(verdict.rule, why)

    async def _ask(self, judged: GateRequest, verdict: Verdict) -> Verdict:
        questions, gate = self._place.services.get(QUESTIONS), self._place.services.get(GATE)
        if not judged.attended or questions is None or gate is None or verdict.card is None:
            why = f"Not run: {verdict.why} It needs the user's approval, and nobody is there to give it."
            return _denied(verdict.rule, why)

        async def approve() -> Verdict:
            assert verdict.card is not None
            scope, answer = await questions.approve(
                verdict.card, conversation=judged.conversation, turn=judged.turn, call=judged.call
            )
            if scope is not None:
                return await gate.allow(judged, verdict, scope)
            if answer.how != "answered":
                return _denied(verdict.rule, "Not run: nobody answered in time, and silence is no consent.")
            reason = f" Their reason: {answer.text}" if answer.text else ""
            return Verdict("deny", verdict.rule, f"Not run: the user refused it.{reason}", by="person")

        settled, error = await caught(approve)
        if settled is None:
            log.error("Asking failed", exc_info=error, extra={"tool": judged.tool})
            return _denied("ask-failed", "Not run: the question could not be asked, and that counts as a refusal.")
        return settled

    async def _keep(self, call: ToolCallPart, result: ToolResult, outcome: str, row: Call | None) -> None:
        """Keep a result and close its row, in one transaction, and only then announce it."""
        owned = self._runtime.tools.get(row.tool if row else call.name)
        result = self._without_secrets(result)
        if not (owned and owned.tool.pages):
            result = await self._spilled(result)
        part = ToolResultPart(call=call.call, name=call.name, content=result.content, is_error=result.is_error)
        records, events = [], []
        if row is not None:
            records.append(row.model_copy(update={"outcome": outcome, "ended_at": self._place.clock.now()}))
            events.append(
                ToolFinished(
                    conversation=row.conversation,
                    call=row.id,
                    tool=row.tool,
                    outcome=outcome,  # type: ignore[arg-type]  # one of the five, see Outcome
                    summary=result.text().strip().split("\n", 1)[0][:200],
                    verdict_by=row.verdict_by,
                )
            )
        sender, turn = Sender(kind="tool", name=call.name), self._turn.id
        await self._live.append(role="tool", sender=sender, parts=(part,), turn=turn, records=records, events=events)

    def _without_secrets(self, result: ToolResult) -> ToolResult:
        """Hide the values the vault holds: they reach no model, no client and no database."""
        hide, parts = self._place.services.need(LOG).mask_known, list(result.content)
        for index, part in enumerate(parts):
            if isinstance(part, TextPart):
                parts[index] = part.model_copy(update={"text": hide(part.text)})
        return replace(result, content=tuple(parts))

    async def _spilled(self, result: ToolResult) -> ToolResult:
        text = result.text()
        if len(text) <= RESULT_CHARS:
            return result
        store = self._place.services.need(STORE)
        kept, _ = await caught(lambda: store.keep(text.encode(), media_type="text/plain"))
        where = f"It is whole in {store.file(kept.id)}: read it there." if kept else "The rest could not be kept."
        head = text[:SPILL_HEAD_CHARS]
        note = f"{head}\n\n[The result has {len(text)} characters; these are the first {SPILL_HEAD_CHARS}. {where}]"
        images = tuple(part for part in result.content if isinstance(part, ImagePart))
        source = next((part.source for part in result.content if isinstance(part, TextPart)), "")
        return replace(result, content=(TextPart(text=note, trust="outside", source=source), *images))


class Host:
    """What a running call may ask of Atlas."""

    def __init__(self, place: Workplace, live: Live, row: Call, folder: Path, sees_images: bool) -> None:
        self._place = place
        self._live = live
        self._row = row
        self.conversation = row.conversation
        self.call = row.id
        self.key = row.key
        self.folder = folder
        self.sees_images = sees_images

    def progress(self, text: str) -> None:
        shown = self._place.services.need(LOG).mask_known(text)
        self._place.bus.publish(ToolProgressed(conversation=self.conversation, call=self.call, text=shown))

    @asynccontextmanager
    async def effect(self, kind: Literal["file", "process", "host"], target: str) -> AsyncIterator[None]:
        store, clock = self._place.services.need(STORE), self._place.clock
        row = Effect(id=new_id(), call=self.call, kind=kind, target=target, started_at=clock.now())
        await store.commit([row])
        state = "failed"
        try:
            yield
            state = "done"
        finally:
            with anyio.CancelScope(shield=True):
                await store.commit([row.model_copy(update={"state": state, "ended_at": clock.now()})])

    async def send_file(self, path: Path) -> Path:
        import mimetypes

        try:
            data = await anyio.to_thread.run_sync(path.read_bytes)
        except OSError as error:
            raise ToolError(f"{path} could not be sent: {error.strerror}.") from error
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        store = self._place.services.need(STORE)
        kept = await store.keep(data, media_type=media_type, name=path.name)
        sent = FileSent(
            conversation=self.conversation,
            attachment=kept.id,
            name=path.name,
            media_type=media_type,
            size=len(data),
            call=self.call,
        )
        await self._place.bus.announce(sent)
        return store.file(kept.id)

    async def keep(self, data: bytes, *, media_type: str, name: str = "") -> str:
        return (await self._place.services.need(STORE).keep(data, media_type=media_type, name=name)).id

    async def notify(self, text: str) -> None:
        await self._place.services.need(NOTIFY).notify(
            self.conversation, text, source=self._row.tool, cause=self._row.id
        )


def _arguments(call: ToolCallPart) -> Json:
    try:
        return read_json(call.arguments or "{}")
    except ValueError:
        return {"unreadable": call.arguments}


def _wrong(tool: Tool, arguments: Json) -> str | None:
    if not isinstance(arguments, dict) or set(arguments) == {"unreadable"}:
        return f"Not run: the arguments of {tool.name} are not a JSON object. Write them again, whole."
    found = problem(tool.parameters, arguments)
    return f"Not run: {found} See the parameters of {tool.name}." if found else None


def _denied(rule: str, why: str) -> Verdict:
    return Verdict("deny", rule, why, by="kernel")


def _failed(text: str) -> ToolResult:
    return ToolResult((TextPart(text=text, trust="agent", source="atlas"),), is_error=True)


def _text(arguments: Any, name: str) -> str | None:
    value = arguments.get(name) if name else None
    return value if isinstance(value, str) else None


def _paths(arguments: Any, names: tuple[str, ...], folder: Path) -> tuple[Path, ...]:
    return tuple(_resolved(folder, value) for name in names if isinstance(value := arguments.get(name), str) and value)


def _resolved(folder: Path, value: str) -> Path:
    path = Path(value)
    return folder / (path.expanduser() if value.startswith("~") else path)
