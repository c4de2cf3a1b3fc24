"""The service: an attachment's text, made by a reader of its kind, and kept with the file."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import NotFoundError
from atlas_sdk.readers import READER_TIMEOUT_SECONDS, Reader
from atlas_sdk.records import Attachment
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE

from .plain import is_text, read_text


class Attachments:
    """Reads each attachment once, also when two conversations ask at the same time."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._reading: dict[str, tuple[anyio.Lock, int]] = {}
        self._told: set[tuple[str, str]] = set()

    async def text(self, id: str) -> str | None:
        return await self.read(id)

    async def read(self, id: str, *, media_type: str = "", name: str = "") -> str | None:
        """Return an attachment's text as ``text`` does. The message may say another type and name than the file.

        The same bytes may have come first under a name that told nothing.
        """
        lock, count = self._reading.get(id, (anyio.Lock(), 0))
        self._reading[id] = lock, count + 1
        try:
            async with lock:
                return await self._read(id, media_type, name)
        finally:
            count = self._reading[id][1] - 1
            if count:
                self._reading[id] = lock, count
            else:
                del self._reading[id]

    async def _read(self, id: str, media_type: str, name: str) -> str | None:
        store = self._ctx.services.need(STORE)
        found = await store.get(Attachment, id)
        if found is None:
            raise NotFoundError(f"There is no attachment {id[:16]!r}.")
        if found.text is not None:
            return found.text
        media_type, name = media_type or found.media_type, name or found.name
        text = await self._made(store.file(id), media_type, name)
        if not text.strip():
            return None
        await store.commit([found.model_copy(update={"text": text})])
        return text

    async def _made(self, path: Path, media_type: str, name: str) -> str:
        """Return what a reader of the kind makes of a file, else the file's own text; empty for nothing."""
        reader = self._reader(media_type.partition("/")[0].lower())
        with anyio.move_on_after(READER_TIMEOUT_SECONDS) as bound:
            if reader is not None and (text := await self._by(reader, path, media_type)):
                return text
            if is_text(media_type, name):
                return await self._plain(path)
        if bound.cancelled_caught:
            self._ctx.logger.warning(
                "An attachment was not read in %d seconds", READER_TIMEOUT_SECONDS, extra={"media_type": media_type}
            )
        return ""

    async def _plain(self, path: Path) -> str:
        try:
            return await anyio.to_thread.run_sync(read_text, path)
        except OSError as error:
            self._ctx.logger.warning("An attachment could not be read: %s", error.strerror)
            return ""

    async def _by(self, reader: Reader, path: Path, media_type: str) -> str:
        try:
            text = await reader.read(path, media_type)
        except Exception as error:  # noqa: BLE001  # a reader of anybody's may raise anything
            self._ctx.logger.warning("A reader failed: %s", error, extra={"kind": reader.kind})
            return ""
        return text if isinstance(text, str) and text.strip() else ""

    def _reader(self, kind: str) -> Reader | None:
        """Return the reader of a kind: the first loaded. The others are logged, once."""
        found = [added for added in self._ctx.services.need(HOME).added("atlas_readers") if added.name == kind]
        for other in found[1:]:
            if (kind, other.plugin) not in self._told:
                self._told.add((kind, other.plugin))
                self._ctx.logger.warning(
                    "Files of the kind %s are read by %s, and not by %s", kind, found[0].plugin, other.plugin
                )
        return found[0].item if found else None
