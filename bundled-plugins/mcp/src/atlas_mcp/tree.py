"""Ending a server's process with everything it started, also what moved to another session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress

import anyio
import anyio.to_thread

from atlas_sdk.process_table import carries, look, pids

MARK = "ATLAS_MCP"
"""The variable that tells which server a process belongs to, wherever it ended up."""
TERM_SECONDS = 0.5
END_SECONDS = 3.0
_POLL_SECONDS = 0.03

if sys.platform == "win32":

    async def end_tree(pid: int, mark: str) -> None:
        """End a process with its children. Windows knows them by their parents."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECONDS):
            command = ["taskkill", "/T", "/F", "/PID", str(pid)]
            await anyio.run_process(command, check=False, creationflags=subprocess.CREATE_NO_WINDOW)

else:

    async def end_tree(pid: int, mark: str) -> None:
        """End the group that ``pid`` leads and all that carries the mark: asked first, then killed.

        Shielded and bounded, so that it is done even where its caller is cancelled.
        """
        with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECONDS):
            if not await _signal(pid, mark, signal.SIGTERM):
                return
            with anyio.move_on_after(TERM_SECONDS):
                while await _signal(pid, mark, 0):  # noqa: ASYNC110  # nobody tells of the end of a grandchild
                    await anyio.sleep(_POLL_SECONDS)
            # Again until none is left: one that forks may slip through once.
            while await _signal(pid, mark, signal.SIGKILL):  # noqa: ASYNC110  # as above
                await anyio.sleep(_POLL_SECONDS)

    async def _signal(pid: int, mark: str, number: int) -> bool:
        return await anyio.to_thread.run_sync(_signal_now, pid, mark, number)

    def _signal_now(pid: int, mark: str, number: int) -> bool:
        """Send a signal to who is alive of the server; return whether there was anybody."""
        found = False
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
            found = _group_lives(pid)
        for other in _marked(mark):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(other, number)
                found = True
        return found

    def _group_lives(group: int) -> bool:
        """Return whether anybody of a group runs: one that ended and was not fetched yet does not."""
        known = pids()
        seen = [one for one in map(look, known) if one is not None]
        return not known or any(one.group == group and not one.is_gone for one in seen)


def _marked(mark: str) -> list[int]:
    """Return the processes that carry a server's mark. Only Linux tells."""
    seen = [one for one in map(look, pids()) if one is not None and not one.is_gone and one.pid != os.getpid()]
    return [one.pid for one in seen if carries(one.pid, MARK, mark)]
