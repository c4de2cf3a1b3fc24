"""What is kept of a fact beside the facts in use: archived ones, and versions of the prompt files."""

from __future__ import annotations

from collections.abc import Sequence

from atlas_sdk.memory import Trace
from atlas_sdk.phrase import Phrase
from atlas_sdk.services.store import STORE, Reading, Transaction

from . import facts, revisions
from .system import Facts


class Leftovers:
    """A Forgetter."""

    name = "archived facts and versions"

    def __init__(self, system: Facts) -> None:
        self._system = system

    async def find(self, text: str) -> tuple[Trace, ...]:
        def work(view: Reading) -> list[Trace]:
            phrase = Phrase(text)
            archived = [
                Trace(id=one.id, where="archived facts", text=one.value)
                for one in facts.archived(view)
                if text == one.id or phrase.is_in(f"{one.key.replace('_', ' ')} {one.value}")
            ]
            keyed = [
                Trace(id=one.id, where="facts, by key", text=f"{one.key}: {one.value}")
                for one in facts.live(view)
                if phrase.is_in(one.key.replace("_", " "))
            ]
            versions = [
                Trace(
                    id=f"{one.agent}/{one.resource}/{one.revision}",
                    where=f"{one.resource} of {one.agent}, version {one.revision}",
                    text=text,
                )
                for one in revisions.holding(view, text)
            ]
            return [*archived, *keyed, *versions]

        return tuple(await self._system.ctx.services.need(STORE).read(work))

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        await self._system.drop([trace.id for trace in traces if "/" not in trace.id])

        def work(transaction: Transaction) -> list[str]:
            for trace in traces:
                agent, _, rest = trace.id.partition("/")
                resource, _, number = rest.partition("/")
                if number:
                    for one in revisions.holding(transaction, text):
                        if (one.agent, one.resource, one.revision) == (agent, resource, int(number)):
                            revisions.erase(transaction, one)
            return []

        await self._system.shelf.write(work, touched=lambda ids: ids)
