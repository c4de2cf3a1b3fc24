"""Bringing tables up to date: a copy first, then every step that is due in one transaction."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, select, text
from sqlalchemy.dialects.sqlite import insert

from atlas_sdk.errors import StorageError
from atlas_sdk.schema import Schema

from .tables import VERSIONS, metadata

CORE = "store"
CORE_VERSION = 1
KEPT_BACKUPS = 5


def version_of(connection: Connection, plugin: str) -> int:
    """Return the version of a plugin's tables, 0 before the first."""
    found = connection.execute(select(VERSIONS.c.version).where(VERSIONS.c.plugin == plugin)).scalar()
    return int(found or 0)


def set_version(connection: Connection, plugin: str, version: int) -> None:
    """Keep the version of a plugin's tables."""
    row = insert(VERSIONS).values(plugin=plugin, version=version)
    connection.execute(row.on_conflict_do_update(index_elements=["plugin"], set_={"version": version}))


def migrate_core(connection: Connection) -> None:
    """Make the core's tables, or refuse a database that a newer Atlas wrote."""
    found = connection.execute(text("SELECT name FROM sqlite_master WHERE name = 'schema_version'")).scalar()
    version = version_of(connection, CORE) if found else 0
    if version > CORE_VERSION:
        raise newer(CORE, version, CORE_VERSION)
    if version < CORE_VERSION:
        metadata.create_all(connection)
        set_version(connection, CORE, CORE_VERSION)


def migrate(connection: Connection, plugin: str, schema: Schema) -> None:
    """Run the steps of a plugin that are due."""
    version = version_of(connection, plugin)
    last = len(schema.migrations)
    if [step.number for step in schema.migrations] != list(range(1, last + 1)):
        raise StorageError(f"The migrations of {plugin} must be numbered from 1 without gaps.")
    if version > last:
        raise newer(plugin, version, last)
    for step in schema.migrations[version:]:
        for statement in step.statements:
            connection.exec_driver_sql(statement)
    set_version(connection, plugin, last)


def due(connection: Connection, plugin: str, schema: Schema) -> bool:
    """Whether a plugin has steps to run on tables that hold something already."""
    return version_of(connection, plugin) < len(schema.migrations)


def newer(plugin: str, version: int, known: int) -> StorageError:
    """Return the refusal of tables from the future."""
    return StorageError(
        f"The tables of {plugin} are of version {version}, and this Atlas knows {known}.",
        hint="Update Atlas, or restore an older copy from backups/.",
        code="database_newer",
    )


def back_up(database: Path, folder: Path, now: datetime) -> Path:
    """Copy a live database whole into ``backups/`` and keep the last few copies."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / f"atlas-{now:%Y%m%dT%H%M%S%f}.db"
    beside = target.with_suffix(".new")
    try:
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(beside)) as copy:
            source.backup(copy)
        beside.chmod(0o600)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)  # half a copy would only fill the disk
        raise
    for old in sorted(folder.glob("atlas-*.db"))[:-KEPT_BACKUPS]:
        old.unlink()
    return target
