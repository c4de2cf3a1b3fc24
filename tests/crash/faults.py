"""The n-th write fails: what SQLite is told to write, and what is done to files, counted and broken at the edge."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import pytest

Kind = Literal["no space", "input/output", "locked"]
KINDS: tuple[Kind, ...] = ("no space", "input/output", "locked")
TRIES = 3
"""As often a write of the conversation is tried before it is told that it failed."""
_SAID = {"no space": "database or disk is full", "input/output": "disk I/O error", "locked": "database is locked"}
_NUMBER = {"no space": errno.ENOSPC, "input/output": errno.EIO, "locked": errno.EBUSY}
_READS = ("SELECT", "WITH", "PRAGMA", "BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK")


@dataclass
class Faults:
    """Counts writes while ``counting``, and lets the one that is due fail, or with ``lasting`` all from it on.

    The database's fails ``tries`` times in a row: the transactions that begin after it are tries of its own.
    """

    counting: bool = False
    due: int = 0
    kind: Kind = "no space"
    lasting: bool = False
    count: int = 0
    fired: int = 0
    tries: int = TRIES
    again: int = 0

    def hits(self) -> bool:
        """Count one write and say whether it fails."""
        if not self.counting:
            return False
        self.count += 1
        hit = self.due > 0 and (self.count == self.due or (self.lasting and self.count > self.due))
        self.fired += hit
        return hit

    @contextmanager
    def during(self, due: int, kind: Kind, *, lasting: bool = False, tries: int = TRIES) -> Iterator[None]:
        """Let a write fail within the block; 0 only counts."""
        self.due, self.kind, self.lasting, self.count, self.fired, self.counting = due, kind, lasting, 0, 0, True
        self.tries, self.again = tries, 0
        try:
            yield
        finally:
            self.counting = False

    def database(self, statement: str, connection: sqlite3.Connection) -> None:
        """Raise as SQLite does, which undoes a transaction it has no space for; a lock is met where one begins."""
        begins = statement.startswith("BEGIN IMMEDIATE")
        if statement.lstrip().startswith(_READS) and not begins:
            return
        if begins and self.counting and self.again:
            self.again -= 1
            raise sqlite3.OperationalError(_SAID[self.kind])
        if self.hits():
            self.again = self.tries - 1
            if self.kind != "locked" and connection.in_transaction:
                connection.rollback()
            raise sqlite3.OperationalError(_SAID[self.kind])

    def file(self, path: Any = None) -> None:
        """Raise as the system does."""
        if self.hits():
            raise OSError(_NUMBER[self.kind], os.strerror(_NUMBER[self.kind]), path)


class _Torn:
    """An open file; the write that is due leaves half of its data behind."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file = file
        self._faults = faults

    def __enter__(self) -> _Torn:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: Any) -> int:
        if self._faults.hits():
            self._file.write(data[: len(data) // 2])
            number = _NUMBER[self._faults.kind]
            raise OSError(number, os.strerror(number))
        return int(self._file.write(data))


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Put the edge between Atlas and its disk. Nothing is waited for between two tries."""
    found = Faults()
    monkeypatch.setattr("atlas_store.store.PAUSES_SECONDS", (0.0,) * (TRIES - 1))

    class Cursor(sqlite3.Cursor):
        def execute(self, statement: str, *values: Any) -> Any:
            found.database(statement, self.connection)
            return super().execute(statement, *values)

        def executemany(self, statement: str, values: Any) -> Any:
            found.database(statement, self.connection)
            return super().executemany(statement, values)

    class Connection(sqlite3.Connection):
        def cursor(self, factory: Any = Cursor) -> Any:
            return super().cursor(factory)

        def backup(self, target: sqlite3.Connection, **options: Any) -> None:
            if found.hits():
                raise sqlite3.OperationalError(_SAID[found.kind])
            super().backup(target, **options)

    connect, open_, fdopen, fsync, replace = sqlite3.connect, os.open, os.fdopen, os.fsync, os.replace

    def faulty_connect(*arguments: Any, **options: Any) -> Any:
        return connect(*arguments, **{"factory": Connection, **options})

    def faulty_open(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if flags & os.O_CREAT:
            found.file(path)
        return open_(path, flags, *more, **options)

    def faulty_fdopen(handle: int, mode: str = "r", *more: Any, **options: Any) -> Any:
        file = fdopen(handle, mode, *more, **options)
        return _Torn(file, found) if "w" in mode and found.counting else file

    def faulty_fsync(handle: int) -> None:
        found.file()
        fsync(handle)

    def faulty_replace(source: Any, target: Any, **options: Any) -> None:
        found.file(target)
        replace(source, target, **options)

    monkeypatch.setattr(sqlite3, "connect", faulty_connect)
    monkeypatch.setattr(sqlite3.dbapi2, "connect", faulty_connect)
    for name, broken in (
        ("open", faulty_open),
        ("fdopen", faulty_fdopen),
        ("fsync", faulty_fsync),
        ("replace", faulty_replace),
    ):
        monkeypatch.setattr(os, name, broken)
    return found
