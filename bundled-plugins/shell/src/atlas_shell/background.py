"""Commands in the background: they live while Atlas runs, and their output is a file one can read."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.services import ServiceKey
from atlas_sdk.services.notify import NOTIFY
from atlas_sdk.tools import ToolError

from .processes import ending, started
from .recordings import Recording, settle

RUNNING_LIMIT = 20
_READY_SECONDS = 5.0
_STOP_SECONDS = 4.0
_WRITE_SECONDS = 2.0
CLOSED = "Stopped, since Atlas closed,"


@dataclass
class Background:
    """A command in the background. Its fields are written by ``Commands`` alone; ``how`` is how it ended."""

    id: str
    command: str
    folder: Path
    conversation: str
    cause: str
    notify: bool
    recording: Recording
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)
    how: str = ""
    is_started: bool = False


class Commands:
    """The background commands of a home. Each is a task of ``serve``, and none outlives the plugin."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._folder = ctx.home / "commands"
        self._running: dict[str, Background] = {}
        self._group: TaskGroup | None = None
        self._ready = anyio.Event()

    @property
    def running(self) -> tuple[Background, ...]:
        """The commands that run, the oldest first."""
        return tuple(self._running.values())

    async def serve(self) -> None:
        """Mark what a crash left over, then keep the commands until cancelled."""
        await anyio.to_thread.run_sync(settle, self._folder)
        async with anyio.create_task_group() as group:
            self._group = group
            self._ready.set()
            try:
                await anyio.sleep_forever()
            finally:
                self._group = None

    async def start(
        self,
        command: str,
        *,
        folder: Path,
        environment: Callable[[str], dict[str, str]],
        conversation: str,
        cause: str,
        notify: bool,
    ) -> Background:
        """Start a command and return once its process runs. Raises ToolError.

        ``environment`` makes a command's environment from its id. With ``notify`` the conversation is told when it
        ends by itself; ``cause`` is the call that started it.
        """
        with anyio.move_on_after(_READY_SECONDS):
            await self._ready.wait()
        if self._group is None:
            raise ToolError("Not run: there are no background commands while Atlas starts or closes.")
        if len(self._running) >= RUNNING_LIMIT:
            raise ToolError(f"Not run: {RUNNING_LIMIT} background commands run already. Stop one of {self.listed()}.")
        id = secrets.token_hex(4)
        file = self._folder / f"{self._ctx.clock.now():%Y%m%d-%H%M%S}-{id}.txt"
        job = Background(id, command, folder, conversation, cause, notify, Recording(file, id))
        self._running[id] = job
        await self._group.start(self._keep, job, environment(id))
        if not job.is_started:
            raise ToolError("Not run: Atlas is closing.")
        return job

    async def stop(self, id: str) -> Background:
        """Stop a command with its whole tree and return it as it ended. Raises ToolError for an unknown id."""
        job = self._running.get(id)
        if job is None:
            raise ToolError(f"There is no background command {id!r} running. Those there are: {self.listed()}.")
        self._cancel(job, "Stopped")
        with anyio.move_on_after(_STOP_SECONDS):
            await job.ended.wait()
        return job

    async def close(self) -> None:
        """Stop every command and return when their processes are gone."""
        jobs = self.running
        for job in jobs:
            self._cancel(job, CLOSED)
        with anyio.move_on_after(_STOP_SECONDS):
            for job in jobs:
                await job.ended.wait()

    def listed(self) -> str:
        """Return the commands that run, as a list for the model."""
        return "; ".join(f"{job.id} ({job.command[:80]})" for job in self.running) or "none"

    def _cancel(self, job: Background, how: str) -> None:
        job.how = job.how or how
        job.scope.cancel()

    async def _keep(self, job: Background, environment: dict[str, str], *, task_status: TaskStatus[None]) -> None:
        """Keep one command from its start to its end. It never raises once it said that it started."""
        began = anyio.current_time()
        try:
            with job.scope:
                await anyio.to_thread.run_sync(job.recording.begin)
                async with started(job.command, folder=job.folder, environment=environment, mark=job.id) as running:
                    job.is_started = True
                    task_status.started()
                    code = await running.read(lambda data: anyio.to_thread.run_sync(job.recording.take, data))
                    await running.end_rest()
                    job.how = job.how or f"Ended with {ending(code)}"
        except OSError as error:
            if job.is_started:
                raise
            raise ToolError(f"Not run: the file for its output could not be made: {error.strerror}.") from error
        finally:
            job.how = job.how or CLOSED
            with anyio.move_on_after(_WRITE_SECONDS, shield=True):
                if job.is_started:
                    seconds = anyio.current_time() - began
                    await anyio.to_thread.run_sync(job.recording.end, f"{job.how} after {seconds:.0f} s.")
                else:
                    await anyio.to_thread.run_sync(job.recording.discard)
            del self._running[job.id]
            job.ended.set()
        if not job.is_started:
            task_status.started()
        elif job.notify and job.how.startswith("Ended"):
            await self._tell(job)

    async def _tell(self, job: Background) -> None:
        text = (
            f"The background command {job.id} is done: {job.how}. It was: {job.command[:300]}\n"
            f"The end of its output, which is whole in {job.recording.file}:\n{job.recording.tail.text()}"
        )
        try:
            notify = self._ctx.services.need(NOTIFY)
            await notify.notify(job.conversation, text, source="run_command", cause=job.cause)
        except AtlasError as error:
            self._ctx.logger.warning("Nobody could be told of a command's end: %s", error)


COMMANDS: ServiceKey[Commands] = ServiceKey("commands", 1)
