"""Holds back an answer that says "saved" where the turn's books do not: the model is told, and answers again, once.

It is of the memory or of a skill. Where a person asked for either, an answer that takes it up says so, too.

What it says after that stands, with a sentence of Atlas's under it where it still does not agree with the books.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio.to_thread

from atlas_sdk.errors import AtlasError
from atlas_sdk.events import Noticed, NumberedEvent, TurnEnded
from atlas_sdk.hooks import ModelGo, Stage
from atlas_sdk.messages import Message, Part, ProviderItems, Sender, TextPart, ToolCallPart
from atlas_sdk.providers import Emit, ModelReply, ModelRequest, Restarted, TextDelta
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE

from .asks import NOTHING_ASKED, YES_CHARS, Asked, read_message
from .claims import Said, read_answer
from .deeds import Deeds, changes_of, deeds_of, shown
from .kinds import MEMORY, SKILL
from .replies import finds_nothing
from .slot import Slot
from .told_saves import is_told_of, named_in

NOTHING = MEMORY.nothing
NOT_REMOVED = "Nothing was removed from memory in this turn."
NOT_SAVED, NOT_TAKEN_OUT = "Not saved to memory", "Not removed from memory"
NO_SKILL = SKILL.nothing
WAITS = "Nothing was written to memory in this turn: what was proposed waits for the owner's approval."
HELD_BACK = "The answer claimed a save that did not happen, so the model answers again."
SKILL_TOOL = "skill_manage"
KEPT = 256


class LastWord:
    """An interceptor of a turn's requests, and an observer of turns that were cut short after a claim."""

    stage: Stage = Stage.POLICY

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._told: dict[str, None] = {}
        """The turns whose model was told already, the newest last."""

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """Ask, and once more where the answer claims what is not so."""
        reply = await go(request, emit)
        if request.purpose != "turn" or request.conversation is None or _goes_on(reply):
            return reply
        turn = await self._turn(request.conversation)
        if turn is None or not (why := await self._objection(turn, _text(reply))):
            return reply
        if turn.id in self._told:
            return _under(reply, why, emit)
        self._told[turn.id] = None
        for old in list(self._told)[:-KEPT]:
            del self._told[old]
        return await self._again(request, emit, go, reply, turn, why)

    async def _again(
        self, request: ModelRequest, emit: Emit, go: ModelGo, reply: ModelReply, turn: Turn, why: str
    ) -> ModelReply:
        """Ask again with what was said and why it may not stand; neither enters the conversation."""
        emit(Restarted(HELD_BACK))
        tools = [one.name for one in request.tools if self._saves(one.name, why)]
        do = "Remove" if why == NOT_REMOVED or why.startswith(NOT_TAKEN_OUT) else "Write"
        way = f"{do} it with `{tools[0]}`, or correct what you said." if tools else "Correct what you said."
        told = (*request.messages, *_told(request.messages[-1], reply, f"{why} {way}"))
        try:
            second = await go(replace(request, messages=told), emit)
        except AtlasError as error:
            # What the model had answered is the better answer than none, with what is wrong with it.
            self._slot.ctx.logger.warning("An answer was not corrected", extra={"why": str(error)})
            emit(Restarted("The model did not answer again."))
            emit(TextDelta(_joined(reply)))
            return _under(reply, why, emit)
        if _goes_on(second):
            return second
        why = await self._objection(turn, _text(second), told=True)
        return _under(second, why, emit) if why else second

    async def _objection(self, turn: Turn, answer: str, *, told: bool = False) -> str:
        """Return what is wrong with an answer, for the model and for people, or nothing."""
        if forged := await self._forged(turn, answer):
            return forged
        heard = await self._heard(turn)
        asked = await self._asked(turn, heard)
        said = await anyio.to_thread.run_sync(read_answer, answer, asked)  # a long one takes a moment
        if not said.claims and not told and not said.denies:
            said = await self._said_before(turn)
        # Who asked for a write that failed is told so, also where the answer says nothing of it.
        owed = told or asked.memory or asked.forget
        if not said.claims and not owed:
            return ""
        if not said.named and not said.skill and not heard:
            return ""  # the end of a command is noted, and no save is claimed by that
        deeds = await deeds_of(self._slot, turn)
        if deeds.left and not deeds.missing and finds_nothing(answer):
            said = replace(said, denies=True)  # what is not there could not be removed
        return against(said, deeds, owed=owed)

    async def _forged(self, turn: Turn, answer: str) -> str:
        """Return what is wrong where an answer has a line as Atlas tells saves, of what was not saved."""
        named = named_in(answer)
        made = [one.text for one in await changes_of(self._slot, turn)] if named else []
        forged = [text for text in named if not any(is_told_of(one, text) for one in made)]
        return f"Not saved to memory: {', '.join(shown(one) for one in forged)}." if forged else ""

    async def _heard(self, turn: Turn) -> list[Message]:
        """Return what persons said in a turn."""
        store = self._slot.services.need(STORE)
        heard = await store.find(Message, conversation=turn.conversation, turn=turn.id, role="user")
        return [message for message in heard if message.sender.kind == "person"]

    async def _asked(self, turn: Turn, heard: Sequence[Message]) -> Asked:
        """Return what persons asked for in a turn, also by saying yes to what the answer before it offered."""
        texts = ["\n".join(_typed(message)) for message in heard]
        if not any(texts):
            return NOTHING_ASKED
        offer = await self._offer(heard[0]) if min(len(text) for text in texts) <= YES_CHARS else ""
        found = [await anyio.to_thread.run_sync(read_message, text, offer) for text in texts]
        return Asked(
            memory=any(one.memory for one in found),
            skill=any(one.skill for one in found),
            forget=any(one.forget for one in found),
            text=all(one.text for one in found),
            more=len(found) > 1 or any(one.more for one in found),
        )

    async def _offer(self, message: Message) -> str:
        """Return the answer before a message."""
        store = self._slot.services.need(STORE)
        before = await store.get(Message, message.parent) if message.parent else None
        return before.text() if before is not None and before.role == "assistant" else ""

    def _saves(self, tool: str, why: str) -> bool:
        return tool == SKILL_TOOL if why == NO_SKILL else tool in self._slot.write_tools()

    async def _said_before(self, turn: Turn) -> Said:
        """Return what the turn's model said on its way, before it called tools."""
        store = self._slot.services.need(STORE)
        found = await store.find(Message, conversation=turn.conversation, turn=turn.id, role="assistant")
        texts = [message.text() for message in found if message.sender.kind == "agent"]
        return await anyio.to_thread.run_sync(read_answer, "\n".join(texts))  # nothing of it answers what was asked

    async def _turn(self, conversation: str) -> Turn | None:
        """Return the turn that runs where a person reads the answer; a review's is read by nobody."""
        conversations = self._slot.services.need(CONVERSATIONS)
        if (await conversations.get(conversation)).origin.kind == "review":
            return None
        return await conversations.running(conversation)

    async def observe(self, event: NumberedEvent) -> None:
        """Tell of a claim in what a turn had said when it was stopped or failed: nobody could be asked again."""
        told = event.event
        if not isinstance(told, TurnEnded) or told.turn.state == "done":
            return
        store = self._slot.services.need(STORE)
        conversation = await store.get(Conversation, told.turn.conversation)
        if conversation is None or conversation.origin.kind == "review":
            return
        if (await self._said_before(told.turn)).claims and (why := await self._objection(told.turn, "")):
            await store.commit([], [Noticed(conversation=told.turn.conversation, text=why)])


def against(said: Said, deeds: Deeds, *, owed: bool) -> str:
    """Return what is wrong with what an answer says, by what its turn did.

    ``owed`` says that it has to tell of what was not written, also where it claims nothing.
    """
    if said.skill and not deeds.skilled:
        return NO_SKILL
    if (deeds.missing or deeds.left) and not said.denies and (said.claims or owed):
        failed = ((NOT_SAVED, deeds.missing), (NOT_TAKEN_OUT, deeds.left))
        return " ".join(f"{head}: {', '.join(texts)}." for head, texts in failed if texts)
    if said.removed and not (deeds.removed or deeds.taught or (deeds.wrote and not said.named)):
        return WAITS if deeds.waits else NOT_REMOVED
    if not said.claim or deeds.kept or deeds.taught or (said.claim == "saved" and deeds.wrote):
        return ""
    return WAITS if deeds.waits else NOTHING


def _typed(message: Message) -> list[str]:
    """Return what a person typed, and nothing of what they attached."""
    parts = [part for part in message.parts if isinstance(part, TextPart) and not part.source]
    return [part.text for part in parts if part.trust in ("owner", "guest")]


def _goes_on(reply: ModelReply) -> bool:
    return reply.stop_reason == "refusal" or any(isinstance(part, ToolCallPart) for part in reply.parts)


def _text(reply: ModelReply) -> str:
    return "\n\n".join(part.text for part in reply.parts if isinstance(part, TextPart))


def _joined(reply: ModelReply) -> str:
    return "".join(part.text for part in reply.parts if isinstance(part, TextPart))


def _told(last: Message, reply: ModelReply, text: str) -> tuple[Message, Message]:
    """Return the answer that may not stand, and what its model is told, after the last message that is kept.

    Neither is kept, so they go by that one's id: by it the books say what was the last message of the request.
    """
    items = ProviderItems(provider=reply.provider, items=reply.provider_items) if reply.provider_items else None
    base = last.model_copy(update={"client_id": None, "provider_items": None, "parent": last.id})
    agent, notice = Sender(kind="agent"), Sender(kind="notice", name="memory")
    parts = tuple(part for part in reply.parts if isinstance(part, TextPart))
    update = {"role": "assistant", "sender": agent, "parts": parts, "provider_items": items}
    said = TextPart(text=text, trust="agent", source="memory")
    return base.model_copy(update=update), base.model_copy(update={"role": "user", "sender": notice, "parts": (said,)})


def _under(reply: ModelReply, why: str, emit: Emit) -> ModelReply:
    """Put a sentence under an answer, as part of its text: so it is read wherever the answer is."""
    more = f"\n\n(Atlas: {why})"
    emit(TextDelta(more))
    return replace(reply, parts=_with(reply.parts, more))


def _with(parts: Sequence[Part], more: str) -> tuple[Part, ...]:
    last = max((at for at, part in enumerate(parts) if isinstance(part, TextPart)), default=-1)
    if last < 0:
        return (*parts, TextPart(text=more.strip(), trust="agent"))
    part = parts[last]
    assert isinstance(part, TextPart)
    return (*parts[:last], part.model_copy(update={"text": f"{part.text}{more}"}), *parts[last + 1 :])
