"""What a person allowed for longer than once, bound to the exact text, the folder and the scripts as they were."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from atlas_gate.judgement import Judgement
from atlas_sdk.context import PluginContext
from atlas_sdk.ids import new_id
from atlas_sdk.schema import Migration, Schema
from atlas_sdk.services.gate import GateRequest
from atlas_sdk.services.store import STORE, Transaction

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                "CREATE TABLE gate_grant (id TEXT PRIMARY KEY, mark TEXT NOT NULL, conversation TEXT, "
                "rule TEXT NOT NULL, said TEXT NOT NULL, at TEXT NOT NULL)",
                "CREATE INDEX gate_grant_mark ON gate_grant (mark)",
            ),
        ),
    )
)


@dataclass(frozen=True)
class Mark:
    """What a grant is bound to. ``text`` is shown, ``digest`` is compared."""

    text: str
    digest: str

    @classmethod
    def of(cls, request: GateRequest, judgement: Judgement | None, *, guests: bool = False) -> Mark:
        """Bind a command to its bytes, its folder and all it reads or follows, any other call to its arguments.

        A yes from where no guest read along is none where one does.
        """
        if request.command is not None:
            text = request.command
            pieces = [text, str(request.folder)]
            if judgement is not None:
                pieces += [f"{one.path}\0{one.sha256}" for one in (*judgement.scripts, *judgement.inputs)]
                pieces += [f"{path}\0{real}" for path, real in judgement.links]
        else:
            paths = [str(path) for path in request.paths]
            text = " ".join([request.tool, *paths])
            pieces = [*paths, json.dumps(request.arguments, sort_keys=True)]
        joined = "\0".join([request.tool, *pieces, *(["guests"] if guests else [])])
        return cls(text, hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest())


class Grants:
    """The grants of one home, in its database."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def holds(self, mark: Mark, conversation: str) -> bool:
        """Whether this was allowed for the conversation, or for always."""
        rows = await self._ctx.services.need(STORE).read(
            lambda reading: reading.rows(
                "SELECT id FROM gate_grant "
                "WHERE mark = :mark AND (conversation IS NULL OR conversation = :conversation)",
                mark=mark.digest,
                conversation=conversation,
            )
        )
        return bool(rows)

    async def add(self, mark: Mark, rule: str, *, conversation: str | None) -> None:
        """Keep a grant; without a conversation it holds for always."""

        def work(transaction: Transaction) -> None:
            transaction.run(
                "INSERT INTO gate_grant (id, mark, conversation, rule, said, at) "
                "VALUES (:id, :mark, :conversation, :rule, :said, :at)",
                id=new_id(),
                mark=mark.digest,
                conversation=conversation,
                rule=rule,
                said=mark.text[:2000],
                at=self._ctx.clock.now().isoformat(),
            )

        await self._ctx.services.need(STORE).write(work)
