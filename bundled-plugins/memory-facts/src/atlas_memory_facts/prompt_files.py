"""The prompt files ``memory/<agent>/USER.md`` and ``MEMORY.md``: copies of facts, made anew after each change.

A copy that is gone or was changed by hand is put back before it is read: what it says is the facts' to change.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.context import Clock
from atlas_sdk.errors import AtlasError, StorageError
from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE, Reading, Transaction

from . import facts, revisions
from .categories import SHEETS, Sheet
from .files import locked, read_text, write_whole
from .rendering import sheet_text, snapshot
from .scopes import OWNER, Scope, Who

MAIN = "main"
_AGENT = re.compile(r"(?!.*\.md$)[a-z0-9][a-z0-9._-]{0,63}")
"""Whose files have a folder: other names read the same facts, without a copy on disk."""


def has_files(agent: str) -> bool:
    """Whether an agent's name may name a folder."""
    return _AGENT.fullmatch(agent) is not None


class PromptFiles:
    """The one owner of the prompt files of a home. Facts are the truth: a file that is behind is made anew."""

    def __init__(self, home: Path, services: Services, clock: Clock, logger: logging.Logger) -> None:
        self._home = home
        self._services = services
        self._clock = clock
        self._log = logger
        self._mine = anyio.Lock()

    def file(self, agent: str, sheet: Sheet) -> Path:
        """Return where a prompt file is."""
        return self._folder(agent) / sheet.file

    async def snapshot(self, who: Who) -> str:
        """Return the block for a conversation: the owner's from the files, anybody else's from the facts alone."""

        def work(reading: Reading) -> tuple[list[facts.Fact], bool]:
            found = facts.live(reading)
            # What is of this conversation alone stands in no file.
            return found, any(
                one.target and one.whose.scope == Scope("conversation", who.conversation) for one in found
            )

        found, here = await self._services.need(STORE).read(work)
        texts = [sheet_text(sheet, found, who) for sheet in SHEETS]
        if who.owner == OWNER and has_files(who.agent) and not here:
            texts = await self._texts(who.agent, texts)
        return snapshot(*texts, owner=who.owner == OWNER)

    async def _texts(self, agent: str, rendered: Sequence[str]) -> list[str]:
        """Return what the files of an agent say, made anew first where they are behind or were changed by hand."""
        try:
            await self.rebuild(agent)
        except (AtlasError, OSError) as error:
            self._log.warning("The prompt files could not be made anew", extra={"agent": agent, "why": str(error)})
            return list(rendered)
        there = [await anyio.to_thread.run_sync(read_text, self.file(agent, sheet)) for sheet in SHEETS]
        return ["" if text is None else text for text in there]

    async def rebuild_all(self) -> None:
        """Make the files of every agent anew that is known. What fails is logged: the facts are kept all the same."""
        for agent in await self._agents():
            try:
                await self.rebuild(agent)
            except (AtlasError, OSError) as error:
                self._log.warning("The prompt files could not be made anew", extra={"agent": agent, "why": str(error)})

    async def _agents(self) -> list[str]:
        def work(reading: Reading) -> set[str]:
            rows = reading.rows(
                "SELECT agent_id FROM memory_facts_memory UNION SELECT agent_id FROM memory_facts_rendered"
            )
            return {str(row["agent_id"]) for row in rows if row["agent_id"]}

        return sorted({MAIN} | await self._services.need(STORE).read(work))

    async def rebuild(self, agent: str, *, cause: str = "facts changed") -> None:
        """Make the files of an agent anew where they are behind, missing, or changed by hand.

        Raises OSError or StorageError, old files whole.
        """
        store = self._services.need(STORE)
        if not has_files(agent) or (await self._is_current(agent) and not await self.changed(agent)):
            return
        async with self._alone(agent):
            if await self._is_current(agent):
                # No fact changed: what was written last is put back, also a version that was rolled back to.
                for sheet in SHEETS:
                    await self._put(agent, sheet, await self._written(agent, sheet))
                return
            who = Who(agent, OWNER, "")
            found, count = await store.read(lambda reading: (facts.live(reading), facts.changes(reading)))
            for sheet in SHEETS:
                text = sheet_text(sheet, found, who)
                await self._put(agent, sheet, text)

                def keep(transaction: Transaction, sheet: Sheet = sheet, text: str = text) -> None:
                    revisions.keep(transaction, agent, sheet.target, text, count, cause, self._clock.now())

                await store.write(keep)

    async def roll_back(self, agent: str, resource: str, revision: int) -> revisions.Revision:
        """Put an older version of a file back, until facts change. Raises NotFoundError for one there is not."""
        sheet = next(one for one in SHEETS if one.target == resource)
        store = self._services.need(STORE)
        await self.rebuild(agent)
        async with self._alone(agent):
            old = await store.read(lambda reading: revisions.one(reading, agent, resource, revision))
            await self._put(agent, sheet, old.content)

            def keep(transaction: Transaction) -> revisions.Revision:
                count = facts.changes(transaction)
                cause = f"rolled back to {revision}"
                revisions.keep(transaction, agent, resource, old.content, count, cause, self._clock.now())
                return revisions.history(transaction, agent, resource, limit=1)[0]

            return await store.write(keep)

    async def changed(self, agent: str) -> tuple[Path, ...]:
        """Return the files of an agent that are gone, or say something else than what was written last."""
        found = []
        for sheet in SHEETS:
            file = self.file(agent, sheet)
            there = await anyio.to_thread.run_sync(read_text, file)
            if (there or "") != await self._written(agent, sheet):
                found.append(file)
        return tuple(found)

    async def changed_by_hand(self) -> tuple[Path, ...]:
        """Return the files, of any agent, that are not as they were written though no fact changed since."""
        agents = [agent for agent in await self._agents() if has_files(agent) and await self._is_current(agent)]
        return tuple([file for agent in agents for file in await self.changed(agent)])

    async def _is_current(self, agent: str) -> bool:
        return await self._services.need(STORE).read(lambda reading: revisions.is_current(reading, agent))

    async def _written(self, agent: str, sheet: Sheet) -> str:
        """Return what was written last to a file."""

        def work(reading: Reading) -> str:
            last = revisions.history(reading, agent, sheet.target, limit=1)
            return last[0].content if last else ""

        return await self._services.need(STORE).read(work)

    async def _put(self, agent: str, sheet: Sheet, text: str) -> None:
        file = self.file(agent, sheet)
        there = await anyio.to_thread.run_sync(read_text, file)
        if there == text or (there is None and not text):
            return
        try:
            await anyio.to_thread.run_sync(write_whole, file, text)
        except OSError as error:
            raise StorageError(
                f"{file} could not be written ({error.strerror or error}), and it is as it was.",
                hint="Free some space, or mend the permissions of the home.",
                code="memory_not_written",
            ) from error

    @asynccontextmanager
    async def _alone(self, agent: str) -> AsyncIterator[None]:
        """Let one writer at the files of an agent, of this process and of others."""
        async with self._mine:
            lock = locked(self._folder(agent))
            await anyio.to_thread.run_sync(lock.__enter__)
            try:
                yield
            finally:
                lock.__exit__(None, None, None)

    def _folder(self, agent: str) -> Path:
        return self._home / "memory" / agent
