"""The background review: due when a turn ends, then run on a copy of the conversation. Nothing waits for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import MessageAdded, MessageTaken, NumberedEvent, ReviewEnded, TurnEnded, TurnStarted
from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services import ServiceKey, Services
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.skills import SKILLS
from atlas_sdk.services.store import STORE, Reading

from .copies import NAME, Copies
from .counts import ROWS, Counts, Due, counted
from .curator import Curator
from .outcome import changes, line, memory_writes, skill_changes
from .owed import Owed, OwedReview
from .review import Review

T = TypeVar("T")
MOST_COUNTED = 256
"""Conversations whose counts stay in memory; one met again is counted anew."""
MOST_WAITING = 32
READY_SECONDS, READY_POLL_SECONDS = 30.0, 0.25
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
        self._jobs: MemoryObjectSendStream[Turn] | None = None
        self._owed = Owed(ctx.services)
        self._copies = Copies(ctx.services, ctx.clock)
        self._moved = anyio.Event()

    # --- when -------------------------------------------------------------------------------------

    async def observe(self, event: NumberedEvent) -> None:
        """Count a message that comes; at a turn's end, start a review where one is due."""
        told = event.event
        if isinstance(told, MessageAdded | MessageTaken):
            counts = self._counts.get(told.message.conversation)
            if counts is not None and not told.message.queued:
                counts.add(told.message, self._copies.memory_tools())
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
        due = Due(
            due.memory and bool(self._copies.memory_tools()), due.skills and self.services.get(SKILLS) is not None
        )
        if not due or turn.state != "done" or counts.guests or turn.conversation in self.under_review:
            return
        conversation = await self.services.need(STORE).get(Conversation, turn.conversation)
        if conversation is None or conversation.origin.kind not in REVIEWED or self._jobs is None:
            return
        await self._owed.put(turn.conversation, due)
        self._queue(turn)

    def _queue(self, turn: Turn) -> None:
        """Have the review that is owed run after this turn. Harmless twice."""
        if self._jobs is None or turn.conversation in self.under_review:
            return
        self.under_review.add(turn.conversation)
        try:
            self._jobs.send_nowait(turn)
        except anyio.WouldBlock:
            self.under_review.discard(turn.conversation)
            self._ctx.logger.warning("A background review waits for the next start: too many are due")
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
        tools = self._copies.memory_tools()

        def work(reading: Reading) -> Counts:
            return counted(reading.rows(ROWS, conversation=turn.conversation, turn=turn.id), tools)

        return await self.services.need(STORE).read(work)

    async def bot_of(self, conversation: str) -> str:
        """Return the bot whose conversation it is, nothing for the main agent."""
        agent = (await self.services.need(CONVERSATIONS).get(conversation)).agent
        return "" if agent == MAIN else agent

    # --- running ----------------------------------------------------------------------------------

    async def work(self) -> None:
        """Run reviews as they become due, for as long as the plugin is on."""
        self._jobs, jobs = anyio.create_memory_object_stream[Turn](MOST_WAITING)
        async with self._jobs, jobs, anyio.create_task_group() as group:
            group.start_soon(self._take_up)
            async for turn in jobs:
                group.start_soon(self._run, turn)

    async def _take_up(self) -> None:
        """Begin what another process left undone. One command could not do it either, and would pay for it again.

        All of it stays owed until it ended: this server may end before the models are there, too.
        """
        if ONE_COMMAND.get():
            return
        try:
            waiting = set(await self._owed.all())
            with anyio.move_on_after(READY_SECONDS):
                while waiting:  # nothing tells that a model can be asked from now on
                    waiting = {one for one in sorted(waiting) if not await self._is_taken(one)}
                    await anyio.sleep(READY_POLL_SECONDS)
        except AtlasError as error:
            self._ctx.logger.warning("A background review could not be taken up: %s", error)

    async def _is_taken(self, conversation: str) -> bool:
        """Have an owed review run, or end what nobody may go on with; False while its model is not there."""
        owed = await self._owed.get(conversation)
        if owed is None or conversation in self.under_review:
            return True
        store = self.services.need(STORE)
        turns = await store.find(Turn, conversation=conversation, state="done", newest=True, limit=1)
        if not turns or (await self._counted(turns[0])).guests:
            await self._owed.end(conversation, await self._told(conversation, owed))
        elif await self._copies.can_ask(conversation):
            self._queue(turns[0])
        else:
            return False
        return True

    async def _run(self, turn: Turn) -> None:
        try:
            with anyio.move_on_after(QUIET_SECONDS):
                while self._turns:
                    await self._quiet.wait()
            if not await self._tried(self._review, turn):
                await self._tried(self._owed.failed, turn.conversation)
        finally:
            self.under_review.discard(turn.conversation)
            self._move()

    async def _tried(self, work: Callable[[T], Awaitable[None]], about: T) -> bool:
        try:
            await work(about)
        except AtlasError as error:
            self._ctx.logger.warning("A background review failed: %s", error)
            return False
        return True

    async def _review(self, turn: Turn) -> None:
        review = await self._begun(turn)
        if review is None:
            return
        self.running[review.id] = review
        try:
            ended = await self._whole(review)
        finally:
            self.running.pop(review.id, None)
        if ended:  # else Atlas ends, and it is owed still
            await self._owed.end(review.conversation, await self._summary(review))

    async def _begun(self, turn: Turn) -> Review | None:
        """Return the review, in the copy that it was begun in or in a new one; None where the turn is past."""
        owed = await self._owed.get(turn.conversation)
        if owed is None:
            return None
        if owed.copy and (review := await self._copies.again(owed.copy, turn.conversation, owed.due)) is not None:
            return review
        told = await self._told(turn.conversation, owed)
        made = await self._copies.new(turn, owed.due)
        if made is None:
            await self._owed.end(turn.conversation, told)
            return None
        review, records = made
        await self._owed.begin(turn.conversation, review.id, records, told)
        return review

    async def _whole(self, review: Review) -> bool:
        """Have the copy answer, and return whether that came to its end: nobody else stopped it."""
        store, conversations = self.services.need(STORE), self.services.need(CONVERSATIONS)
        text = await self._copies.next_words(review)
        if not text:
            return True
        part = TextPart(text=text, trust="agent", source=NAME)
        try:
            await conversations.send(review.id, [part], sender=Sender(kind="notice", name=NAME))
            with anyio.move_on_after(REVIEW_SECONDS) as limit:
                await conversations.wait(review.id)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await conversations.stop(review.id)
                await conversations.wait(review.id)
        (turn,) = await store.find(Turn, conversation=review.id, newest=True, limit=1)
        return turn.state != "stopped" or limit.cancelled_caught

    async def _told(self, conversation: str, owed: OwedReview) -> list[ReviewEnded]:
        """Return what tells of a review that was begun and that nobody will go on with."""
        copy = owed.copy or owed.earlier
        review = await self._copies.again(copy, conversation, owed.due) if copy else None
        return await self._summary(review) if review is not None else []

    async def _summary(self, review: Review) -> list[ReviewEnded]:
        """Return the event that tells what a review changed, none where that is nothing."""
        store, skills = self.services.need(STORE), self.services.get(SKILLS)
        said = await store.find(Message, conversation=review.id)
        writes = memory_writes(said, review.memory_tools)
        known = await skills.changes(review.id) if skills is not None else ()
        changed = skill_changes(said, known, await self._bots(review.conversation))
        told = line(writes, changed)
        turns = await store.find(Turn, conversation=review.id)
        self._ctx.logger.info(
            "A background review ended.",
            extra={
                "conversation": review.conversation,
                "how": "budget spent" if review.spent else turns[-1].state if turns else "failed",
                "model_calls": review.calls,
                "input_tokens": review.tokens,
                "did": told or "nothing",
                "proposals": [one.proposal for one in writes if one.proposal],
            },
        )
        event = ReviewEnded(conversation=review.conversation, line=told, changes=changes(writes, changed))
        return [event] if told else []

    async def _bots(self, conversation: str) -> dict[str, str]:
        """Return each skill that a conversation's agent sees, with the bot whose it is, nothing for the library's."""
        skills, bot = self.services.get(SKILLS), await self.bot_of(conversation)
        rows = await skills.list() if skills is not None else ()
        mine = sorted((row for row in rows if row.bot in ("", bot)), key=lambda row: row.bot)
        return {row.name: row.bot for row in mine}  # a bot's own comes last, and stands before the library's


REVIEWS: ServiceKey[Reviews] = ServiceKey("review", 1)
"""The plugin's own view of itself: its hooks and its background work share one object."""
