"""What each conversation has read: whoever replaces a file must have seen it as it is. Kept across restarts."""

from __future__ import annotations

from pathlib import Path

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import StorageError
from atlas_sdk.schema import Migration, Schema
from atlas_sdk.services.store import STORE, Transaction

from .opening import State

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                "CREATE TABLE files_read (conversation TEXT NOT NULL, path TEXT NOT NULL, size BIGINT NOT NULL, "
                "mtime_ns BIGINT NOT NULL, digest TEXT NOT NULL, read_at TEXT NOT NULL, "
                "PRIMARY KEY (conversation, path))",
            ),
        ),
    )
)
_KEEP = (
    "INSERT INTO files_read (conversation, path, size, mtime_ns, digest, read_at) "
    "VALUES (:conversation, :path, :size, :mtime_ns, :digest, :read_at) "
    "ON CONFLICT (conversation, path) DO UPDATE SET size = excluded.size, mtime_ns = excluded.mtime_ns, "
    "digest = excluded.digest, read_at = excluded.read_at"
)
_GET = "SELECT size, mtime_ns, digest FROM files_read WHERE conversation = :conversation AND path = :path"


class Reads:
    """The records of one home."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def get(self, conversation: str, path: Path) -> State | None:
        """Return the file's state when the conversation last read or wrote it. Raises StorageError."""
        name = _stored(path)
        rows = await self._ctx.services.need(STORE).read(
            lambda reading: reading.rows(_GET, conversation=conversation, path=name)
        )
        return State(rows[0]["size"], rows[0]["mtime_ns"], rows[0]["digest"]) if rows else None

    async def keep(self, conversation: str, path: Path, state: State) -> None:
        """Keep that the conversation knows the file in this state.

        A record that cannot be kept is logged and costs one more read later: reading goes on with a full disk.
        """
        values = {"size": state.size, "mtime_ns": state.mtime_ns, "digest": state.digest}
        name, now = _stored(path), self._ctx.clock.now().isoformat()

        def work(transaction: Transaction) -> None:
            transaction.run(_KEEP, conversation=conversation, path=name, read_at=now, **values)

        try:
            await self._ctx.services.need(STORE).write(work)
        except StorageError:
            self._ctx.logger.warning("A read could not be kept", exc_info=True)


def _stored(path: Path) -> str:
    """Return the path as text a database takes: names on disk may hold bytes that are no UTF-8."""
    return str(path).encode(errors="surrogateescape").decode(errors="backslashreplace")
