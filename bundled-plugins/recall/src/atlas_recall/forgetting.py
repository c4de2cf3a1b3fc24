"""Forgetting: the index is a copy of what was said, and lets go of it to the last page of the file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from atlas_sdk.context import PluginContext
from atlas_sdk.memory import Trace
from atlas_sdk.services.store import STORE, Reading, Transaction

from .index import Index, erase, forget_names
from .query import Term

MOST = 1_000
"""Copies named at a time; erasing goes on until none is left."""


class SearchIndex:
    """The index of past conversations, where something that was said stands a second time.

    It follows the messages: one that is redacted is indexed anew. What is erased here by name is looked at again, so
    a message that was not redacted is found again by the words it still has.
    """

    name = "search index"
    owns = ("recall_*",)

    def __init__(self, ctx: PluginContext, index: Index) -> None:
        self._ctx = ctx
        self._index = index

    async def find(self, text: str) -> tuple[Trace, ...]:
        while await self._index.step():
            pass
        rows = await self._ctx.services.need(STORE).read(lambda reading: _holding(reading, text))
        return tuple(Trace(id=row["id"], where="the search index", text=row["body"], asked=True) for row in rows)

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        ids = json.dumps([trace.id for trace in traces])

        def work(transaction: Transaction) -> None:
            found = transaction.rows(
                "SELECT id, row, who FROM recall_message WHERE id IN (SELECT value FROM json_each(:ids))", ids=ids
            )
            erase(transaction, [row["row"] for row in found])
            for row in found:
                transaction.run("UPDATE recall_message SET who = '' WHERE row = :row", row=row["row"])
                transaction.run("INSERT OR IGNORE INTO recall_pending VALUES ('message', :id)", id=row["id"])

            forget_names(transaction, {name for row in found for name in row["who"].split()})

        await self._ctx.services.need(STORE).write(work)
        self._index.wake()


def _holding(reading: Reading, text: str) -> list[dict[str, str]]:
    """Return the rows that hold a text, in any case and spacing, or that are of the message of that id."""
    wanted = " ".join(text.casefold().split())
    found: dict[str, dict[str, str]] = {}
    for table in ("recall_text", "recall_output"):
        join = f"FROM recall_message m JOIN {table} t ON t.rowid = m.row"
        rows = reading.rows(f"SELECT m.id, t.body {join} WHERE m.id = :id", id=text.strip())
        # Words narrow it down where there are any; the text itself decides.
        words = Term(tuple("".join(c if c.isalnum() else " " for c in text).split()), exact=True)
        if words.words:
            match = f"t.rowid IN (SELECT rowid FROM {table} WHERE {table} MATCH :match)"
            rows += reading.rows(f"SELECT m.id, t.body {join} WHERE {match} LIMIT :most", match=words.match, most=MOST)
        for row in rows:
            if row["id"] == text.strip() or (wanted and wanted in " ".join(row["body"].casefold().split())):
                found[row["id"]] = dict(row)
    if wanted:
        sql = "SELECT id, who AS body FROM recall_message WHERE instr(who, :wanted)"
        found |= {row["id"]: dict(row) for row in reading.rows(sql, wanted=wanted) if row["id"] not in found}
    return list(found.values())
