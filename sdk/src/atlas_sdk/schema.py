"""Tables a plugin keeps in the home's database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Migration:
    """One step of a plugin's tables, run once, in a transaction with the others that are due.

    ``statements`` are SQL in the part that SQLite and PostgreSQL share. Tables are named ``<plugin>_…``.
    """

    number: int
    statements: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """A plugin's tables: migrations numbered from 1 without gaps. They are only ever added to."""

    migrations: tuple[Migration, ...]
