"""The environment this process was started with, which the kernel shows to every program of the same user.

``/proc/<pid>/environ`` is the memory the variables came in, so a program that Atlas starts could read there what it was
not given: the keys the user exported. That memory is emptied before the first program starts, and the variables stay
what they are for this process, in memory of its own. ``PR_SET_DUMPABLE`` would shut the file too, but not to root, and
with it what others may look up of the server: its open files, its state for a profiler.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

_START, _END = 50, 51
"""Which fields of ``/proc/self/stat`` say where the variables lie (proc_pid_stat(5))."""


@cache
def conceal() -> None:
    """Empty what the kernel shows of this process's environment. Once is enough; elsewhere than on Linux nothing."""
    if sys.platform != "linux":
        return
    with suppress(OSError, ValueError, IndexError):  # where the kernel does not say it, it stays as it is
        fields = Path("/proc/self/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        # Those behind the name in parentheses, of which the first is the third of all.
        start, end = int(fields[_START - 3]), int(fields[_END - 3])
        for name, value in os.environ.items():
            os.putenv(name, value)  # the library's own copy: what is emptied below is nobody's by then
        if 0 < start < end:
            ctypes.memset(start, 0, end - start)
