"""Forgetting: a vector is made of what a message said, and goes with it."""

from __future__ import annotations

from collections.abc import Sequence

from atlas_sdk.context import PluginContext
from atlas_sdk.memory import Trace
from atlas_sdk.services.recall import RECALL
from atlas_sdk.services.store import STORE

from .meaning import Meaning

PAGE = 500


class Vectors:
    """The vectors of past conversations."""

    name = "vectors"
    owns = ("recall_vectors_*",)

    def __init__(self, ctx: PluginContext, meaning: Meaning) -> None:
        self._ctx = ctx
        self._meaning = meaning

    async def find(self, text: str) -> tuple[Trace, ...]:
        recall, wanted = self._ctx.services.need(RECALL), _even(text)
        rows = await self._ctx.services.need(STORE).read(
            lambda reading: reading.rows("SELECT message FROM recall_vectors_vector")
        )
        kept = {row["message"] for row in rows}
        found, after = [], 0
        while passages := await recall.passages(after=after, limit=PAGE):
            after = passages[-1].number
            for one in passages:
                if one.message in kept and (one.message == text.strip() or (wanted and wanted in _even(one.text))):
                    found.append(Trace(id=one.message, where="the vectors of messages", text=one.text, asked=True))
        return tuple(found)

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        await self._meaning.erase([trace.id for trace in traces])
        self._meaning.wake()


def _even(text: str) -> str:
    return " ".join(text.casefold().split())
