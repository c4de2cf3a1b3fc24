"""The turn: ask the model, run its tools, and again, until it has nothing more to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import anyio

from atlas_sdk.errors import AtlasError, is_plain, sentence
from atlas_sdk.events import ModelRestarted, Noticed, TextStreamed, TurnEnded
from atlas_sdk.hooks import TurnRequest
from atlas_sdk.messages import Message, Part, ProviderItems, ReasoningPart, Sender, TextPart
from atlas_sdk.providers import ModelDelta, ModelReply, ModelRequest, Restarted, TextDelta
from atlas_sdk.records import Turn
from atlas_sdk.sections import ModelSettings
from atlas_sdk.services.store import STORE

from .chain import chained
from .guard import caught, log
from .live import Live
from .model import Models
from .prefix import Prefix, load_prefix, make_prefix
from .runtime import Runtime
from .settings import Settings
from .tools import ToolCalls, Workplace

BUG = "Something went wrong inside Atlas. What you said is kept; the log (logs/atlas.log) says what happened."
_STOPS = {
    "max_tokens": "The answer reached the model's limit of length and was cut.",
    "refusal": "The model declined to answer.",
}


class TurnRun:
    """One turn of one conversation on one runtime."""

    def __init__(
        self, place: Workplace, models: Models, settings: Settings, live: Live, turn: Turn, runtime: Runtime
    ) -> None:
        self._place = place
        self._models = models
        self._settings = settings
        self._live = live
        self._turn = turn
        self._runtime = runtime
        self._partial: list[str] = []

    async def run(self, message: Message) -> Turn:
        """Run to the end and keep how it ended. Only cancelling the task itself gets past it."""
        request = TurnRequest(self._live.record, self._turn, message, started=len(self._live.path) == 1)
        ended = self._turn
        with anyio.CancelScope() as scope:
            self._live.scope = scope
            if self._live.stopping:
                scope.cancel()
            go = chained(self._runtime.around_turn, "around_turn", self._whole)
            result, error = await caught(go, request)
            ended = result or self._failed(error)
        if scope.cancelled_caught:
            ended = self._turn.model_copy(update={"state": "stopped"})
            await caught(self._keep_partial)
        ended = ended.model_copy(update={"ended_at": self._place.clock.now()})
        with anyio.CancelScope(shield=True):
            event = TurnEnded(conversation=self._live.record.id, turn=ended)
            _, error = await caught(self._place.services.need(STORE).commit, [ended], [event])
            if error is not None:
                log.error("The end of a turn could not be kept", exc_info=error)
                self._place.bus.publish(event)
        return ended

    def _failed(self, error: BaseException | None) -> Turn:
        if error is not None and not is_plain(error):
            log.error("A turn failed", exc_info=error, extra={"turn": self._turn.id})
            return self._turn.model_copy(update={"state": "failed", "error": BUG})
        return self._turn.model_copy(update={"state": "failed", "error": sentence(error or AtlasError("It ended."))})

    async def _whole(self, request: TurnRequest) -> Turn:
        text = "".join(part.text for part in request.message.parts if isinstance(part, TextPart) and not part.source)
        command = self._runtime.commands.get(text[1:].partition(" ")[0].strip()) if text.startswith("/") else None
        if command is not None:
            said = await command.run(text.partition(" ")[2].strip(), self._turn)
            part = TextPart(text=said, trust="agent", source="command")
            role: Literal["user", "assistant"] = "user" if command.prompts else "assistant"
            await self._live.append(role=role, sender=Sender(kind="notice"), parts=(part,), turn=self._turn.id)
            if not command.prompts:
                return self._turn.model_copy(update={"state": "done"})
        while True:
            await self._live.take_waiting(self._turn.id)
            message = await self._ask()
            calls = message.calls()
            if calls:
                await self._tool_calls.run(message.id, calls)
            elif not any(waiting.delivery == "steer" for waiting in self._live.waiting):
                return self._turn.model_copy(update={"state": "done"})

    async def _settled(self) -> Prefix:
        record = self._live.record
        store = self._place.services.need(STORE)
        if self._live.prefix is None:
            self._live.prefix = await load_prefix(store, record)
        if self._live.prefix is None:
            prefix, left_out = await make_prefix(self._runtime, record)
            await self._live.change(
                {"instructions": prefix.instructions.id, "tools": prefix.tools.id},
                records=[prefix.instructions, prefix.tools],
                tell=False,
            )
            self._live.prefix = prefix
            await self._notice(left_out)
        return self._live.prefix or await self._settled()  # a compaction may have come between

    async def _notice(self, sentences: Sequence[str]) -> None:
        for said in sentences:
            await self._place.bus.announce(Noticed(conversation=self._live.record.id, text=said))

    async def _ask(self) -> Message:
        record = self._live.record
        provider, model = await self._models.choose(record.provider, record.model, runtime=self._runtime)
        self._tool_calls = ToolCalls(self._place, self._live, self._turn, self._runtime, model)
        self._partial = []
        store = self._place.services.need(STORE)
        prefix = await self._settled()
        request = ModelRequest(
            provider=provider.id,
            model=model.id,
            instructions=prefix.instructions.text,
            tools=prefix.specs,
            messages=tuple(self._live.path),
            conversation=record.id,
            effort=record.effort or self._settings.section(ModelSettings).effort or "medium",
            attachments=lambda id: store.file(id).read_bytes(),
        )
        reply = await self._models.ask(request, self._emit, runtime=self._runtime, turn=self._turn.id)
        if reply.stop_reason in _STOPS:
            await self._notice([_STOPS[reply.stop_reason]])
        self._partial = []
        return await self._live.append(
            role="assistant",
            sender=Sender(kind="agent", name=record.agent),
            parts=_vouched(reply),
            turn=self._turn.id,
            provider_items=ProviderItems(provider=reply.provider or provider.id, items=reply.provider_items)
            if reply.provider_items
            else None,
        )

    def _emit(self, delta: ModelDelta) -> None:
        conversation, turn = self._live.record.id, self._turn.id
        if isinstance(delta, Restarted):
            self._partial = []
            self._place.bus.publish(ModelRestarted(conversation=conversation, turn=turn, why=delta.why))
        elif isinstance(delta, TextDelta):
            self._partial.append(delta.text)
            self._place.bus.publish(TextStreamed(conversation=conversation, turn=turn, text=delta.text))
        else:
            self._place.bus.publish(
                TextStreamed(conversation=conversation, turn=turn, kind="reasoning", text=delta.text)
            )

    async def _keep_partial(self) -> None:
        """Keep what the model had said when it was stopped: the user has read it, so it was said."""
        text = "".join(self._partial)
        if text.strip():
            await self._live.append(
                role="assistant",
                sender=Sender(kind="agent", name=self._live.record.agent),
                parts=(TextPart(text=text, trust="agent"),),
                turn=self._turn.id,
            )


def _vouched(reply: ModelReply) -> tuple[Part, ...]:
    """Return the reply's parts with the agent as the one who vouches for their text; none is left empty."""
    parts: list[Part] = []
    for part in reply.parts:
        if isinstance(part, TextPart):
            if part.text:
                parts.append(part.model_copy(update={"trust": "agent"}))
        elif not isinstance(part, ReasoningPart) or part.text:
            parts.append(part)
    return tuple(parts) or (TextPart(text="(The model said nothing.)", trust="agent", source="atlas"),)
