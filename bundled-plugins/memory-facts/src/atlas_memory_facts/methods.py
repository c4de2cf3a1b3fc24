"""The methods ``memory.review`` and its kin, and ``resource.*``."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field

from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import Conversation
from atlas_sdk.services.store import STORE

from . import facts, revisions
from .categories import SHEETS
from .chosen import CONVERSATIONS_HINT, check_agent, check_chosen
from .prompt_files import MAIN
from .review import Outcome, Reviewer, matching, unreviewed
from .revisions import Resource, Revision
from .scopes import key_of
from .system import Facts


class _Params(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Nothing(_Params):
    """No params."""


class Chosen(_Params):
    """Which conversations: by id or key (``telegram:12345``), agent, and whose they are. Empty is all."""

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
    """A conversation in which something new was said."""

    id: str
    conversation: str
    agent: str


class UnreviewedList(BaseModel):
    """Those conversations."""

    conversations: tuple[Unreviewed, ...]


class Restored(BaseModel):
    """The fact that is in use again."""

    id: str
    key: str
    value: str


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
        found = await store.read(lambda view: matching(view, unreviewed(view), **chosen))
        if not found:
            await store.read(lambda view: check_chosen(view, **chosen))
        rows = tuple(Unreviewed(id=one.id, conversation=key_of(one), agent=one.agent) for one in found)
        return UnreviewedList(conversations=rows)

    async def review(params: ReviewRequest, caller: Caller) -> Outcome:
        _in_use(system)
        conversation = await system.ctx.services.need(STORE).get(Conversation, params.conversation)
        if conversation is None:
            raise NotFoundError(f"There is no conversation {params.conversation[:60]!r}.", hint=CONVERSATIONS_HINT)
        return await Reviewer(system).review(conversation, forced=params.now)

    async def restore(params: FactId, caller: Caller) -> BaseModel:
        fact = await system.restore(params.id)
        if fact is None:
            raise NotFoundError(
                f"There is no fact {params.id[:60]!r}.", hint="atlas memory restore lists those that can be restored."
            )
        return Restored(id=fact.id, key=fact.key, value=fact.value)

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


def _resource(name: str) -> str:
    known = [sheet.target for sheet in SHEETS]
    if name not in known:
        raise MisuseError(f"There is no resource {name[:60]!r}. Those there are: {', '.join(known)}.")
    return name


def _in_use(system: Facts) -> None:
    if not system.in_use:
        raise MisuseError("Facts are not the memory system in use.", hint="Switch with: atlas memory use facts")
