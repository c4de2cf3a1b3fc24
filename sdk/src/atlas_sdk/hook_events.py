"""Claude Code's hook events: what a hook is told, what its answer means, and the interceptor that does it.

A hook is anything that gets an event's JSON and returns an answer's JSON or None: a command of ``hooks.json``,
or a function of a plugin. ``EventHooks`` stands it around turns and tool calls. An answer can stop a call, have
the person asked, change arguments and add context; nothing in it lowers an approval.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import anyio

from .claude_names import atlas_arguments, claude_arguments, claude_names
from .claude_results import claude_result
from .context import PluginContext
from .errors import AtlasError, MisuseError
from .events import Noticed
from .folder_hooks import compiled
from .hooks import ModelGo, Stage, ToolGo, ToolRequest, TurnGo, TurnRequest
from .messages import TextPart
from .patterns import occurs
from .providers import Emit, ModelReply, ModelRequest
from .records import Turn
from .services.conversations import CONVERSATIONS
from .services.events import EVENTS
from .services.notify import NOTIFY
from .tools import ToolError, ToolResult
from .values import Json

HookEvent: TypeAlias = Literal[
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"
]
HOOK_EVENTS: tuple[str, ...] = get_args(HookEvent)
"""The events Atlas fires. A hook on another of Claude Code's events never runs."""
HookRun: TypeAlias = Callable[[dict[str, Json]], Awaitable[Json]]
DECISIONS = ("allow", "approve", "deny", "block", "ask", "defer")
"""What a hook may decide. Claude Code's older hooks approve and block."""
HOOK_SECONDS = 60.0
"""How long a hook may take, as in Claude Code: a turn waits for it."""
STOPS_IN_A_ROW = 50
"""How often Stop hooks may send the model on, one turn after the other: plugins that work in rounds do so for long, and
one that never lets go must not run up a bill without end."""
MOST_CHARS = 20_000
"""How much of one text of a hook reaches the model."""
_NOTICE_CHARS = 2_000


@dataclass(frozen=True)
class EventHook:
    """A hook: ``run`` gets the event's JSON and returns the answer's JSON, or None for no opinion.

    ``matcher`` is Claude Code's: empty and ``*`` match all, names joined by ``|`` match those, anything else is
    a regular expression that has to occur. It is held against a tool's names (``Bash`` or ``run_command``), and
    at SessionStart against how it started. A ``run`` that raises stops what it was asked about, and so does one that
    takes longer than ``timeout_seconds``; None is for one that has an end of its own.
    """

    event: str
    run: HookRun
    matcher: str = ""
    timeout_seconds: float | None = HOOK_SECONDS

    def __post_init__(self) -> None:
        if self.event not in HOOK_EVENTS:
            raise MisuseError(
                f"There is no hook event {self.event!r}.", hint=f"Those there are: {', '.join(HOOK_EVENTS)}."
            )
        matches(self.matcher, "")


@dataclass(frozen=True)
class HookAnswer:
    """What one or more hooks answered to an event. An empty text is no opinion."""

    block: str = ""
    ask: str = ""
    context: str = ""
    notice: str = ""
    stop: str = ""
    arguments: Json = None

    def and_then(self, other: HookAnswer) -> HookAnswer:
        """Join with a later hook's answer: reasons and context are told both, the last arguments hold."""
        return HookAnswer(
            block=_joined(self.block, other.block),
            ask=_joined(self.ask, other.ask),
            context=_joined(self.context, other.context),
            notice=_joined(self.notice, other.notice),
            stop=self.stop or other.stop,
            arguments=self.arguments if other.arguments is None else other.arguments,
        )


def matches(matcher: str, *names: str) -> bool:
    """Whether a matcher means something of one of these names. Raises MisuseError for an expression not taken."""
    pattern = compiled(matcher)
    if pattern is None:
        raise MisuseError(
            f"The matcher {matcher[:80]!r} is no regular expression that Atlas takes.",
            hint="Name the tools, joined by |. What is repeated may hold nothing that is repeated or chosen itself.",
        )
    return any(occurs(pattern, name) for name in names)


def read_answer(event: str, said: Json) -> HookAnswer:
    """Read a hook's answer, the JSON that Claude Code's hooks print. Raises MisuseError for what is none.

    ``{"decision": "block", "reason": …}``, ``{"continue": false, "stopReason": …}``, ``systemMessage``, and in
    ``hookSpecificOutput`` ``permissionDecision`` with its reason, ``updatedInput`` and ``additionalContext``.
    What it has besides is left alone. ``allow`` says nothing: the gate decides.
    """
    if said is None:
        return HookAnswer()
    if not isinstance(said, dict):
        raise MisuseError(f"A hook answers {event} with an object or nothing, not with {type(said).__name__}.")
    more = said.get("hookSpecificOutput")
    more = more if isinstance(more, dict) else {}
    decision = more.get("permissionDecision") or said.get("permissionDecision") or said.get("decision")
    why = _text(more.get("permissionDecisionReason")) or _text(said.get("reason")) or _text(said.get("systemMessage"))
    arguments = more.get("updatedInput", said.get("updatedInput"))
    if arguments is not None and not isinstance(arguments, dict):
        raise MisuseError("A hook's updatedInput is an object of arguments.")
    if decision is not None and decision not in DECISIONS:
        raise MisuseError(f"A hook's decision is allow, ask, deny or block, not {str(decision)[:40]!r}.")
    return HookAnswer(
        block=(why or "a hook refused it") if decision in ("deny", "block") else "",
        ask=(why or "a hook asks for it") if decision in ("ask", "defer") else "",
        context=_text(more.get("additionalContext")) or _text(said.get("additionalContext")),
        notice=_text(said.get("systemMessage")),
        stop=(_text(said.get("stopReason")) or "A hook stopped it.") if said.get("continue") is False else "",
        arguments=arguments if event == "PreToolUse" else None,
    )


class EventHooks:
    """The interceptor that runs a plugin's hooks at their events. One a plugin, returned from ``atlas_hooks``."""

    stage: Stage = Stage.USER_HOOKS

    def __init__(self, ctx: PluginContext, hooks: Sequence[EventHook]) -> None:
        self._ctx = ctx
        self._hooks = tuple(hooks)
        self._seen: set[str] = set()
        self._sent_on: dict[str, int] = {}
        self._stopping: dict[str, str] = {}
        self._pending: dict[str, str] = {}
        """Context that waits for a turn that asks the model."""

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        """Run SessionStart and UserPromptSubmit before the turn, and Stop once it is done. None for a review's copy."""
        if request.conversation.origin.kind == "review":
            return await go(request)  # nobody submitted a prompt, and no session of the user's started or stopped
        id, person = request.conversation.id, request.message.sender.kind == "person"
        event = {"session_id": id, "cwd": str(_folder(request)), **_mode(request)}
        context, prompt = self._pending.get(id, ""), ""
        if id not in self._seen:
            source = "startup" if request.started else "resume"
            answer = await self._fire("SessionStart", (source,), {**event, "source": source})
            self._seen.add(id)
            context = self._pending[id] = _joined(context, self._begun("SessionStart", answer))
            await self._notice(id, answer.block)  # a conversation begins all the same, as in Claude Code
        if person:
            prompt = "\n\n".join(
                part.text
                for part in request.message.parts
                if isinstance(part, TextPart) and part.trust != "agent"  # what Atlas notes beside the words is not said
            )
            answer = await self._fire("UserPromptSubmit", (), {**event, "prompt": prompt})
            context = _joined(context, self._begun("UserPromptSubmit", answer))
            self._sent_on.pop(id, None)
            if answer.block:
                raise AtlasError(f"A hook of {self._ctx.name} stopped this: {answer.block}", code="hook")
        if context and prompt.startswith("/"):
            self._pending[id] = context  # a command may ask no model, and context alone is no reason to
        elif context:
            await self._say(id, context)
            self._pending.pop(id, None)
        try:
            turn = await go(request)
        finally:
            self._stopping.pop(id, None)
        if turn.state == "done":
            await self._after(id, event)
        return turn

    def _begun(self, event: str, answer: HookAnswer) -> str:
        """Return what an answer tells the model before a turn, with who says it. Raises what ends the turn."""
        if answer.stop:
            raise AtlasError(answer.stop, code="hook")
        return f"[{event}, from the plugin {self._ctx.name}]\n{answer.context}" if answer.context else ""

    async def _after(self, id: str, event: dict[str, Json]) -> None:
        if not any(hook.event == "Stop" for hook in self._hooks):
            return
        times = self._sent_on.pop(id, 0)
        path = await self._ctx.services.need(CONVERSATIONS).path(id, limit=1)
        said = path[-1].text() if path and path[-1].role == "assistant" else ""
        try:
            answer = await self._fire(
                "Stop", (), {**event, "stop_hook_active": times > 0, "last_assistant_message": said}
            )
        except AtlasError as error:
            self._ctx.logger.warning("A Stop hook failed: %s", error)  # the turn is done, and stays so
            return
        if not answer.block or answer.stop:
            return
        if times < STOPS_IN_A_ROW:
            self._sent_on[id] = times + 1
            await self._say(id, answer.block)
        else:
            await self._notice(id, f"It wanted to go on for the {times + 1}th time in a row and was stopped.")

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """End the turn here when a tool's hook said ``continue: false``: every call has its result by now."""
        if request.purpose == "turn" and (why := self._stopping.pop(request.conversation or "", "")):
            raise AtlasError(why, code="hook")
        return await go(request, emit)

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        """Run PreToolUse before the call, and PostToolUse or PostToolUseFailure after it."""
        id = request.conversation.id
        answer = await self._fire_tool("PreToolUse", request, {})
        if answer.stop:
            self._stopping[id] = answer.stop
        if answer.block or answer.stop:
            raise ToolError(f"Not run: a hook of {self._ctx.name} refused it: {answer.block or answer.stop}")
        if answer.ask:
            request = replace(request, ask=_joined(request.ask, f"The plugin {self._ctx.name} asks: {answer.ask}"))
        if answer.arguments is not None:
            request = replace(request, arguments=answer.arguments)
        try:
            result = await go(request)
        except Exception as error:
            after = await self._after_tool("PostToolUseFailure", request, {"error": str(error), "is_interrupt": False})
            if isinstance(error, AtlasError):  # the same error, so that a refusal of the gate stays one in the ledger
                error.hint = _joined(error.hint, _joined(answer.context, _joined(after.block, after.context)))
            raise
        failed, text = result.is_error, result.text()
        more = {"error": text, "is_interrupt": False} if failed else {"tool_response": _response(request, text)}
        after = await self._after_tool("PostToolUseFailure" if failed else "PostToolUse", request, more)
        said = _joined(answer.context, _joined(after.block, after.context))
        if not said:
            return result
        part = TextPart(text=said, trust="outside", source=f"plugin:{self._ctx.name}")
        return replace(result, content=(*result.content, part))

    async def _after_tool(self, event: str, request: ToolRequest, more: dict[str, Json]) -> HookAnswer:
        try:
            answer = await self._fire_tool(event, request, more)
        except AtlasError as error:
            self._ctx.logger.warning("A %s hook failed: %s", event, error)  # what was done is done, and is told
            return HookAnswer()
        if answer.stop:
            self._stopping[request.conversation.id] = answer.stop
        return answer

    async def _fire_tool(self, event: str, request: ToolRequest, more: dict[str, Json]) -> HookAnswer:
        """Tell each hook of a call in the words its matcher used: Claude Code's, or Atlas's where it named those."""
        tool, arguments = request.tool.name, request.arguments
        theirs = claude_names(tool, arguments)
        told = {
            "session_id": request.conversation.id,
            "cwd": str(_folder(request)),
            **_mode(request),
            "tool_use_id": request.call,
            "atlas": {"tool": tool, "arguments": arguments},
            **more,
        }
        found: list[tuple[EventHook, dict[str, Json]]] = []
        for hook in self._hooks:
            if hook.event != event:
                continue
            name = next((one for one in theirs if matches(hook.matcher, one)), tool)
            if matches(hook.matcher, name):
                given = arguments if name == tool else claude_arguments(tool, arguments, folder=_folder(request))
                found.append((hook, {**told, "tool_name": name, "tool_input": given}))
        return await self._ask(event, request.conversation.id, found)

    async def _fire(self, event: str, names: tuple[str, ...], told: dict[str, Json]) -> HookAnswer:
        hooks = [hook for hook in self._hooks if hook.event == event and (not names or matches(hook.matcher, *names))]
        return await self._ask(event, told["session_id"], [(hook, dict(told)) for hook in hooks])

    async def _ask(self, event: str, id: str, told: Sequence[tuple[EventHook, dict[str, Json]]]) -> HookAnswer:
        """Run hooks beside each other; their answers are joined in the order they were given in."""
        answers = [HookAnswer()] * len(told)

        async def ask(number: int, hook: EventHook, payload: dict[str, Json]) -> None:
            said: Json = None
            with anyio.move_on_after(hook.timeout_seconds or math.inf) as scope:
                said = await hook.run({"hook_event_name": event, "transcript_path": "", **payload})
            if scope.cancelled_caught:
                raise ToolError(f"it took over {hook.timeout_seconds:g} seconds.")
            answer = read_answer(event, said)
            tool = payload.get("atlas", {}).get("tool", "")
            if answer.arguments is not None and payload["tool_name"] != tool:
                answer = replace(answer, arguments=atlas_arguments(tool, answer.arguments))
            answers[number] = answer

        try:
            async with anyio.create_task_group() as group:
                for number, (hook, payload) in enumerate(told):
                    group.start_soon(ask, number, hook, payload)
        except* Exception as raised:  # a hook is a stranger's: whatever it raises is told, and stops what it guards
            first = _first(raised)
            if not isinstance(first, AtlasError):
                self._ctx.logger.error("A %s hook raised", event, exc_info=first)
            said = str(first) if isinstance(first, AtlasError) else f"{type(first).__name__}: {first}"
            raise ToolError(f"A hook of {self._ctx.name} failed at {event}: {said}") from first
        whole = HookAnswer()
        for answer in answers:
            whole = whole.and_then(answer)
        await self._notice(id, whole.notice)
        return whole

    async def _say(self, conversation: str, text: str) -> None:
        await self._ctx.services.need(NOTIFY).notify(conversation, text, source=f"plugin:{self._ctx.name}")

    async def _notice(self, conversation: str, text: str) -> None:
        """Show the user what a hook says to them."""
        if not text:
            return
        self._ctx.logger.info("A hook said: %s", text)
        if (events := self._ctx.services.get(EVENTS)) is not None:
            await events.announce(Noticed(conversation=conversation, text=f"{self._ctx.name}: {text[:_NOTICE_CHARS]}"))


def _mode(request: TurnRequest | ToolRequest) -> dict[str, Json]:
    return {"permission_mode": "auto" if request.conversation.auto_mode else "default"}


def _folder(request: TurnRequest | ToolRequest) -> Path:
    named = request.conversation.folder
    return Path(named).expanduser() if named else Path.home()  # where a tool starts, too


def _response(request: ToolRequest, text: str) -> Json:
    return claude_result(request.tool.name, request.arguments, text, folder=_folder(request))


def _first(raised: BaseException) -> BaseException:
    while isinstance(raised, BaseExceptionGroup):
        raised = raised.exceptions[0]
    return raised


def _joined(one: str, other: str) -> str:
    return f"{one}\n{other}".strip()


def _text(value: Json) -> str:
    text = value.strip() if isinstance(value, str) else ""
    return text if len(text) <= MOST_CHARS else f"{text[:MOST_CHARS]}\n[It said more.]"
