"""The SQLite engine: its pragmas, its transactions, and what its errors mean to a person."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from atlas_sdk.errors import StorageError

BUSY_MILLISECONDS = 5000
READERS = 4
SCRUB_TRIES = 100
SCRUB_PAUSE_SECONDS = 0.05
"""A read takes milliseconds; this is the time a slow one may take before the log can be emptied."""


def open_engine(path: Path) -> Engine:
    """Open the database file, for its owner alone, in write-ahead mode.

    Every transaction is ours (``BEGIN``), so that also a table's creation is undone when a migration fails.
    """
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    elif os.name == "posix" and path.stat().st_mode & 0o077:
        path.chmod(0o600)
    engine = create_engine(
        f"sqlite:///{path}", pool_size=READERS + 1, max_overflow=0, connect_args={"check_same_thread": False}
    )

    @event.listens_for(engine, "connect")
    def connected(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "secure_delete=ON",
            "synchronous=FULL",
            f"busy_timeout={BUSY_MILLISECONDS}",
            "foreign_keys=ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    return engine


def scrub(connection: Connection) -> None:
    """Write the database anew, so that nothing erased is left in free pages, and empty the log beside it."""
    connection.exec_driver_sql("VACUUM")
    for _ in range(SCRUB_TRIES):
        if not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").first()[0]:  # type: ignore[index]  # one row
            return
        time.sleep(SCRUB_PAUSE_SECONDS)
    said = "Something is still reading the database, so its log atlas.db-wal may hold for a while what was erased."
    raise StorageError(said, hint="Do it again, or restart Atlas.", code="database_read")


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn what SQLite raises into a sentence with the way out."""
    try:
        yield
    except SQLAlchemyError as error:
        raise explained(error) from error
    except (sqlite3.Error, OSError) as error:
        raise explained(error) from error


def explained(error: Exception) -> StorageError:
    """Return the sentence for an error of the database."""
    original = error.orig if isinstance(error, DatabaseError) and error.orig is not None else error
    text = str(original)
    low = text.lower()
    if "full" in low or "no space" in low:
        return StorageError(
            "The disk is full, and nothing was written.", hint="Free some space and try again.", code="disk_full"
        )
    if "disk i/o error" in low:
        said = "The database atlas.db cannot be written: the disk is full, or it fails. Nothing was changed."
        return StorageError(said, hint="Free some space and try again.", code="disk_failed")
    if "malformed" in low or "not a database" in low:
        return StorageError(
            "The database atlas.db is damaged.",
            hint="Close Atlas and put the newest copy from backups/ in its place.",
            code="database_damaged",
        )
    if "readonly" in low or "unable to open" in low or "permission" in low:
        said, hint = "The database atlas.db cannot be opened for writing.", "Mend the permissions of the home."
        return StorageError(said, hint=hint, code="database_closed")
    if "locked" in low:
        return StorageError(
            "Another program holds the database atlas.db.", hint="Close it and try again.", code="database_locked"
        )
    return StorageError(f"The database refused: {text}.", hint="The log says more.", code="database_refused")
