"""Titles: after a conversation's first turn a small model is asked for one; what had to wait gets its own later."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import NumberedEvent, TurnEnded
from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.messages import Message, TextPart, first_line
from atlas_sdk.providers import ProviderError
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services import ServiceKey
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationChange
from atlas_sdk.services.llm import LLM
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.store import STORE

from .settings import TitlesSettings
from .untitled import untitled
from .wording import INSTRUCTIONS, asked, title_in

SECONDS = 30.0
MOST_TOKENS = 2_000
"""A title takes twenty; a small model that reasons takes more before it."""
UNTITLED = ("review", "subagent")
"""Copies and helpers, which no list shows by a name of their own."""
MOST_LATER = 20
"""Titles that a start gives to what is there: a home with a thousand first lines must not cost a thousand calls."""
SETTLE_SECONDS = 1.0
"""A home that was opened to read one thing is closed by then, and would cut a call short."""
READY_SECONDS, READY_POLL_SECONDS = 30.0, 0.25
"""How long a start waits for the plugins that bring the models."""
MOST_LOOKED = 64


class Titles:
    """Titles conversations. A title that a person gave is never written over.

    In a home that is open for one command nothing is asked, for the answer could come after its end. A command that
    stays open says so with ``stay``, and with ``leave`` that it ends.
    """

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._under_way: set[str] = set()
        self._looked: deque[str] = deque(maxlen=MOST_LOOKED)
        """The last turns whose end was looked at, and whose titles were given."""
        self._stays, self._leaves = anyio.Event(), False
        self._moved = anyio.Event()

    async def observe(self, event: NumberedEvent) -> None:
        if not isinstance(event.event, TurnEnded):
            return
        turn = event.event.turn
        if turn.state == "done" and (self._stays.is_set() or not ONE_COMMAND.get()):
            await self._tried(turn.conversation, turn.id)
        self._looked.append(turn.id)
        self._move()

    async def work(self) -> None:
        """Give titles to conversations that have only their first line, a few, one after the other."""
        if ONE_COMMAND.get():
            await self._stays.wait()
        else:
            await anyio.sleep(SETTLE_SECONDS)
        try:
            await self._give_later()
        except AtlasError as error:
            self._ctx.logger.warning("Titles that had to wait could not be given: %s", error)

    async def _give_later(self) -> None:
        if not self._ctx.section(TitlesSettings).enabled:
            return
        ids = await untitled(self._ctx)
        if not ids or not await self._can_ask(ids[0]):
            return
        given = 0
        for id in ids:
            if self._leaves or given == MOST_LATER:
                return
            asked_for = await self._tried(id)
            if asked_for is None:
                return  # a model that fails once is not asked twenty times
            given += asked_for

    def stay(self) -> None:
        """Give titles from now on, though the home is open for one command: it ends when a person leaves it."""
        self._stays.set()

    async def leave(self, turn: str, seconds: float) -> bool:
        """Begin nothing new, wait for titles under way and for a turn's, and return whether one is not given yet."""
        self._leaves = ONE_COMMAND.get()
        with anyio.move_on_after(seconds):
            while self._is_busy(turn):
                await self._moved.wait()
        return self._is_busy(turn)

    def _is_busy(self, turn: str) -> bool:
        return bool(self._under_way) or (bool(turn) and turn not in self._looked)

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    async def _can_ask(self, id: str) -> bool:
        """Wait for the model, and return whether it is there."""
        record = await self._ctx.services.need(CONVERSATIONS).get(id)
        with anyio.move_on_after(READY_SECONDS):
            while True:
                try:
                    await self._ctx.services.need(MODELS).choose(record.provider, record.model)
                except ProviderError:
                    await anyio.sleep(READY_POLL_SECONDS)
                else:
                    return True
        return False

    async def _tried(self, id: str, turn: str = "") -> bool | None:
        """Title a conversation quietly; return whether a model was asked, None where that failed."""
        if id in self._under_way:
            return False
        self._under_way.add(id)
        try:
            return await self._title(id, turn)
        except (AtlasError, TimeoutError) as error:
            why = str(error) or "the model did not answer in time"
            self._ctx.logger.info("A conversation keeps its first line as its title", extra={"why": why})
            return None
        finally:
            self._under_way.discard(id)
            self._move()

    async def _title(self, id: str, turn: str) -> bool:
        conversations, llm = self._ctx.services.need(CONVERSATIONS), self._ctx.services.get(LLM)
        if llm is None or not self._ctx.section(TitlesSettings).enabled:
            return False
        record = await conversations.get(id)
        if record.origin.kind in UNTITLED:
            return False
        path = await conversations.path(record.id)
        first = first_turn(path)
        if not path or record.title != first_line(path[0]) or not first or turn not in ("", first):
            return False
        if not turn and not await self._is_done(first):
            return False
        said = await llm.complete(
            asked(words(path[0]), answer_in(path, first)),
            purpose="title",
            system=INSTRUCTIONS,
            max_tokens=MOST_TOKENS,
            conversation=record.id,
            timeout=SECONDS,
            small=True,
        )
        title = title_in(said.text)
        now: Conversation = await conversations.get(record.id)
        if title and now.title == record.title:
            await conversations.change(record.id, ConversationChange(title=title))
        return True

    async def _is_done(self, turn: str) -> bool:
        found = await self._ctx.services.need(STORE).get(Turn, turn)
        return found is not None and found.state == "done"


def first_turn(path: Sequence[Message]) -> str:
    """Return the first turn in which the agent answered, nothing where there is none."""
    first = next((message for message in path if message.role == "assistant" and message.sender.kind == "agent"), None)
    return (first.turn or "") if first is not None else ""


def answer_in(path: Sequence[Message], turn: str) -> str:
    """Return what a turn came to."""
    said = (message for message in reversed(path) if message.turn == turn and message.role == "assistant")
    return next((message.text() for message in said), "")


def words(message: Message) -> str:
    """Return what was said in a message, without what stands beside it for the model."""
    said = [part.text for part in message.parts if isinstance(part, TextPart) and part.trust != "agent"]
    return " ".join(" ".join(said).split())


TITLES: ServiceKey[Titles] = ServiceKey("titles", 1)
"""The plugin's own view of itself: its hooks, its methods and its background work share one object."""
