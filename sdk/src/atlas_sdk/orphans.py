"""What the programs of this process leave behind: it comes back to it, and is let go once it has ended. Linux alone.

A daemon is an orphan: its parent ends, and it becomes a child of process 1, where nobody knows whose it is. With
``PR_SET_CHILD_SUBREAPER`` (prctl(2)) it becomes a child of this process, which can tell that one of its trees left it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from contextlib import suppress
from functools import cache

from .process_table import look, pids

REAP_SECONDS = 60.0
"""How often it is looked for ended orphans, of which each takes a line of the process table."""
_SET_CHILD_SUBREAPER = 36
"""``PR_SET_CHILD_SUBREAPER`` in ``<linux/prctl.h>``."""


@cache
def keep_orphans() -> None:
    """Have what a child of ours leaves behind stay among our descendants, for as long as this process is there."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap(seen: frozenset[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """Let go of ended orphans that were kept, and return those that ended since; pass them in the next time.

    One that is ours by birth is waited for by whoever started it, at once; what is still there the second time is not.
    """
    mine = (one for one in map(look, pids()) if one is not None and one.parent == os.getpid() and one.is_gone)
    ended = {(one.pid, one.started) for one in mine}  # a number alone is soon another process's
    for pid, _ in ended & seen:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return frozenset(ended - seen)


class _Reaper:
    """Lets go of ended orphans now and then. It reads ``/proc`` for some milliseconds: call it in a thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: frozenset[tuple[int, int]] = frozenset()
        self._at = time.monotonic()

    def __call__(self) -> None:
        with self._lock:
            if sys.platform == "linux" and time.monotonic() - self._at >= REAP_SECONDS:
                self._at = time.monotonic()
                self._seen = reap(self._seen)


reap_now_and_then = _Reaper()
