"""The methods ``memory.*``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from atlas_sdk.memory import Known, NotTaken
from atlas_sdk.methods import Caller, Method
from atlas_sdk.screening import screen
from atlas_sdk.services.memory import Switched

from . import forgetting
from .forgetting import Forgot, Found
from .proposals import Proposal, Settled
from .slot import Slot


class _Params(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Nothing(_Params):
    """No params."""


class ProposalId(_Params):
    """Which proposal: its id, or a beginning of it that no other has."""

    id: str


class SystemName(_Params):
    """The name of a memory system, such as ``notes``."""

    system: str


class ForgetText(_Params):
    """A text, or the id of something known. ``conversations`` erases it there, too."""

    text: str
    conversations: bool = False


class KnownList(BaseModel):
    """The memory system in use and all it knows. ``unread`` says which files of it cannot be read, and why.

    ``blocked`` are the ids of what the model is not shown, each with why: it looks like an attack or a secret.
    """

    system: str
    known: tuple[Known, ...]
    unread: tuple[str, ...] = ()
    blocked: dict[str, str] = {}


class KnownThings(_Params):
    """Things that are known, as ``memory.list`` returns them."""

    known: tuple[Known, ...]


class NotTakenList(BaseModel):
    """What the memory system could not keep, and why."""

    not_taken: tuple[NotTaken, ...]


class ProposalList(BaseModel):
    """The proposals that wait, the oldest first."""

    proposals: tuple[Proposal, ...]


class Discarded(BaseModel):
    """The proposal that was dropped."""

    id: str


class Acknowledged(BaseModel):
    """What differed from what was saved, in sentences, and is taken as it is."""

    said: tuple[str, ...]


class FoundList(BaseModel):
    """Where a text was found."""

    text: str
    found: tuple[Found, ...]


def methods(slot: Slot) -> list[Method]:
    """Return the methods."""

    async def list_(params: Nothing, caller: Caller) -> BaseModel:
        known = await slot.known()
        blocked = {one.id: found.said for one in known if (found := screen(one.text))}
        return KnownList(system=slot.system, known=known, unread=await slot.unread(slot.system), blocked=blocked)

    async def take(params: KnownThings, caller: Caller) -> BaseModel:
        return NotTakenList(not_taken=await slot.take(params.known))

    async def proposals(params: Nothing, caller: Caller) -> BaseModel:
        return ProposalList(proposals=await slot.proposals.list())

    async def approve(params: ProposalId, caller: Caller) -> Settled:
        return await slot.proposals.approve(params.id)

    async def discard(params: ProposalId, caller: Caller) -> BaseModel:
        return Discarded(id=await slot.proposals.discard(params.id))

    async def use(params: SystemName, caller: Caller) -> Switched:
        return await slot.use(params.system)

    async def acknowledge(params: Nothing, caller: Caller) -> BaseModel:
        return Acknowledged(said=await slot.acknowledge())

    async def find(params: ForgetText, caller: Caller) -> BaseModel:
        text, found = await forgetting.find(slot, params.text)
        return FoundList(text=text, found=found)

    async def forget(params: ForgetText, caller: Caller) -> Forgot:
        return await forgetting.forget(slot, params.text, conversations=params.conversations)

    return [
        Method("memory.list", Nothing, KnownList, list_, "Return what is known."),
        Method(
            "memory.take",
            KnownThings,
            NotTakenList,
            take,
            "Keep what another home knows, each thing once.",
            inside="closed",
        ),
        Method("memory.proposals", Nothing, ProposalList, proposals, "Return the memory changes that wait."),
        Method(
            "memory.approve",
            ProposalId,
            Settled,
            approve,
            "Apply a memory proposal, whole or not at all.",
            inside="closed",
        ),
        Method("memory.discard", ProposalId, Discarded, discard, "Drop a memory proposal.", inside="closed"),
        Method(
            "memory.use",
            SystemName,
            Switched,
            use,
            "Use another memory system and carry what is known across.",
            inside="closed",
        ),
        Method(
            "memory.acknowledge",
            Nothing,
            Acknowledged,
            acknowledge,
            "Take what was edited by hand as it is.",
            inside="closed",
        ),
        Method("memory.find", ForgetText, FoundList, find, "Return every place that keeps a text."),
        Method("memory.forget", ForgetText, Forgot, forget, "Erase a text from every place.", inside="closed"),
    ]
