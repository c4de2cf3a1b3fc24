"""When a conversation is compacted: before a turn, within one, after one, and when the provider found it too long.

What the provider counted decides. A compaction that failed is left alone for a while, and nothing was changed by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import Noticed, NumberedEvent, TurnEnded
from atlas_sdk.hooks import ModelGo, Stage, TurnGo, TurnRequest
from atlas_sdk.messages import Message
from atlas_sdk.providers import Emit, ModelInfo, ModelReply, ModelRequest, ProviderError
from atlas_sdk.records import Conversation, ModelCall, Turn
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.store import STORE

from .failures import NothingToCompactError
from .settings import CompactionSettings
from .sizes import Sizes
from .words import COMMANDS, command_of

if TYPE_CHECKING:
    from .compactor import Compactor, Outcome

BACK_OFF = timedelta(seconds=60)
STUCK_AFTER = 3
"""So many failures in a row, with a history that no longer fits, are no passing trouble any more."""
KEPT_STATES = 256
LAST_CALL = """SELECT data FROM model_call WHERE started_at BETWEEN :since AND :until AND conversation = :id
    AND purpose = 'turn' AND +state = 'done' ORDER BY started_at DESC, id DESC LIMIT 1"""
"""The plus keeps SQLite from looking by the state, which nearly every call shares."""
TRIMMED = "Trimmed older conversation history to stay within the context window."
TRIMMED_BY_COUNT = "Trimmed older conversation history, as the conversation had more than {most:,} messages."
STUCK = (
    "This conversation no longer fits the model's window, and summing it up failed {failures} times: {why} Nothing is "
    "lost. Pick a model with a larger window, try /compact later, or go on in a fresh window with /clear."
)


class TooFullError(AtlasError):
    """The next request would not fit: the turn is to compact and go on."""


@dataclass(frozen=True)
class Measure:
    """What the provider counted: the prompt, what it answered, and the last message it was shown."""

    prompt: int
    answer: int
    last: str
    window: int


@dataclass
class State:
    """What is known of a conversation. ``measure`` is None when nothing was counted since the last compaction."""

    measure: Measure | None = None
    known: bool = False
    failures: int = 0
    retry_at: datetime | None = None
    turn: str = ""
    lock: anyio.Lock = field(default_factory=anyio.Lock)


class Watch:
    """Stands around turns, innermost, and hears when they end. The owner of every conversation's state."""

    stage: Stage = Stage.LAST

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self.meter = Meter(self)
        self._states: dict[str, State] = {}
        self._ended, self._due = anyio.create_memory_object_stream[str](64)

    @cached_property
    def _compactor(self) -> Compactor:
        from .compactor import Compactor  # with all that sums up, which most days need not

        return Compactor(self._ctx)

    # --- the three moments --------------------------------------------------------------------

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        id = request.conversation.id
        # A review reads a copy, within a budget of its own that ends before the window does.
        if not self._settings.enabled or request.conversation.origin.kind == "review":
            return await go(request)
        state = self.state(id)
        state.turn = request.turn.id
        try:
            await self._before(request, state)
            return await self._patiently(request, go)
        finally:
            state.turn = ""

    async def _before(self, request: TurnRequest, state: State) -> None:
        if command_of(request.message) in COMMANDS:
            return
        most = self._settings.max_conversation_history
        if most and len(await self._ctx.services.need(CONVERSATIONS).path(request.conversation.id)) > most:
            await self.attempt(request.conversation.id, said=TRIMMED_BY_COUNT.format(most=most))
        if not state.known:
            state.measure, state.known = await self._recorded(request.conversation), True
        measure = state.measure
        if measure is None:
            return
        window = await self._window(request.conversation, measure)
        added = Sizes().message(request.message)
        if self.is_full(measure.prompt, window) or measure.prompt + measure.answer + added >= window:
            await self.attempt(request.conversation.id, hard=measure.prompt + added >= window)

    async def _patiently(self, request: TurnRequest, go: TurnGo) -> Turn:
        """Run the turn; where it stops for want of room, compact and let it go on from where it stood."""
        refused = False
        while True:
            try:
                return await go(request)
            except TooFullError:
                await self.attempt(request.conversation.id)
            except ProviderError as error:
                if error.kind != "context" or refused:
                    raise
                refused = True
                if not await self.attempt(request.conversation.id, hard=True, refused=True):
                    raise
            # Without parts: a command that began the turn is not run again.
            request = replace(request, message=request.message.model_copy(update={"parts": ()}))

    async def observe(self, event: NumberedEvent) -> None:
        if isinstance(event.event, TurnEnded):
            state = self._states.get(event.event.conversation or "")
            measure = state.measure if state is not None else None
            if measure is not None and self._settings.enabled and self.is_full(measure.prompt, measure.window):
                with suppress(anyio.WouldBlock):  # then the next turn finds it full
                    self._ended.send_nowait(event.event.conversation or "")

    async def run(self) -> None:
        """Compact what is full after its turns ended, until cancelled."""
        async with anyio.create_task_group() as group:
            async for id in self._due:
                group.start_soon(self._after, id)

    async def _after(self, id: str) -> None:
        with suppress(AtlasError):  # the store is being closed, or full: the next turn tries again
            await self.attempt(id)

    def close(self) -> None:
        """Let go of what waits."""
        self._ended.close()
        self._due.close()

    # --- one attempt --------------------------------------------------------------------------

    async def attempt(self, id: str, *, hard: bool = False, refused: bool = False, said: str = TRIMMED) -> bool:
        """Compact unless it failed a moment ago; say whether the conversation is shorter than it was.

        ``hard`` says that it does not fit as it is, and ``refused`` that the provider said so, whatever the window.
        ``said`` is what people are told once it was done.
        """
        state = self.state(id)
        seen = state.measure
        async with state.lock:
            if seen is not None and state.measure is None:
                return True  # somebody else did it meanwhile
            now = self._ctx.clock.now()
            if state.retry_at is not None and now < state.retry_at:
                return False
            try:
                await self._compact(id, state, refused=refused)
            except (AtlasError, TimeoutError) as error:
                await self._failed(id, state, error, hard=hard)
                return False
            await self._ctx.services.need(EVENTS).announce(Noticed(conversation=id, text=said))
        return True

    async def by_hand(self, id: str, *, wish: str = "") -> Outcome:
        """Compact because a person asked, who may say what to keep above all. Raises AtlasError."""
        state = self.state(id)
        async with state.lock:
            return await self._compact(id, state, manual=True, wish=wish)

    async def clear(self, id: str) -> int:
        """Archive all of a conversation because a person asked."""
        state = self.state(id)
        async with state.lock:
            count = await self._compactor.clear(id)
            self._begin_anew(state)
        return count

    async def _compact(
        self, id: str, state: State, *, refused: bool = False, manual: bool = False, wish: str = ""
    ) -> Outcome:
        counted = state.measure.prompt if state.measure is not None else 0
        window = 0
        if refused:  # what was too long is about what there is: the window is less than it was taken for
            path = await self._ctx.services.need(CONVERSATIONS).path(id)
            window = max(counted, Sizes().messages(path))
        outcome = await self._compactor.compact(id, counted=counted, window=window, manual=manual, wish=wish)
        self._begin_anew(state)
        return outcome

    @staticmethod
    def _begin_anew(state: State) -> None:
        state.measure, state.known, state.failures, state.retry_at = None, True, 0, None

    async def _failed(self, id: str, state: State, error: Exception, *, hard: bool) -> None:
        state.failures += 1
        state.retry_at = self._ctx.clock.now() + BACK_OFF
        self._ctx.logger.warning("A conversation was not compacted", extra={"conversation": id, "why": str(error)})
        if state.measure is not None and state.measure.prompt >= state.measure.window:
            hard = True
        if hard and state.failures >= STUCK_AFTER and state.failures % STUCK_AFTER == 0:
            why = str(error) if not isinstance(error, NothingToCompactError) else "what is left cannot be cut."
            said = STUCK.format(failures=state.failures, why=why)
            await self._ctx.services.need(EVENTS).announce(Noticed(conversation=id, text=said))

    # --- what is known ------------------------------------------------------------------------

    @property
    def _settings(self) -> CompactionSettings:
        return self._ctx.section(CompactionSettings)

    def is_full(self, prompt: int, window: int) -> bool:
        """Say whether a prompt reaches the threshold."""
        return prompt >= math.floor(self._settings.threshold * window)

    def waits(self, state: State) -> bool:
        """Say whether an attempt failed a moment ago."""
        return state.retry_at is not None and self._ctx.clock.now() < state.retry_at

    def state(self, id: str) -> State:
        """Return what is known of a conversation; those not heard of for longest are forgotten."""
        state = self._states.pop(id, None) or State()
        self._states[id] = state
        for other in list(self._states)[:-KEPT_STATES]:
            if not self._states[other].turn:
                del self._states[other]
        return state

    def watched(self, id: str | None) -> State | None:
        """Return what is known of a conversation whose turn runs here."""
        state = self._states.get(id or "")
        return state if state is not None and state.turn else None

    def window_of(self, provider: str, model: str) -> int:
        """Return the window of a model as its provider lists it."""
        found = self._ctx.services.need(MODELS).providers.get(provider)
        listed = {info.id: info for info in found.models} if found is not None else {}
        return listed.get(model, ModelInfo(model)).context_window

    async def _window(self, record: Conversation, measure: Measure) -> int:
        if not record.provider and not record.model:
            return measure.window
        return (await self._ctx.services.need(MODELS).choose(record.provider, record.model))[1].context_window

    async def _recorded(self, record: Conversation) -> Measure | None:
        """Return what the last call of the conversation's last turn took, by its row in the books.

        It began between the answer it gave and the message before that, so only rows of that moment are looked at.
        """
        path = await self._ctx.services.need(CONVERSATIONS).path(record.id)
        at = next((at for at in range(len(path) - 1, 0, -1) if _answered(path[at])), 0)
        if not at:
            return None
        rows = await self._ctx.services.need(STORE).read(
            lambda reading: reading.rows(
                LAST_CALL, since=_column(path[at - 1].created_at), until=_column(path[at].created_at), id=record.id
            )
        )
        if not rows:
            return None
        call = ModelCall.model_validate_json(rows[0]["data"])
        if path[0].created_at > call.started_at:
            return None  # it was compacted since
        window = (await self._ctx.services.need(MODELS).choose(record.provider, record.model))[1].context_window
        return Measure(call.usage.input_tokens, call.usage.output_tokens, path[at - 1].id, window)


class Meter:
    """Stands around model calls, outermost: keeps what the provider counted, and stops a request that is too long."""

    stage: Stage = Stage.FIRST

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        state = self._watch.watched(request.conversation)
        if state is None or request.purpose != "turn":
            return await go(request, emit)
        measure = state.measure
        if measure is not None and not self._watch.waits(state):
            projected = measure.prompt + measure.answer + Sizes().messages(_since(request.messages, measure.last))
            if self._watch.is_full(measure.prompt, measure.window) or projected >= measure.window:
                raise TooFullError("The conversation is too long for the next request.", code="too_full")
        reply = await go(request, emit)
        if reply.usage.input_tokens and request.messages:
            usage, last = reply.usage, request.messages[-1].id
            window = self._watch.window_of(request.provider, request.model)
            state.measure, state.known = Measure(usage.input_tokens, usage.output_tokens, last, window), True
        return reply


def _since(messages: Sequence[Message], last: str) -> list[Message]:
    """Return the messages that came after one, without the answer to it."""
    found: list[Message] = []
    for message in reversed(messages):
        if message.id == last:
            break
        found.append(message)
    return found[:-1]


def _answered(message: Message) -> bool:
    return message.role == "assistant" and message.sender.kind == "agent"


def _column(time: datetime) -> str:
    return time.isoformat(timespec="microseconds")


_watches: dict[int, Watch] = {}
"""By context: the hooks are called again whenever a plugin is turned on or off, and what was counted outlives that."""


def own(ctx: PluginContext) -> Watch:
    """Return the one watch of a home."""
    found = _watches.get(id(ctx))
    if found is None:
        found = _watches[id(ctx)] = Watch(ctx)

        def close() -> None:
            _watches.pop(id(ctx)).close()

        ctx.on_unload(close)
    return found
