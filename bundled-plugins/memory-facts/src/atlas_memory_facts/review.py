"""The reviewer: once its time has come it reads what is new in a conversation and consolidates the facts.

It stands in nobody's way: a review that fails changes nothing, is logged, and is tried again later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import anyio

from atlas_sdk.errors import AtlasError
from atlas_sdk.phrase import evened
from atlas_sdk.providers import ProviderError
from atlas_sdk.records import Conversation
from atlas_sdk.services.llm import LLM
from atlas_sdk.services.memory import MEMORY
from atlas_sdk.services.store import STORE, Reading, Transaction

from . import claims, facts, reading
from .admission import REVIEWED_CHARS, RefusedFactError, allow, checked, reviewed
from .categories import CATEGORIES
from .facts import Draft, Fact, Source
from .operations import Add, Archive, Operation, Plan, Replace, parse
from .outcome import Did, How, Outcome
from .reading import Batch
from .review_prompt import SYSTEM, prompt
from .scopes import Who, key_of, may_read
from .settings import FactsSettings
from .system import Facts
from .teller import is_alike, told_at
from .waiting import UNREVIEWED_KINDS

PURPOSE = "memory_review"
MOST_OUTPUT_TOKENS = 4_000
"""Twenty operations of two hundred characters take about half."""
OLDER_NEWS = (
    "This was said on {told:%Y-%m-%d %H:%M}, and {value!r} is newer, of {said:%Y-%m-%d %H:%M}. It was left as it is."
)
QUOTED_CHARS = 60


@dataclass(frozen=True)
class _Job:
    """A review under way."""

    conversation: Conversation
    key: str
    claim: str


@dataclass(frozen=True)
class Material:
    """What a review works on: what was said, and the facts that are known to who said it."""

    batch: Batch
    who: Who
    known: dict[str, Fact]


@dataclass(frozen=True)
class _Checked:
    """The operations that were let in, and why others were not."""

    adds: tuple[tuple[Draft, datetime], ...]
    replaces: tuple[tuple[str, str, Source, datetime], ...]
    archives: tuple[tuple[str, datetime], ...]
    refused: tuple[str, ...]


class Reviewer:
    """Reviews conversations, one at a time each."""

    def __init__(self, system: Facts) -> None:
        self._system = system
        self._ctx = system.ctx

    async def review(self, conversation: Conversation, *, forced: bool = False) -> Outcome:
        """Review a conversation when it is due, or now when ``forced``. It raises nothing a review can fail of."""
        key = key_of(conversation)
        if conversation.origin.kind in UNREVIEWED_KINDS:
            return _outcome(conversation, key, how="not_reviewed")
        if not forced and (why := await self._not_due(conversation, key)):
            return _outcome(conversation, key, how=why)
        now = self._ctx.clock.now()
        store = self._ctx.services.need(STORE)
        claim = await store.write(lambda transaction: claims.claim(transaction, conversation.agent, key, now))
        if not claim:
            return _outcome(conversation, key, how="claimed")
        job = _Job(conversation, key, claim)
        try:
            return await self._claimed(job)
        except (AtlasError, TimeoutError) as error:
            said = str(error) or "The model did not answer in time."
            self._ctx.logger.warning("A memory review failed", extra={"conversation": key, "why": said})
            await store.write(lambda transaction: claims.failed(transaction, claim, self._ctx.clock.now()))
            down = isinstance(error, ProviderError | TimeoutError)
            return _outcome(conversation, key, how="failed", why=said, unreachable=down)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await store.write(lambda transaction: claims.let_go(transaction, claim))
            raise

    async def material(self, conversation: Conversation) -> Material:
        """Return what a review of a conversation would work on now."""
        key = key_of(conversation)
        return await self._ctx.services.need(STORE).read(lambda view: self._material(view, conversation, key))

    async def why_not(self, conversation: Conversation) -> claims.Wait:
        """Return why a conversation is not reviewed by itself yet, nothing when it is due."""
        return await self._not_due(conversation, key_of(conversation))

    async def _not_due(self, conversation: Conversation, key: str) -> claims.Wait:
        settings = self._ctx.section(FactsSettings)
        store = self._ctx.services.need(STORE)
        found = await store.read(lambda view: claims.state(view, conversation.agent, key))
        return claims.why_not(
            found,
            self._ctx.clock.now(),
            hours=settings.review_interval_hours,
            back_off=timedelta(milliseconds=settings.review_failure_backoff_ms),
        )

    async def _claimed(self, job: _Job) -> Outcome:
        store = self._ctx.services.need(STORE)
        material = await store.read(lambda view: self._material(view, job.conversation, job.key))
        batch, outcome = material.batch, _outcome(job.conversation, job.key, how="nothing_new")
        if not batch.messages:
            await store.write(lambda transaction: claims.let_go(transaction, job.claim, last_message=batch.last))
            return outcome
        asked = await self._ctx.services.need(LLM).complete(
            prompt(batch.messages, list(material.known.values())),
            purpose=PURPOSE,
            system=SYSTEM,
            max_tokens=MOST_OUTPUT_TOKENS,
            conversation=job.conversation.id,
        )
        admitted = await self._admit(parse(asked.text, material.known), material, job)
        (changed, did, late), _ = await self._system.shelf.write(
            lambda transaction: self._keep(transaction, admitted, material, job),
            touched=lambda result: result[0],
            conversation=job.conversation.id,
        )
        self._ctx.logger.info("Memory was reviewed", extra={"conversation": job.key, "changed": len(changed)})
        return outcome.model_copy(
            update={
                "how": "reviewed",
                "owner": batch.owner,
                "messages": len(batch.messages),
                "behind": batch.behind,
                "tokens": asked.usage.input_tokens + asked.usage.output_tokens,
                "dollars": asked.cost.dollars,
                "changed": changed,
                "did": did,
                "refused": (*admitted.refused, *late),
                **{how: sum(one.how == how for one in did) for how in ("added", "replaced", "archived")},
            }
        )

    def _material(self, view: Reading, conversation: Conversation, key: str) -> Material:
        settings = self._ctx.section(FactsSettings)
        batch = reading.batch(
            view,
            conversation,
            last=claims.state(view, conversation.agent, key).last_message,
            most=settings.review_max_messages,
            budget=settings.review_input_token_budget,
        )
        who = Who(conversation.agent, batch.owner, key)
        known = {one.id: one for one in facts.live(view) if may_read(one.whose, who) and one.target}
        return Material(batch, who, known)

    async def _admit(self, plan: Plan, material: Material, job: _Job) -> _Checked:
        adds, replaces = list[tuple[Draft, datetime]](), list[tuple[str, str, Source, datetime]]()
        archives, refused = list[tuple[str, datetime]](), list(plan.refused)
        source = _source(material.batch, job)
        for one in plan.operations:
            kept = None if isinstance(one, Add) else material.known[one.id]
            told = told_at(one, material.batch.messages, kept.value if kept else "")
            try:
                if kept is not None:
                    _newest(kept, told)
                match one:
                    case Add():
                        draft = reviewed(
                            material.who, one.category, one.key, one.value, confidence=one.confidence, source=source
                        )
                        await self._may_learn(draft.value, material, job)
                        adds.append((draft, told))
                    case Replace():
                        allow(material.who, material.known[one.id].category)
                        value = checked(one.value, most=REVIEWED_CHARS)
                        await self._may_learn(value, material, job)
                        replaces.append((one.id, value, source, told))
                    case Archive():
                        allow(material.who, material.known[one.id].category)
                        archives.append((one.id, told))
            except RefusedFactError as error:
                refused.append(f"{_named(one, material)}: {error}")
        return _Checked(tuple(adds), tuple(replaces), tuple(archives), tuple(refused))

    async def _may_learn(self, value: str, material: Material, job: _Job) -> None:
        memory, messages = self._ctx.services.need(MEMORY), [message for message, _ in material.batch.messages]
        why = await memory.may_learn(value, conversation=job.conversation.id, review=True)
        if why := why or await memory.may_learn_from(value, messages):
            raise RefusedFactError(why)

    def _keep(
        self, transaction: Transaction, admitted: _Checked, material: Material, job: _Job
    ) -> tuple[tuple[str, ...], tuple[Did, ...], tuple[str, ...]]:
        """Do the operations and end the claim, all in one. A claim that was lost meanwhile does nothing.

        Returns what changed, how, and why an add was refused: what stands in its place is known only here.
        """
        if not claims.holds(transaction, job.claim):
            raise AtlasError("The review took so long that another one began, so it changed nothing.")
        now = self._ctx.clock.now()
        ids, did, refused = list[str](), list[Did](), list[str]()
        for id, told in admitted.archives:
            if _is_as_shown(transaction, material.known[id]):
                facts.archive(transaction, id, by="review", reason="no longer so", now=now, as_of=told)
                ids.append(id)
                did.append(Did(how="archived", text=material.known[id].value, category=material.known[id].category))
        for id, value, source, told in admitted.replaces:
            if _is_as_shown(transaction, material.known[id]):
                ids += facts.replace(transaction, id, value, source, now, as_of=told)
                before = material.known[id]
                did.append(Did(how="replaced", text=value, before=before.value, category=before.category))
        for draft, told in admitted.adds:
            if why := _overtaken(transaction, draft, told, mine=ids):
                refused.append(why)
                continue
            count = facts.changes(transaction)
            id = facts.put(transaction, draft, now, as_of=told)
            if facts.changes(transaction) != count:
                ids.append(id)
                did.append(Did(how="added", text=draft.value, category=draft.category))
        claims.done(transaction, job.claim, last_message=material.batch.last, behind=material.batch.behind, now=now)
        return tuple(ids), tuple(did), tuple(refused)


def _outcome(conversation: Conversation, key: str, *, how: How, why: str = "", unreachable: bool = False) -> Outcome:
    """Return what came of a review in which nothing was changed."""
    agent, title = conversation.agent, conversation.title
    return Outcome(conversation=key, title=title, agent=agent, how=how, why=why, unreachable=unreachable)


def _source(batch: Batch, job: _Job) -> Source:
    origin = job.conversation.origin
    return Source(
        id=f"conversation:{job.conversation.agent}:{job.key}:{batch.owner}",
        type="review",
        name=origin.name or origin.kind,
        description="what was said in a conversation",
        session=job.conversation.id,
        message=batch.last,
    )


def _named(operation: Operation, material: Material) -> str:
    """Return which fact an operation is about, never by words that may be the reason why it is refused."""
    if isinstance(operation, Add):
        from atlas_sdk.screening import screen

        key = "a fact" if screen(operation.key) else repr(operation.key[:QUOTED_CHARS])
        return f"{key} ({operation.category})" if operation.category in CATEGORIES else key
    known = material.known[operation.id]
    return f"{known.value!r} ({known.category})"


def _overtaken(transaction: Transaction, draft: Draft, told: datetime, *, mine: Sequence[str]) -> str:
    """Return why a new fact is older news than one that it contradicts, or nothing where it is not.

    What the same reply changed contradicts it by its key alone: the reviewer knew of both.
    """
    there = facts.standing(transaction, draft)
    if there is not None and there.archived_at is None and evened(there.value) == evened(draft.value):
        return ""  # it says so already
    others = [one for one in facts.of_scope(transaction, draft.whose) if one.id not in mine]
    alike = [one for one in others if is_alike(one.value, draft.value)]
    try:
        for one in [there, *alike] if there is not None else alike:
            _newest(one, told)
    except RefusedFactError as error:
        return str(error)
    return ""


def _newest(kept: Fact, told: datetime) -> None:
    """Refuse to change a fact by what was said before it. Raises RefusedFactError."""
    if told < kept.said_at:
        value = kept.value if len(kept.value) <= QUOTED_CHARS else f"{kept.value[:QUOTED_CHARS]}…"
        raise RefusedFactError(OLDER_NEWS.format(told=told, value=value, said=kept.said_at))


def _is_as_shown(transaction: Transaction, shown: Fact) -> bool:
    """Whether a fact is as the reviewer saw it: what was changed meanwhile is newer than its reply."""
    there = facts.by_ids(transaction, [shown.id])
    return bool(there) and there[0].archived_at is None and there[0].value == shown.value
