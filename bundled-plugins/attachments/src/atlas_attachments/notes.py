"""What the model reads of a message's files: their text, read before it is asked, and the same ever after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import NotFoundError
from atlas_sdk.hooks import ModelGo, Stage
from atlas_sdk.messages import FilePart, Message
from atlas_sdk.providers import Emit, ModelReply, ModelRequest
from atlas_sdk.schema import Migration, Schema
from atlas_sdk.services.attachments import ATTACHMENTS
from atlas_sdk.services.store import STORE, Reading, Row, Transaction

from .attachments import Attachments

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                "CREATE TABLE attachments_note (message TEXT NOT NULL, attachment TEXT NOT NULL, "
                "is_read INTEGER NOT NULL, PRIMARY KEY (message, attachment))",
            ),
        ),
    )
)

Texts: TypeAlias = Mapping[tuple[str, str], str | None]
"""What files say, by message and attachment; None for nothing."""


class Notes:
    """Puts the text of files into what the model is given, outside of all that looks at a request.

    What came of a file in a message is decided once, at the first request that has it, and kept: a file that could
    not be read then stays unread in that message, so that no later request changes what stood before.
    """

    stage = Stage.FIRST

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """Ask the model with the files read. One that cannot be read stops nothing."""
        wanted = {
            (message.id, part.attachment): part
            for message in request.messages
            for part in message.parts
            if isinstance(part, FilePart) and part.text is None
        }
        if not wanted:
            return await go(request, emit)
        texts = await self._texts(wanted)
        messages = tuple(_with(message, texts) for message in request.messages)
        return await go(replace(request, messages=messages), emit)

    async def _texts(self, wanted: Mapping[tuple[str, str], FilePart]) -> Texts:
        store = self._ctx.services.need(STORE)
        decided: dict[tuple[str, str], bool] = {}
        for row in await store.read(partial(_decided, of={message for message, _ in wanted})):
            decided[row["message"], row["attachment"]] = bool(row["is_read"])
        texts: dict[tuple[str, str], str | None] = {}
        async with anyio.create_task_group() as group:
            for key, part in wanted.items():
                if decided.get(key, True):
                    group.start_soon(self._read, key, part, texts)
        new = {key: texts.get(key) is not None for key in wanted if key not in decided}
        if new:
            await store.write(partial(_decide, new=new))
        return texts

    async def _read(self, key: tuple[str, str], part: FilePart, texts: dict[tuple[str, str], str | None]) -> None:
        attachments = self._ctx.services.get(ATTACHMENTS)
        try:
            if isinstance(attachments, Attachments):
                texts[key] = await attachments.read(part.attachment, media_type=part.media_type, name=part.name)
            elif attachments is not None:
                texts[key] = await attachments.text(part.attachment)
        except NotFoundError:
            texts[key] = None


def _decided(reading: Reading, of: set[str]) -> list[Row]:
    sql = "SELECT * FROM attachments_note WHERE message = :message"
    return [row for message in of for row in reading.rows(sql, message=message)]


def _decide(transaction: Transaction, new: Mapping[tuple[str, str], bool]) -> None:
    for (message, attachment), is_read in new.items():
        transaction.run(
            "INSERT INTO attachments_note (message, attachment, is_read) VALUES (:message, :attachment, :is_read) "
            "ON CONFLICT (message, attachment) DO NOTHING",
            message=message,
            attachment=attachment,
            is_read=int(is_read),
        )


def _with(message: Message, texts: Texts) -> Message:
    """Return a message with the text of its files."""
    parts = tuple(
        part.model_copy(update={"text": texts[message.id, part.attachment]})
        if isinstance(part, FilePart) and part.text is None and texts.get((message.id, part.attachment)) is not None
        else part
        for part in message.parts
    )
    return message if parts == message.parts else message.model_copy(update={"parts": parts})
