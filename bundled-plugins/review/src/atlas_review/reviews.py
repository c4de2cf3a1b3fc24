"""The background review: due when a turn ends, then run on a copy of the conversation. Nothing waits for it."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import MessageAdded, MessageTaken, NumberedEvent, ReviewEnded, TurnEnded, TurnStarted
from atlas_sdk.forks import forked
from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Checkpoint, Conversation, ModelCall, Origin, Turn
from atlas_sdk.services import ServiceKey, Services
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.memory import MEMORY
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.skills import SKILLS, SkillChange
from atlas_sdk.services.store import STORE, Reading

from .counts import ROWS, Counts, Due, counted
from .curator import Curator
from .outcome import MemoryWrite, changes, line, memory_writes
from .owed import Owed
from .prompts import prompt
from .review import Review, token_budget

MOST_COUNTED = 256
"""Conversations whose counts stay in memory; one met again is counted anew."""
MOST_WAITING = 32
READY_SECONDS, READY_POLL_SECONDS = 30.0, 0.1
"""How long what is owed waits at a start for the plugins that bring the models."""
QUIET_SECONDS = 30.0
"""How long a review gives way to turns: a person who waits for an answer comes first, but not for ever."""
REVIEW_SECONDS = 20 * 60.0
"""Sixteen calls of a slow model take less; a review that hangs must not hold its conversation's next one for ever."""
LOOKED_SECONDS = 5.0
"""How long somebody who waits for a review gives the end of a turn to be looked at: it is told a moment before."""
REVIEWED = frozenset({"client", "channel"})
"""Where a person talks. A routine's run, a subagent and a review itself get none."""
MAIN = "main"
NAME = "background_review"


class Reviews:
    """Starts reviews and says what they did. An observer, and what the guard and the budget look at."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self.services: Services = ctx.services
        self.curator = Curator(ctx)
        self.running: dict[str, Review] = {}
        """By the id of the copy that a review works in."""
        self.last_turn = ""
        """The last turn that was looked at."""
        self.under_review: set[str] = set()
        """The conversations that a review is for, from when it is due to its end."""
        self._counts: dict[str, Counts] = {}
        self._turns: set[str] = set()
        self._quiet = anyio.Event()
        self._jobs: MemoryObjectSendStream[tuple[Turn, Due]] | None = None
        self._owed = Owed(ctx.services)
        self._moved = anyio.Event()

    # --- when -------------------------------------------------------------------------------------

    async def observe(self, event: NumberedEvent) -> None:
        """Count a message that comes; at a turn's end, start a review where one is due."""
        told = event.event
        if isinstance(told, MessageAdded | MessageTaken):
            counts = self._counts.get(told.message.conversation)
            if counts is not None and not told.message.queued:
                counts.add(told.message, self._memory_tools())
        elif isinstance(told, TurnStarted) and told.turn.conversation not in self.running:
            self._turns.add(told.turn.id)
        elif isinstance(told, TurnEnded) and told.turn.conversation not in self.running:
            self._turns.discard(told.turn.id)
            if not self._turns:
                self._quiet.set()
                self._quiet = anyio.Event()
            await self._ended(told.turn)
            self.last_turn = told.turn.id
            self._move()

    async def _ended(self, turn: Turn) -> None:
        counts = self._counts.pop(turn.conversation, None) or await self._counted(turn)
        self._counts[turn.conversation] = counts
        while len(self._counts) > MOST_COUNTED:
            del self._counts[next(iter(self._counts))]
        due = counts.due(turn.id)
        due = Due(due.memory and bool(self._memory_tools()), due.skills and self.services.get(SKILLS) is not None)
        if not due or turn.state != "done" or counts.guests or turn.conversation in self.under_review:
            return
        conversation = await self.services.need(STORE).get(Conversation, turn.conversation)
        if conversation is None or conversation.origin.kind not in REVIEWED or self._jobs is None:
            return
        await self._owed.put(turn.conversation, due)
        self._queue(turn, due)

    def _queue(self, turn: Turn, due: Due) -> None:
        if self._jobs is None:
            return
        self.under_review.add(turn.conversation)
        try:
            self._jobs.send_nowait((turn, due))
        except anyio.WouldBlock:
            self.under_review.discard(turn.conversation)
            self._ctx.logger.warning("A background review was left out: too many wait")
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            self.under_review.discard(turn.conversation)  # Atlas ends; what is owed is done by the next server

    async def wait(self, conversation: str, turn: str, seconds: float) -> bool:
        """Wait for the review that a turn may have made due, and return whether it is under way still."""
        with anyio.move_on_after(LOOKED_SECONDS):
            while turn and self.last_turn != turn and conversation not in self.under_review:
                await self._moved.wait()
        with anyio.move_on_after(seconds):
            while conversation in self.under_review:
                await self._moved.wait()
        return conversation in self.under_review

    def _move(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()

    async def _counted(self, turn: Turn) -> Counts:
        tools = self._memory_tools()

        def work(reading: Reading) -> Counts:
            return counted(reading.rows(ROWS, conversation=turn.conversation, turn=turn.id), tools)

        return await self.services.need(STORE).read(work)

    def _memory_tools(self) -> tuple[str, ...]:
        memory = self.services.get(MEMORY)
        return memory.review_tools if memory is not None else ()

    async def bot_of(self, conversation: str) -> str:
        """Return the bot whose conversation it is, nothing for the main agent."""
        agent = (await self.services.need(CONVERSATIONS).get(conversation)).agent
        return "" if agent == MAIN else agent

    # --- running ----------------------------------------------------------------------------------

    async def work(self) -> None:
        """Run reviews as they become due, for as long as the plugin is on."""
        self._jobs, jobs = anyio.create_memory_object_stream[tuple[Turn, Due]](MOST_WAITING)
        async with self._jobs, jobs, anyio.create_task_group() as group:
            await self._take_up()
            async for turn, due in jobs:
                group.start_soon(self._run, turn, due)

    async def _take_up(self) -> None:
        """Begin what another process left undone. One command could not do it either, and would pay for it again."""
        if ONE_COMMAND.get():
            return
        try:
            owed = await self._owed.take()  # first, since what becomes due from now on is queued by itself
            with anyio.move_on_after(READY_SECONDS):
                while owed and not self.services.need(MODELS).providers:  # noqa: ASYNC110  # a start says nothing of it
                    await anyio.sleep(READY_POLL_SECONDS)
            for conversation, due in owed.items():
                store = self.services.need(STORE)
                turns = await store.find(Turn, conversation=conversation, state="done", newest=True, limit=1)
                if turns and not (await self._counted(turns[0])).guests:
                    self._queue(turns[0], due)
        except AtlasError as error:
            self._ctx.logger.warning("A background review could not be taken up: %s", error)

    async def _run(self, turn: Turn, due: Due) -> None:
        try:
            with anyio.move_on_after(QUIET_SECONDS):
                while self._turns:
                    await self._quiet.wait()
            review, was_stopped = await self._begin(turn, due), False
            if review is not None:
                try:
                    was_stopped = await self._whole(review)
                finally:
                    self.running.pop(review.id, None)
            if not was_stopped:  # else Atlas ends, and it is owed still
                await self._owed.drop(turn.conversation)
        except AtlasError as error:
            self._ctx.logger.warning("A background review failed: %s", error)
        finally:
            self.under_review.discard(turn.conversation)
            self._move()

    async def _begin(self, turn: Turn, due: Due) -> Review | None:
        """Make the copy, as the conversation stood when the turn ended; None where that is past."""
        store, conversations = self.services.need(STORE), self.services.need(CONVERSATIONS)
        conversation = await conversations.get(turn.conversation)
        path = await conversations.path(conversation.id)
        last = next((message for message in reversed(path) if message.turn == turn.id), None)
        if last is None or last.role != "assistant" or last.calls():
            return None
        asked = await store.find(ModelCall, turn=turn.id, state="done", newest=True, limit=1)
        review = Review(
            id="",
            conversation=conversation.id,
            due=due,
            memory_tools=self._memory_tools(),
            budget=await self._budget(conversation),
            last_tokens=asked[0].usage.input_tokens if asked else 0,
        )
        made, records = forked(
            conversation.model_copy(update={"head": last.id, "title": conversation.title or "Background review"}),
            await store.find(Checkpoint, conversation=conversation.id),
            origin=Origin(kind="review", name=NAME),
            now=self._ctx.clock.now(),
        )
        await store.commit(records)
        review.id = made.id
        return review

    async def _budget(self, conversation: Conversation) -> int:
        _, model = await self.services.need(MODELS).choose(conversation.provider, conversation.model)
        return token_budget(model.context_window if model.window_known else None)

    async def _whole(self, review: Review) -> bool:
        """Have the copy answer, tell what it changed, and return whether somebody else stopped it."""
        store, conversations = self.services.need(STORE), self.services.need(CONVERSATIONS)
        part = TextPart(text=prompt(review), trust="agent", source=NAME)
        self.running[review.id] = review
        try:
            await conversations.send(review.id, [part], sender=Sender(kind="notice", name=NAME))
            with anyio.move_on_after(REVIEW_SECONDS) as limit:
                await conversations.wait(review.id)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await conversations.stop(review.id)
                await conversations.wait(review.id)
        said = await store.find(Message, conversation=review.id)
        writes = memory_writes(said, review.memory_tools)
        skills = self.services.get(SKILLS)
        changed = await skills.changes(review.id) if skills is not None else ()
        await self._tell(review, writes, changed)
        turns = await store.find(Turn, conversation=review.id, state="stopped")
        return bool(turns) and not limit.cancelled_caught

    async def _tell(self, review: Review, writes: Sequence[MemoryWrite], skills: Sequence[SkillChange]) -> None:
        said = line(writes, skills)
        if said:
            event = ReviewEnded(conversation=review.conversation, line=said, changes=changes(writes, skills))
            await self.services.need(STORE).commit([], [event])
        turns = await self.services.need(STORE).find(Turn, conversation=review.id)
        how = "budget spent" if review.spent else turns[-1].state if turns else "failed"
        self._ctx.logger.info(
            "A background review ended.",
            extra={
                "conversation": review.conversation,
                "how": how,
                "model_calls": review.calls,
                "input_tokens": review.tokens,
                "did": said or "nothing",
                "proposals": [one.proposal for one in writes if one.proposal],
            },
        )


REVIEWS: ServiceKey[Reviews] = ServiceKey("review", 1)
"""The plugin's own view of itself: its hooks and its background work share one object."""
