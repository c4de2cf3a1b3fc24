"""A forgetter of a plugin's own table: for whoever keeps what was said in columns of text, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from .memory import Trace
from .phrase import Phrase
from .services import Services
from .services.store import STORE, Reading, Transaction


class Rows:
    """Looks into columns of a table that has a rowid. The words are struck, or with ``whole`` the rows are deleted.

    ``where`` is what people are told, ``asked`` and ``stays`` are as a ``Trace`` has them: with a sentence in
    ``stays`` it is found and named, and nothing is touched.
    """

    def __init__(
        self,
        services: Services,
        table: str,
        *columns: str,
        where: str,
        whole: bool = False,
        asked: bool = True,
        stays: str = "",
    ) -> None:
        self.name = where
        self.owns = (table,)
        self._services = services
        self._table = table
        self._columns = columns
        self._whole = whole
        self._asked = asked
        self._stays = stays

    async def find(self, text: str) -> tuple[Trace, ...]:
        phrase = Phrase(text)

        def work(reading: Reading) -> tuple[Trace, ...]:
            return tuple(
                Trace(
                    id=f"{self._table}:{row['number']}",
                    where=self.name,
                    text=next(filter(None, self._held(row, phrase))),
                    asked=self._asked,
                    stays=self._stays,
                )
                for row in self._rows(reading, phrase)
            )

        return await self._services.need(STORE).read(work)

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        phrase, ids = Phrase(text), {trace.id for trace in traces}

        def work(transaction: Transaction) -> None:
            for row in self._rows(transaction, phrase):
                if f"{self._table}:{row['number']}" not in ids:
                    continue
                if self._whole:
                    transaction.run(f'DELETE FROM "{self._table}" WHERE rowid = :number', number=row["number"])
                    continue
                for name in self._columns:
                    if isinstance(value := row[name], str):
                        transaction.run(
                            f'UPDATE "{self._table}" SET "{name}" = :text WHERE rowid = :number',
                            text=phrase.in_record(value),
                            number=row["number"],
                        )

        await self._services.need(STORE).write(work)

    def _rows(self, reading: Reading, phrase: Phrase) -> list[dict[str, object]]:
        wanted = " OR ".join(f'"{name}" LIKE :like' for name in self._columns)
        columns = ", ".join(f'"{name}"' for name in self._columns)
        rows = reading.rows(
            f'SELECT rowid AS number, {columns} FROM "{self._table}" WHERE {wanted}', like=f"%{phrase.word}%"
        )
        return [dict(row) for row in rows if any(self._held(dict(row), phrase))]

    def _held(self, row: dict[str, object], phrase: Phrase) -> list[str]:
        return [phrase.held_in(value) for name in self._columns if isinstance(value := row[name], str)]
