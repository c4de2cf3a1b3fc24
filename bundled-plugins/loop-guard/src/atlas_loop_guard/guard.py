"""The interceptors: they keep a turn's steps, and warn, refuse or end the turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.hooks import ModelGo, Stage, ToolGo, ToolRequest, TurnGo, TurnRequest
from atlas_sdk.messages import Message, TextPart, ToolResultPart
from atlas_sdk.providers import Emit, ModelReply, ModelRequest
from atlas_sdk.records import Turn
from atlas_sdk.tools import ENOUGH, ToolError, ToolResult

from .steps import DEAF, REFUSALS, Steps, alike

WARNING = "[Atlas: {why}. Doing it again will change nothing: look at what it said, try another way, or tell the user.]"
REFUSED = "Not run: {why}. Try another way, or say what stands in the way; asked once more, the run ends."
ENDED = "The run was stopped because it went round in circles: {why}."


class Watch:
    """One turn under watch. ``ending`` says why it is to end."""

    def __init__(self, turn: str, *, attended: bool) -> None:
        self.turn = turn
        self.attended = attended
        self.steps = Steps()
        self.ending = ""


class LoopGuard:
    """Warns where somebody watches; refuses and then ends the turn where nobody does."""

    stage: Stage = Stage.POLICY

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._watches: dict[str, Watch] = {}

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        id = request.conversation.id
        self._watches[id] = Watch(request.turn.id, attended=request.conversation.attended)
        try:
            return await go(request)
        finally:
            self._watches.pop(id, None)

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """End the turn here: every call of the round before has its result by now."""
        watch = self._watches.get(request.conversation or "")
        if watch is not None and request.purpose == "turn" and not watch.attended:
            if not watch.ending and (times := _unheard(request.messages, watch.turn)) >= DEAF:
                watch.ending = f"the same call failed {times} times in a row"
            if watch.ending:
                raise AtlasError(ENDED.format(why=watch.ending), code="loop")
        return await go(request, emit)

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        watch, tool = self._watches.get(request.conversation.id), request.tool
        if watch is None:
            return await go(request)
        steps, arguments = watch.steps, request.arguments
        if not watch.attended and (why := steps.refusal(tool.name, arguments, tolerant=tool.failure_tolerant)):
            steps.refusals += 1
            if steps.refusals >= REFUSALS:
                watch.ending = why
            raise ToolError(REFUSED.format(why=why))
        changes = not tool.read_only
        try:
            result = await go(request)
        except AtlasError as error:
            why = steps.ended(tool.name, arguments, str(error), failed=True, changes=changes)
            if why and error.code != ENOUGH:
                # The same error, so that a refusal of the gate stays one in the ledger.
                error.hint = f"{error.hint} {WARNING.format(why=why)}".strip()
            raise
        except Exception as error:
            steps.ended(tool.name, arguments, str(error), failed=True, changes=changes)
            raise
        answer = "\n".join(part.model_dump_json() for part in result.content)
        why = steps.ended(tool.name, arguments, answer, failed=result.is_error, changes=changes)
        if not why:
            return result
        said = TextPart(text=WARNING.format(why=why), trust="agent", source="atlas")
        return replace(result, content=(*result.content, said))


def _unheard(messages: Sequence[Message], turn: str) -> int:
    """Return how many of the turn's last calls are one and failed alike: those to no tool or with broken arguments
    fail before any interceptor sees them."""
    calls: dict[str, tuple[str, str]] = {}
    steps: list[tuple[str, str, str]] = []
    for message in messages[_first(messages, turn) :]:
        calls.update({call.call: (call.name, call.arguments) for call in message.calls()})
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                name, arguments = calls.get(part.call, (part.name, ""))
                steps.append((name, arguments, _text(part) if part.is_error else ""))
    return alike(steps) if steps and steps[-1][2] else 0


def _first(messages: Sequence[Message], turn: str) -> int:
    at = len(messages)
    while at and messages[at - 1].turn == turn:
        at -= 1
    return at


def _text(part: ToolResultPart) -> str:
    return "\n".join(one.text for one in part.content if isinstance(one, TextPart))
