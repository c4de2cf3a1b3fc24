"""Ending a process with everything it started, also what moved to another session or lost its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.process_table import carries, look, pids

from .environment import MARK

TERM_SECONDS = 0.4
"""For cleaning up after SIGTERM: a stop is to be done within a second."""
END_SECONDS = 2.0
_POLL_SECONDS = 0.03


def left_by(mark: str) -> list[int]:
    """Return the processes that carry a command's mark. Only Linux tells."""
    return [pid for pid in pids() if carries(pid, MARK, mark)]


if sys.platform == "win32":

    async def end_tree(pid: int, mark: str, *, detached: bool = True) -> bool:
        """End the processes of a command. Windows knows them by their parents."""
        with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECONDS):
            command = ["taskkill", "/T", "/F", "/PID", str(pid)]
            await anyio.run_process(command, check=False, creationflags=subprocess.CREATE_NO_WINDOW)
        return True

else:

    async def end_tree(pid: int, mark: str, *, detached: bool = True) -> bool:
        """End the processes of a command: asked first, then killed. Return whether there were any.

        ``pid`` leads its session. Without ``detached``, those that made a session of their own are left alone.
        Shielded and bounded, so that it is done even for a call that is cancelled.
        """
        with anyio.CancelScope(shield=True), anyio.move_on_after(END_SECONDS):
            found = await _alive(pid, mark, detached)
            if not found:
                return False
            _signal(found, pid, signal.SIGTERM)
            with anyio.move_on_after(TERM_SECONDS):
                while await _alive(pid, mark, detached):  # noqa: ASYNC110  # nobody tells of the end of a grandchild
                    await anyio.sleep(_POLL_SECONDS)
            # Again until none is left: one that forks may slip through once.
            while found := await _alive(pid, mark, detached):
                _signal(found, pid, signal.SIGKILL)
                await anyio.sleep(_POLL_SECONDS)
        return True

    async def _alive(pid: int, mark: str, detached: bool) -> list[int]:
        return await anyio.to_thread.run_sync(_members, pid, mark, detached)

    def _members(pid: int, mark: str, detached: bool) -> list[int]:
        """Return who is alive of the command: its session, who carries its mark, and whom those started."""
        if not Path("/proc/self/stat").exists():
            with suppress(OSError):
                os.killpg(pid, 0)
                return [pid]
            return []
        seen = {found.pid: found for found in map(look, pids()) if found is not None}
        members = {found.pid for found in seen.values() if found.session == pid or found.pid == pid}
        if detached:
            members |= {other for other in seen if carries(other, MARK, mark)}
            grown = True
            while grown:
                more = {found.pid for found in seen.values() if found.parent in members} - members
                members |= more
                grown = bool(more)
        members.discard(os.getpid())
        return [member for member in members if not seen[member].is_gone]

    def _signal(found: list[int], leader: int, number: signal.Signals) -> None:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                if pid == leader:
                    os.killpg(pid, number)  # also who was born since we looked
                else:
                    os.kill(pid, number)
