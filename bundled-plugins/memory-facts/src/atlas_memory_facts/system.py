"""The memory system ``facts``: single facts with a scope, a category and a source, in the home's database."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.memory import Known, NotTaken, Receipt
from atlas_sdk.records import Conversation
from atlas_sdk.services.memory import MEMORY
from atlas_sdk.services.store import STORE, Reading, Transaction

from . import facts, people, revisions
from .admission import RefusedFactError
from .carrying import draft_of, known_of
from .guidance import GUIDANCE
from .prompt_files import PromptFiles
from .rendering import line_of, without_snapshot
from .scopes import Who
from .shelf import NAME, Shelf, differences

CHANGED = "The file {file} is not as it was written. It is a copy of the facts, and the next conversation puts it back."


class Facts:
    """A MemorySystem. It reviews conversations itself, so a background review writes nothing to it."""

    name = NAME
    tools: tuple[str, ...] = ()
    owns = ("memory_facts_*", "memory/*/*")

    def __init__(self, ctx: PluginContext) -> None:
        self.ctx = ctx
        self.files = PromptFiles(ctx.home, ctx.services, ctx.clock, ctx.logger)
        self.shelf = Shelf(ctx.services, self.files, ctx.clock)

    @property
    def in_use(self) -> bool:
        """Whether this is the system in the slot."""
        memory = self.ctx.services.get(MEMORY)
        return memory is not None and memory.system == NAME

    async def who(self, conversation: Conversation) -> Who:
        """Return who asks in a conversation."""
        return await self.ctx.services.need(STORE).read(lambda reading: people.who(reading, conversation))

    async def start(self) -> None:
        """Book what a crash left unbooked, and make the prompt files anew that it left behind."""
        if self.in_use:
            await self.shelf.book()
            await self.files.rebuild_all()

    async def guidance(self, conversation: Conversation) -> str:
        return GUIDANCE if has_memory(conversation) else ""

    async def snapshot(self, conversation: Conversation) -> str:
        return await self.files.snapshot(await self.who(conversation)) if has_memory(conversation) else ""

    def for_guests(self, instructions: str) -> str:
        return without_snapshot(instructions)

    async def known(self) -> tuple[Known, ...]:
        there = await self.ctx.services.need(STORE).read(facts.live)
        return tuple(known_of(one) for one in reversed(there))

    async def take(self, known: Sequence[Known]) -> tuple[NotTaken, ...]:
        left: list[NotTaken] = []
        drafts = []
        for one in known:
            try:
                drafts.append((draft_of(one), one.at))
            except RefusedFactError as error:
                left.append(NotTaken(known=one, why=str(error)))
        now = self.ctx.clock.now()

        def work(transaction: Transaction) -> list[str]:
            return [facts.put(transaction, draft, now, as_of=at) for draft, at in drafts]

        await self.shelf.write(work, touched=lambda ids: ids)
        return tuple(left)

    async def drop(self, ids: Sequence[str]) -> None:
        def work(transaction: Transaction) -> list[str]:
            there = facts.by_ids(transaction, ids)
            facts.erase(transaction, [one.id for one in there])
            for one in there:
                for version in revisions.holding(transaction, line_of(one.value).rstrip("…")):
                    revisions.erase(transaction, version)
            return [one.id for one in there]

        with anyio.CancelScope(shield=True):
            await self.shelf.write(work, touched=lambda gone: gone)

    async def restore(self, id: str) -> facts.Fact | None:
        """Bring an archived fact back and return it, or None where there is none of that id."""
        now = self.ctx.clock.now()

        def work(transaction: Transaction) -> list[str]:
            there = facts.by_ids(transaction, [id])
            if there and there[0].archived_at is not None:
                facts.bring_back(transaction, id, now)
            return [one.id for one in there]

        _, there = await self.shelf.write(work, touched=lambda ids: ids)
        return there[0] if there else None

    async def differences(self, receipts: Sequence[Receipt]) -> tuple[str, ...]:
        def work(reading: Reading) -> list[facts.Fact]:
            return [*facts.live(reading), *facts.archived(reading)]

        await self.shelf.book()
        found = differences(
            await self.ctx.services.need(STORE).read(work), receipts, self.ctx.services.need(MEMORY).digest
        )
        files = [file.relative_to(self.ctx.home).as_posix() for file in await self.files.changed_by_hand()]
        return (*found, *(CHANGED.format(file=file) for file in files))


def has_memory(conversation: Conversation) -> bool:
    """Whether a conversation's agent remembers: a subagent has what its task says and nothing else."""
    return conversation.origin.kind != "subagent"
