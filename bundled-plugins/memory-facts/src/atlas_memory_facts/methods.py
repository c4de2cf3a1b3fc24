"""The methods ``memory.review`` and its kin, and ``resource.*``."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import Conversation
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE

from . import facts, revisions
from .categories import SHEETS
from .chosen import CONVERSATIONS_HINT, check_agent, check_chosen
from .estimate import estimated
from .outcome import Outcome
from .prompt_files import MAIN
from .review import Reviewer
from .revisions import Resource, Revision
from .scopes import key_of
from .system import Facts
from .waiting import unreviewed


class _Params(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Nothing(_Params):
    """No params."""


class Chosen(_Params):
    """Which conversations: by id, key (``telegram:12345``) or ``last``, agent, and whose they are. Empty is all."""

    conversation: str = ""
    agent: str = ""
    owner: str = ""


class ReviewRequest(_Params):
    """Which conversation. ``now`` goes past the interval and the wait after a failure."""

    conversation: str
    now: bool = False


class FactId(_Params):
    """Which fact."""

    id: str


class ResourceName(_Params):
    """Which prompt file: ``user_md`` or ``memory_md``, of an agent."""

    resource: str
    agent: str = MAIN


class HistoryRequest(ResourceName):
    """Which prompt file, and how many versions."""

    limit: int = Field(default=20, ge=1, le=1_000)


class RevisionRequest(ResourceName):
    """Which version."""

    revision: int


class Unreviewed(BaseModel):
    """A conversation in which something new was said.

    ``due`` says that it is reviewed without ``now``, too; ``tokens`` and ``dollars`` are about what that takes, the
    dollars None where the model's price is not known.
    """

    id: str
    conversation: str
    title: str
    agent: str
    due: bool
    tokens: int
    dollars: float | None


class UnreviewedList(BaseModel):
    """Those conversations."""

    conversations: tuple[Unreviewed, ...]


class Restored(BaseModel):
    """The fact that is in use again, or, with ``was_in_use``, still."""

    id: str
    key: str
    value: str
    was_in_use: bool = False


class Archived(BaseModel):
    """A fact that is out of use, since when, and why."""

    id: str
    category: str
    value: str
    at: datetime
    by: str
    why: str


class ArchivedList(BaseModel):
    """Those facts, the most recently changed first."""

    facts: tuple[Archived, ...]


class ResourceList(BaseModel):
    """The prompt files."""

    resources: tuple[Resource, ...]


class RevisionList(BaseModel):
    """Versions, the newest first."""

    revisions: tuple[Revision, ...]


def methods(system: Facts) -> list[Method]:
    """Return the methods."""

    async def list_unreviewed(params: Chosen, caller: Caller) -> BaseModel:
        _in_use(system)
        store, chosen = system.ctx.services.need(STORE), params.model_dump()
        if params.conversation == "last":
            chosen["conversation"] = await _last(system)
        found = await store.read(lambda view: unreviewed(view, **chosen))
        if not found:
            await store.read(lambda view: check_chosen(view, **chosen))
        return UnreviewedList(conversations=tuple([await _unreviewed(system, one) for one in found]))

    async def review(params: ReviewRequest, caller: Caller) -> Outcome:
        _in_use(system)
        conversation = await system.ctx.services.need(STORE).get(Conversation, params.conversation)
        if conversation is None:
            raise NotFoundError(f"There is no conversation {params.conversation[:60]!r}.", hint=CONVERSATIONS_HINT)
        return await Reviewer(system).review(conversation, forced=params.now)

    async def restore(params: FactId, caller: Caller) -> BaseModel:
        before = await system.ctx.services.need(STORE).read(lambda view: facts.by_ids(view, [params.id]))
        fact = await system.restore(params.id)
        if fact is None:
            raise NotFoundError(
                f"There is no fact {params.id[:60]!r}.", hint="atlas memory restore lists those that can be restored."
            )
        was_in_use = bool(before) and before[0].archived_at is None
        return Restored(id=fact.id, key=fact.key, value=fact.value, was_in_use=was_in_use)

    async def list_archived(params: Nothing, caller: Caller) -> BaseModel:
        found = await system.ctx.services.need(STORE).read(facts.archived)
        return ArchivedList(facts=tuple(_archived(one) for one in found))

    async def list_resources(params: Nothing, caller: Caller) -> BaseModel:
        return ResourceList(resources=await system.ctx.services.need(STORE).read(revisions.resources))

    async def history(params: HistoryRequest, caller: Caller) -> BaseModel:
        name = _resource(params.resource)
        found = await system.ctx.services.need(STORE).read(
            lambda view: revisions.history(view, params.agent, name, limit=params.limit)
        )
        if not found:
            await system.ctx.services.need(STORE).read(lambda view: check_agent(view, params.agent))
        return RevisionList(revisions=found)

    async def show(params: RevisionRequest, caller: Caller) -> Revision:
        name = _resource(params.resource)
        return await system.ctx.services.need(STORE).read(
            lambda view: revisions.one(view, params.agent, name, params.revision)
        )

    async def roll_back(params: RevisionRequest, caller: Caller) -> Revision:
        return await system.files.roll_back(params.agent, _resource(params.resource), params.revision)

    return [
        Method("memory.unreviewed", Chosen, UnreviewedList, list_unreviewed, "Return conversations with new messages."),
        Method("memory.review", ReviewRequest, Outcome, review, "Review a conversation for facts.", inside="closed"),
        Method("memory.restore", FactId, Restored, restore, "Bring an archived fact back.", inside="closed"),
        Method("memory.archived", Nothing, ArchivedList, list_archived, "Return the facts that can be brought back."),
        Method("resource.list", Nothing, ResourceList, list_resources, "Return the prompt files that have versions."),
        Method("resource.history", HistoryRequest, RevisionList, history, "Return the versions of a prompt file."),
        Method("resource.show", RevisionRequest, Revision, show, "Return a version of a prompt file."),
        Method(
            "resource.rollback",
            RevisionRequest,
            Revision,
            roll_back,
            "Put an older version of a file back.",
            inside="closed",
        ),
    ]


def _archived(fact: facts.Fact) -> Archived:
    return Archived(
        id=fact.id,
        category=fact.category,
        value=fact.value,
        at=fact.archived_at or fact.updated_at,
        by=fact.archived_by,
        why=fact.archive_reason,
    )


async def _unreviewed(system: Facts, conversation: Conversation) -> Unreviewed:
    takes = await estimated(system, conversation)
    return Unreviewed(
        id=conversation.id,
        conversation=key_of(conversation),
        title=conversation.title,
        agent=conversation.agent,
        due=not await Reviewer(system).why_not(conversation),
        tokens=takes.tokens,
        dollars=takes.dollars,
    )


async def _last(system: Facts) -> str:
    """Return the conversation that was used last, as a list of them has it."""
    found = await system.ctx.services.need(CONVERSATIONS).list(limit=1)
    if not found:
        raise NotFoundError("There is no conversation yet.", hint="Start one with: atlas chat.")
    return found[0].id


def _resource(name: str) -> str:
    known = [sheet.target for sheet in SHEETS]
    if name not in known:
        raise MisuseError(f"There is no resource {name[:60]!r}. Those there are: {', '.join(known)}.")
    return name


def _in_use(system: Facts) -> None:
    if not system.in_use:
        raise MisuseError("Facts are not the memory system in use.", hint="Switch with: atlas memory use facts")
