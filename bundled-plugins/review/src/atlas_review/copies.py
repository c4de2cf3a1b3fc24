"""The copies that reviews work in: made when one begins, and read again when one was cut short."""

from __future__ import annotations

from pathlib import Path

from atlas_sdk.context import Clock
from atlas_sdk.forks import forked
from atlas_sdk.messages import Message
from atlas_sdk.providers import ProviderError
from atlas_sdk.records import Checkpoint, Conversation, ModelCall, Origin, Record, Turn
from atlas_sdk.services import Services
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.memory import MEMORY
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.store import STORE

from .counts import Due
from .outcome import succeeded
from .prompts import GO_ON, prompt
from .review import PURPOSE, Review, token_budget

NAME = "background_review"


class Copies:
    """Makes copies and finds them again. It writes nothing: what it made, the caller keeps."""

    def __init__(self, services: Services, clock: Clock) -> None:
        self._services = services
        self._clock = clock

    def memory_tools(self) -> tuple[str, ...]:
        """Return the memory's tools that a review may use."""
        memory = self._services.get(MEMORY)
        return memory.review_tools if memory is not None else ()

    async def can_ask(self, conversation: str) -> bool:
        """Whether the model that a review would ask is there."""
        record = await self._services.need(CONVERSATIONS).get(conversation)
        try:
            await self._services.need(MODELS).choose(record.provider, record.model)
        except ProviderError:
            return False
        return True

    async def new(self, turn: Turn, due: Due) -> tuple[Review, tuple[Record, ...]] | None:
        """Return a review of a conversation as a turn left it, and the records of its copy; None where that is past."""
        store, conversations = self._services.need(STORE), self._services.need(CONVERSATIONS)
        conversation = await conversations.get(turn.conversation)
        path = await conversations.path(conversation.id)
        last = next((message for message in reversed(path) if message.turn == turn.id), None)
        if last is None or last.role != "assistant" or last.calls():
            return None
        made, records = forked(
            conversation.model_copy(update={"head": last.id, "title": conversation.title or "Background review"}),
            await store.find(Checkpoint, conversation=conversation.id),
            origin=Origin(kind="review", name=NAME),
            now=self._clock.now(),
        )
        return await self._review(made.id, conversation, due), records

    async def again(self, copy: str, original: str, due: Due) -> Review | None:
        """Return a review as far as it came in its copy: what it loaded, read and spent; None where that is gone."""
        store = self._services.need(STORE)
        if await store.get(Conversation, copy) is None:
            return None
        conversation = await self._services.need(CONVERSATIONS).get(original)
        review = await self._review(copy, conversation, due)
        for turn in await store.find(Turn, conversation=copy):
            for call in await store.find(ModelCall, turn=turn.id, purpose=PURPOSE):
                review.recall(call)
        for name, arguments, said in succeeded(await store.find(Message, conversation=copy)):
            review.note(name, arguments, Path(conversation.folder), said)
        return review

    async def next_words(self, review: Review) -> str:
        """Return what a review is told next: all of it, to go on where it was cut short, or nothing at its end."""
        store = self._services.need(STORE)
        turns = await store.find(Turn, conversation=review.id, newest=True, limit=1)
        if not turns:
            return prompt(review)
        last = (await self._services.need(CONVERSATIONS).path(review.id))[-1]
        answered = last.role == "assistant" and not last.calls()
        # A stop keeps what was said until then as an answer; a process that dies keeps whole answers only.
        over = turns[0].state in ("done", "failed") or (answered and turns[0].state != "stopped")
        return "" if over else GO_ON

    async def _review(self, copy: str, conversation: Conversation, due: Due) -> Review:
        asked = {"conversation": conversation.id, "purpose": "turn", "state": "done"}
        calls = await self._services.need(STORE).find(ModelCall, newest=True, limit=1, **asked)
        return Review(
            id=copy,
            conversation=conversation.id,
            due=due,
            memory_tools=self.memory_tools(),
            budget=await self._budget(conversation),
            last_tokens=calls[0].usage.input_tokens if calls else 0,
        )

    async def _budget(self, conversation: Conversation) -> int:
        _, model = await self._services.need(MODELS).choose(conversation.provider, conversation.model)
        return token_budget(model.context_window if model.window_known else None)
