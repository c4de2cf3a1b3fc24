"""A client of a home in this very process: the same wire, with queues in the place of a socket."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar

from .client import JsonRpcClient
from .errors import ServerError
from .services import Services

CLOSE_SECONDS = 5.0
"""How long requests under way may take to end once the command is done."""

ONE_COMMAND: ContextVar[bool] = ContextVar("one_command", default=False)
"""True in a home that is open for the length of a terminal command: nothing begins there that outlives it.

A channel would take a message, and be gone before it is answered.
"""


class InProcessClient(JsonRpcClient):
    """A client of a home that this very process serves, in a thread of its own, while no server runs.

    ``open_home`` opens the home on the event loop of that thread and gives its services.
    """

    def __init__(self, open_home: Callable[[], AbstractAsyncContextManager[Services]]) -> None:
        super().__init__()
        self._frames: queue.Queue[str | None] = queue.Queue()
        self._exit = ExitStack()
        # Half open it could neither be used nor closed, so Ctrl+C waits for the fraction of a second that takes.
        with held_interrupt():
            self._open(open_home)

    def _open(self, open_home: Callable[[], AbstractAsyncContextManager[Services]]) -> None:
        from anyio.from_thread import start_blocking_portal

        try:
            self._portal = self._exit.enter_context(start_blocking_portal("trio"))
            self._inbound = self._exit.enter_context(
                self._portal.wrap_async_context_manager(_served(open_home, self._frames.put))
            )
        except BaseException:
            self._exit.close()
            raise

    def send_frame(self, frame: str) -> None:
        self._portal.call(self._inbound, frame)

    def receive_frame(self, timeout: float | None) -> str | None:
        try:
            frame = self._frames.get(timeout=timeout)
        except queue.Empty:
            return None
        if frame is None:
            raise ServerError("Atlas ended in the middle of the command.", hint="The log says why.")
        return frame

    def close(self) -> None:
        with held_interrupt():
            self._exit.close()


@contextmanager
def held_interrupt() -> Iterator[None]:
    """Keep Ctrl+C for the end of the block, where it is raised as ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@asynccontextmanager
async def _served(
    open_home: Callable[[], AbstractAsyncContextManager[Services]], outbound: Callable[[str | None], None]
) -> AsyncIterator[Callable[[str], None]]:
    """Open the home, serve one trusted client, and yield what hands it a frame."""
    import anyio

    from .services.wire import WIRE

    ONE_COMMAND.set(True)  # what the home starts inherits it
    async with open_home() as services:
        wire = services.need(WIRE)
        send, receive = anyio.create_memory_object_stream[str](256)

        async def inbound() -> str | None:
            try:
                return await receive.receive()
            except anyio.EndOfStream:
                return None

        async def out(frame: str) -> None:
            outbound(frame)

        async def serve() -> None:
            try:
                await wire.serve(inbound, out, trusted=True)
            finally:
                outbound(None)

        async with anyio.create_task_group() as group:
            group.start_soon(serve)
            with send:
                yield send.send_nowait
            group.cancel_scope.deadline = anyio.current_time() + CLOSE_SECONDS
