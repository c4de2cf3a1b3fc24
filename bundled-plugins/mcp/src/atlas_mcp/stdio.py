"""A server as a child process: a line of JSON a message, both ways.

The SDK's own transport ends only what stays in the process's group when it does not go by itself, tells nobody when
the server dies, and writes every line that is no message to the log. Here the whole tree ends, always; what a server
says on standard error is kept for the sentence that explains its death; rubbish is passed over.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import ByteReceiveStream, Process

from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.process_trees import Mark, end_tree, start

from .config import ServerConfig
from .flood import Flood
from .placeholders import basic_environment

if TYPE_CHECKING:
    from mcp.client import Transport

MOST_LINE_BYTES = 64_000_000
"""A message is one line, an image in it is base64; past this a server has run wild."""
LEAVE_SECONDS = 0.5
"""For a server that ends by itself once its input is closed, as the protocol asks."""
_SAID_LINES = 20
_SAID_CHARS = 600
_SAID_LINE = 0.05
"""What a line on standard error counts of a message: it is kept, and nothing comes of it."""
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


class Said:
    """The last lines a server wrote that were no messages, for the sentence that explains what became of it."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_SAID_LINES)

    def add(self, line: bytes) -> None:
        """Keep a line."""
        if text := line.decode("utf-8", "replace").strip():
            self._lines.append(text[:_SAID_CHARS])

    def text(self) -> str:
        """Return the end of what was said."""
        return " / ".join(self._lines)[-_SAID_CHARS:]


@asynccontextmanager
async def stdio(config: ServerConfig, *, said: Said, gone: Callable[[], None], flood: Flood) -> AsyncIterator[Any]:
    """Start a server and yield the streams of its messages; leaving the block ends its whole tree.

    ``gone`` is called when the server closes its output, which it does when it dies, or when ``flood`` is over it: who
    says more than anybody asked for is read more slowly, and then no more. Raises AtlasError where it cannot be
    started.
    """
    from mcp.shared.message import SessionMessage

    waiting: set[object] = set()
    mark = Mark("ATLAS_MCP", secrets.token_hex(8))
    process = await _started(config, {**basic_environment(), **config.env}, mark)
    try:
        incoming, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        send, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group, incoming, receive, send, outgoing:
            group.start_soon(_read_messages, process.stdout, incoming, said, gone, flood, waiting)
            group.start_soon(_read_said, process.stderr, said)
            group.start_soon(_write, process, outgoing, gone, waiting)
            try:
                yield receive, send
            finally:
                with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVE_SECONDS):
                    receive.close()
                    assert process.stdin is not None
                    with suppress(*_GONE):
                        await process.stdin.aclose()
                    await process.wait()
                group.cancel_scope.cancel()
    finally:
        await end_tree(process.pid, mark)
        with anyio.CancelScope(shield=True), anyio.move_on_after(LEAVE_SECONDS):
            await process.aclose()


if TYPE_CHECKING:

    def _fits(config: ServerConfig, said: Said, gone: Callable[[], None], flood: Flood) -> Transport:
        return stdio(config, said=said, gone=gone, flood=flood)


async def _started(config: ServerConfig, environment: dict[str, str], mark: Mark) -> Process:
    folder, program = await anyio.to_thread.run_sync(_found, config, environment.get("PATH"))
    command = [program, *config.args]
    try:
        return await start(command, mark=mark, folder=folder, environment=environment, stdin=subprocess.PIPE)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise MisuseError(f"The MCP server {config.name} cannot be started: {why}.") from error


def _found(config: ServerConfig, path: str | None) -> tuple[Path, str]:
    """Return the folder and the program to start. Raises MisuseError where one is not there."""
    folder = config.folder / Path(config.cwd).expanduser() if config.cwd else config.folder
    if not folder.is_dir():
        raise MisuseError(f"The MCP server {config.name} cannot be started: there is no folder {folder}.")
    if {"/", os.sep} & set(config.command):
        program = str(folder / Path(config.command).expanduser())
    else:
        program = shutil.which(config.command, path=path) or ""
    if not program:
        raise MisuseError(
            f"The MCP server {config.name} cannot be started: there is no program {config.command!r}.",
            hint="Install it, or mend its command in mcp.json.",
        )
    return folder, program


async def _read_messages(
    stream: ByteReceiveStream | None,
    incoming: Any,
    said: Said,
    gone: Callable[[], None],
    flood: Flood,
    waiting: set[object],
) -> None:
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    assert stream is not None
    async with incoming:
        with suppress(*_GONE):
            async with aclosing(_lines(stream)) as lines:
                async for line in lines:
                    try:
                        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValueError:
                        message = None
                        said.add(line)
                    answers = getattr(message, "id", None) if not hasattr(message, "method") else None
                    if answers in waiting:
                        waiting.discard(answers)
                    elif pause := flood.note(len(line)):
                        if flood.is_over:
                            break
                        await anyio.sleep(pause)  # meanwhile the pipe fills, and the server waits
                    if message is None:
                        continue
                    await incoming.send(SessionMessage(message))
        gone()


async def _read_said(stream: ByteReceiveStream | None, said: Said) -> None:
    assert stream is not None
    with suppress(*_GONE, AtlasError):
        flood = Flood()
        async with aclosing(_lines(stream)) as lines:
            async for line in lines:
                said.add(line)
                if pause := flood.note(len(line), each=_SAID_LINE):
                    await anyio.sleep(pause)


async def _write(process: Process, outgoing: Any, gone: Callable[[], None], waiting: set[object]) -> None:
    assert process.stdin is not None
    try:
        async for message in outgoing:
            if hasattr(message.message, "method") and (id := getattr(message.message, "id", None)) is not None:
                waiting.add(id)
            data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await process.stdin.send(data.encode("utf-8", "replace") + b"\n")
    except _GONE:
        gone()


async def _lines(stream: ByteReceiveStream) -> AsyncGenerator[bytes, None]:
    """Yield complete lines. One that never ends is as good as the end of the stream."""
    parts: list[bytes] = []
    held = 0
    async for chunk in stream:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*parts, line))
            parts, held = [], 0
        parts.append(rest)
        held += len(rest)
        if held > MOST_LINE_BYTES:
            return
