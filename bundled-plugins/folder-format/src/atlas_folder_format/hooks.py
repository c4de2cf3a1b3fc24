"""The hook commands of a plugin folder, at the six events of Claude Code's that Atlas fires."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import Noticed
from atlas_sdk.folder_hooks import HookCommand, compiled
from atlas_sdk.hooks import Stage, ToolGo, ToolRequest, TurnGo, TurnRequest
from atlas_sdk.messages import TextPart
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.notify import NOTIFY
from atlas_sdk.tools import ToolError, ToolResult
from atlas_sdk.values import Json

from .answer import BLOCKS, Answer, read_answer
from .hook_run import HookRunner, Moment
from .tool_names import arguments_of_atlas, arguments_of_claude, fits, of_claude

LONGEST_RUN = 50
"""How often in a row a Stop hook may send the model back to work: a hook that never lets go must not run up a bill."""

Later = Callable[..., None]


class HookCommands:
    """Runs one folder's hook commands around turns and tool calls.

    It fails open: a hook that breaks or takes too long is logged, and what it stood around goes on. Only exit code 2
    and an answer that says so block. Nothing a hook says lowers the gate.
    """

    stage: Stage = Stage.USER_HOOKS

    def __init__(self, ctx: PluginContext, hooks: Sequence[HookCommand], user_config: Json, later: Later) -> None:
        self._ctx = ctx
        self._hooks = [(hook, compiled(hook.matcher)) for hook in hooks]
        self._events = {hook.event for hook in hooks}
        self._later = later
        self._ran: set[tuple[str, int]] = set()
        self._again: dict[str, int] = {}
        self._held: dict[str, str] = {}
        """Context that waits for a turn that asks the model."""
        self._runner = HookRunner(ctx, user_config)
        ctx.on_unload(self._runner.close)

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        conversation, said = request.conversation, _said(request)
        is_command = said.startswith("/")  # it may ask no model, and context alone is no reason to
        if request.started and "SessionStart" in self._events:
            await self._begin(
                Moment("SessionStart", conversation, {"source": "startup"}, ("startup",)), holds=is_command
            )
        if request.message.sender.kind == "person":
            self._again.pop(conversation.id, None)
            if "UserPromptSubmit" in self._events:
                await self._begin(Moment("UserPromptSubmit", conversation, {"prompt": said}), holds=is_command)
        turn = await go(request)
        if turn.state == "done" and "Stop" in self._events:
            await self._stop(conversation)
        return turn

    async def _begin(self, moment: Moment, *, holds: bool) -> None:
        answers = await self._fire(moment)
        for answer in answers:
            if answer.stops:
                raise AtlasError(f"The plugin {self._ctx.name} ended the turn: {answer.stops}", code="hook")
            if answer.decision == "deny" and moment.event == "UserPromptSubmit":
                raise AtlasError(f"The plugin {self._ctx.name} held the message back: {answer.reason}", code="hook")
            if answer.decision == "deny":
                await self._notice(moment.conversation, answer.reason)
        if text := "\n\n".join(answer.context for answer in answers if answer.context):
            text = f"[{moment.event}, from the plugin {self._ctx.name}]\n{text}"
        text = "\n\n".join(one for one in (self._held.pop(moment.conversation.id, ""), text) if one)
        if text and holds:
            self._held[moment.conversation.id] = text
        elif text:
            await self._tell(moment.conversation.id, text)

    async def _stop(self, conversation: Conversation) -> None:
        times = self._again.get(conversation.id, 0)
        last = await self._last_reply(conversation.id)
        told = {"stop_hook_active": times > 0, "last_assistant_message": last}
        answers = await self._fire(Moment("Stop", conversation, told))
        held = [answer.reason for answer in answers if answer.decision == "deny" and not answer.stops]
        if not held:
            self._again.pop(conversation.id, None)
        elif times >= LONGEST_RUN:
            self._again.pop(conversation.id, None)
            said = f"The plugin {self._ctx.name} wanted to go on for the {times + 1}th time in a row and was stopped."
            await self._notice(conversation, said)
        else:
            self._again[conversation.id] = times + 1
            await self._tell(conversation.id, "\n\n".join(held))

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        if not self._events & {"PreToolUse", "PostToolUse", "PostToolUseFailure"}:
            return await go(request)
        request, context = await self._before(request)
        try:
            result = await go(request)
        except AtlasError as error:
            more = await self._after("PostToolUseFailure", request, {"error": str(error)})
            raise ToolError("\n\n".join([str(error), *more])) if more else error from None
        text = result.text()
        if result.is_error:
            told: dict[str, Json] = {"error": text}
            more = await self._after("PostToolUseFailure", request, told)
        else:
            more = await self._after("PostToolUse", request, {"tool_response": _response(request, text)})
        added = [TextPart(text=said, trust="outside", source=f"hook of {self._ctx.name}") for said in (*context, *more)]
        return replace(result, content=(*result.content, *added)) if added else result

    async def _before(self, request: ToolRequest) -> tuple[ToolRequest, list[str]]:
        """Fire PreToolUse: return the call as the hooks changed it, or raise when one of them says no."""
        context: list[str] = []
        for name, answer in await self._fire_named(self._moment("PreToolUse", request, {})):
            if answer.stops:
                await self._end_turn(request, answer.stops)
            if answer.decision == "deny":
                raise ToolError(f"Not run: the plugin {self._ctx.name} blocked it. {answer.reason}")
            if answer.decision == "ask":
                request = replace(request, ask=request.ask or f"The plugin {self._ctx.name} asks: {answer.reason}")
            if answer.updated is not None:
                changed = arguments_of_atlas(name, answer.updated) if name != request.tool.name else answer.updated
                request = replace(request, arguments=dict(changed))
            if answer.context:
                context.append(answer.context)
        return request, context

    async def _after(self, event: str, request: ToolRequest, told: Mapping[str, Json]) -> list[str]:
        said = []
        for answer in await self._fire(self._moment(event, request, told)):
            if answer.stops:
                await self._end_turn(request, answer.stops)
            if answer.decision == "deny":
                said.append(f"[The plugin {self._ctx.name} says: {answer.reason}]")
            if answer.context:
                said.append(answer.context)
        return said

    def _moment(self, event: str, request: ToolRequest, told: Mapping[str, Json]) -> Moment:
        names = (*of_claude(request.tool.name, request.arguments), request.tool.name)
        return Moment(event, request.conversation, {**told, "tool_use_id": request.call}, names, request.arguments)

    async def _fire(self, moment: Moment) -> list[Answer]:
        return [answer for _, answer in await self._fire_named(moment)]

    async def _fire_named(self, moment: Moment) -> list[tuple[str, Answer]]:
        """Run the hooks of an event side by side, and return what each answers, with the name its matcher fitted."""
        chosen: list[tuple[int, HookCommand, str]] = []
        for index, (hook, matcher) in enumerate(self._hooks):
            if hook.event != moment.event or matcher is None:
                continue
            name = next((name for name in moment.names if matcher.search(name)), None) if moment.names else ""
            if name is None or (hook.once and (moment.conversation.id, index) in self._ran):
                continue
            if hook.condition and moment.arguments is not None:
                told = arguments_of_claude(name, moment.arguments, moment.folder)
                if not fits(hook.condition, moment.names, told):
                    continue
            if hook.once:
                self._ran.add((moment.conversation.id, index))
            chosen.append((index, hook, name))
        answers: dict[int, tuple[str, Answer]] = {}

        async def one(index: int, hook: HookCommand, name: str) -> None:
            answers[index] = (name, await self._one(hook, moment, name))

        async with anyio.create_task_group() as group:
            for index, hook, name in chosen:
                if hook.is_async:
                    self._later(self._in_the_background, hook, moment, name)
                else:
                    group.start_soon(one, index, hook, name)
        found = [answers[index] for index in sorted(answers)]
        for _, answer in found:
            if answer.message:
                await self._notice(moment.conversation, answer.message)
        return found

    async def _one(self, hook: HookCommand, moment: Moment, name: str) -> Answer:
        ended = await self._runner.run(hook, moment, name)
        if ended is None:
            return Answer()
        answer = read_answer(moment.event, ended)
        if answer.wrong:
            self._ctx.logger.warning("A hook failed and was passed over", extra={"hook": hook.at, "why": answer.wrong})
        return answer

    async def _in_the_background(self, hook: HookCommand, moment: Moment, name: str) -> None:
        ended = await self._runner.run(hook, moment, name)
        if ended is None:
            return
        if hook.rewakes and ended.code == BLOCKS:
            said = (ended.stderr.strip() or ended.stdout.strip())[:20_000]
            await self._tell(moment.conversation.id, f"{hook.rewake_message}\n{said}".strip())
        elif (answer := read_answer(moment.event, ended)).context or answer.message:
            await self._tell(moment.conversation.id, answer.context or answer.message)

    async def _tell(self, conversation: str, text: str) -> None:
        await self._ctx.services.need(NOTIFY).notify(conversation, text, source=f"plugin:{self._ctx.name}")

    async def _notice(self, conversation: Conversation, text: str) -> None:
        said = Noticed(conversation=conversation.id, text=f"{self._ctx.name}: {text[:2_000]}")
        await self._ctx.services.need(EVENTS).announce(said)

    async def _end_turn(self, request: ToolRequest, why: str) -> None:
        await self._notice(request.conversation, why)
        await self._ctx.services.need(CONVERSATIONS).stop(request.conversation.id)
        await anyio.lowlevel.checkpoint()

    async def _last_reply(self, conversation: str) -> str:
        path = await self._ctx.services.need(CONVERSATIONS).path(conversation, limit=1)
        return path[-1].text() if path and path[-1].role == "assistant" else ""


def _said(request: TurnRequest) -> str:
    """Return what the person said, without what Atlas noted beside it."""
    texts = [part.text for part in request.message.parts if isinstance(part, TextPart) and not part.source]
    return "\n\n".join(texts)


def _response(request: ToolRequest, text: str) -> Any:
    if request.tool.name == "run_command":
        return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    return {"content": text, "filePath": request.arguments.get("path", "")}
