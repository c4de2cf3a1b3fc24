"""The service: what was said is made into vectors in the background, and a question finds the nearest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import StorageError
from atlas_sdk.services.meaning import Near
from atlas_sdk.services.recall import RECALL, Passage
from atlas_sdk.services.store import STORE, Row, Transaction

from .matrix import Matrix, packed
from .model import Model

T = TypeVar("T")
BATCH = 16
"""Passages at a time: about a second of one processor, after which a search may come in between."""
LOOKED_AT = 2_000
"""Characters of a message. The model reads 512 tokens, and the beginning tells what it is about."""
REST = 1.0
"""The background rests as long as it worked: it never takes more than half of one processor."""
SETTLE_SECONDS = 5.0
"""After a start, nothing is read for so long: others have more to do then, and the index is filled first."""
KEPT_SECONDS = 300.0
"""The matrix and the model stay in memory for so long after the last search."""


class Meaning:
    """Finds messages by meaning. Made once a home; without the model it does nothing."""

    def __init__(self, ctx: PluginContext, model: Model) -> None:
        self._ctx = ctx
        self.model = model
        self._one = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._wake = anyio.Event()
        self._used = anyio.Event()
        self._last_use = 0.0
        self._matrix: Matrix | None = None
        self._loaded = 0

    def wake(self) -> None:
        """Have the background look whether something was said. Cheap, and harmless at any time."""
        self._wake.set()

    async def run(self) -> None:
        """Make vectors in the background, until cancelled. It lets Atlas start first, and sleeps until it is woken."""
        with anyio.move_on_after(SETTLE_SECONDS):
            await self._wake.wait()
        while True:
            self._wake = anyio.Event()
            try:
                while self.model.is_there():
                    began = anyio.current_time()
                    if not await self.step():
                        break
                    await anyio.sleep(REST * (anyio.current_time() - began))
            except StorageError as error:
                self._ctx.logger.warning("Messages could not be read by the model yet.", extra={"why": str(error)})
            await self._wake.wait()

    async def let_go(self) -> None:
        """Free the memory once nobody has searched for a while, until cancelled."""
        while True:
            await self._used.wait()
            while (left := self._last_use + KEPT_SECONDS - anyio.current_time()) > 0:  # noqa: ASYNC110  # a wait for time
                await anyio.sleep(left)
            async with self._one:
                self._used = anyio.Event()
                self._matrix = None
                self.model.let_go()

    async def step(self) -> bool:
        """Make the vectors of some passages; return whether there were any."""
        async with self._one:
            after = await self._after()
            passages = await self._ctx.services.need(RECALL).passages(after=after, limit=BATCH)
            if not passages:
                return False
            said = [one for one in passages if one.text]
            vectors: Sequence[Any] = ()
            if said:
                texts = [one.text[:LOOKED_AT] for one in said]
                vectors = await self._in_thread(partial(self.model.passages, texts))
                self._touch()
            rows = [(one, packed(vector)) for one, vector in zip(said, vectors, strict=True)]
            gone = [one.message for one in passages if not one.text]
            name = self.model.name
            await self._ctx.services.need(STORE).write(
                lambda transaction: _keep(transaction, name, passages[-1].number, rows, gone)
            )
            if self._matrix is not None:
                self._matrix.drop(gone)
            return True

    async def nearest(
        self, text: str, *, limit: int = 200, conversations: Collection[str] | None = None
    ) -> tuple[Near, ...]:
        if not text.strip() or not self.model.is_there():
            return ()
        async with self._one:
            self._touch()
            await self._after()
            matrix = await self._current()
            vector = await self._in_thread(partial(self.model.question, text[:LOOKED_AT]))
            found = await self._in_thread(partial(matrix.nearest, vector, limit, conversations))
            self._touch()
        return tuple(Near(message=message, likeness=likeness) for message, likeness in found)

    async def erase(self, messages: Sequence[str]) -> None:
        """Let go of messages' vectors at once, on disk and in memory."""
        async with self._one:
            await self._ctx.services.need(STORE).write(lambda transaction: _erase(transaction, messages))
            if self._matrix is not None:
                self._matrix.drop(messages)

    async def count(self) -> int:
        """Return how many messages have a vector."""
        rows = await self._ctx.services.need(STORE).read(
            lambda reading: reading.rows("SELECT count(*) AS n FROM recall_vectors_vector")
        )
        return int(rows[0]["n"])

    async def _after(self) -> int:
        """Return how far the vectors go, having thrown away those of another model."""
        store = self._ctx.services.need(STORE)
        [state] = await store.read(lambda reading: reading.rows("SELECT model, after FROM recall_vectors_state"))
        if state["model"] in ("", self.model.name):
            return int(state["after"])
        self._matrix = None
        await store.write(_forget_all)
        return 0

    async def _current(self) -> Matrix:
        """Return the matrix with what was added since the last search."""
        if self._matrix is None:
            self._matrix, self._loaded = Matrix(), 0
        store, after, matrix = self._ctx.services.need(STORE), self._loaded, self._matrix

        def fill() -> int:
            for row in rows:
                matrix.put(row["message"], row["conversation"], row["vector"])
            return int(rows[-1]["number"])

        rows: list[Row] = await store.read(
            lambda reading: reading.rows(
                "SELECT message, conversation, number, vector FROM recall_vectors_vector WHERE number > :after"
                " ORDER BY number",
                after=after,
            )
        )
        if rows:
            self._loaded = await self._in_thread(fill)
        return matrix

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._thread)

    def _touch(self) -> None:
        self._last_use = anyio.current_time()
        self._used.set()


def _keep(
    transaction: Transaction, model: str, after: int, rows: Sequence[tuple[Passage, bytes]], gone: Sequence[str]
) -> None:
    _erase(transaction, gone)
    for passage, vector in rows:
        transaction.run(
            "INSERT OR REPLACE INTO recall_vectors_vector VALUES (:message, :conversation, :number, :vector)",
            message=passage.message,
            conversation=passage.conversation,
            number=passage.number,
            vector=vector,
        )
    transaction.run("UPDATE recall_vectors_state SET model = :model, after = :after", model=model, after=after)


def _erase(transaction: Transaction, messages: Sequence[str]) -> None:
    if messages:
        transaction.rows("PRAGMA secure_delete = ON")
    for message in messages:
        transaction.run("DELETE FROM recall_vectors_vector WHERE message = :message", message=message)


def _forget_all(transaction: Transaction) -> None:
    transaction.run("DELETE FROM recall_vectors_vector")
    transaction.run("UPDATE recall_vectors_state SET model = '', after = 0")
