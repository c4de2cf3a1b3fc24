"""What attachments say, as text. Provided by the attachments plugin."""

from __future__ import annotations

from typing import Protocol

from . import ServiceKey


class AttachmentsService(Protocol):
    """Reads attachments by the readers that plugins add, each once."""

    async def text(self, id: str) -> str | None:
        """Return an attachment's text: what is kept of it, else what a reader makes of it now, which is then kept.

        None where nothing reads its kind, or the reader failed, returned nothing or took over two minutes.
        Raises NotFoundError for an id nobody has.
        """


ATTACHMENTS: ServiceKey[AttachmentsService] = ServiceKey("attachments", 1)
