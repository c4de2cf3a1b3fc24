"""Who claims a conversation: a process, written down so that another one can tell whether it is still there."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from atlas_sdk.process_table import look

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = Path("/proc/self/ns/pid")
"""Process ids are counted in each of these anew: a container does not see who runs beside it."""


def this_process() -> str:
    """Return what tells this process from every other: its machine, since when that runs, its id and when it began.

    Empty where that cannot be told: beyond Linux.
    """
    here, seen = _here(), look(os.getpid())
    return f"{here} {seen.pid} {seen.started}" if here and seen is not None else ""


def is_gone(claimant: str) -> bool:
    """Whether a process has ended for certain. What another machine or container runs cannot be told from here.

    The id alone would not do: after a power cut it is soon another process's.
    """
    here, parts = _here().split(), claimant.split()
    if len(here) != 3 or len(parts) != 5 or parts[0] != here[0]:
        return False
    if parts[1] != here[1]:
        return True  # the machine was started anew since
    if parts[2] != here[2]:
        return False
    seen = look(int(parts[3]))
    return seen is None or seen.is_gone or seen.started != int(parts[4])


def _here() -> str:
    try:
        boot, namespace = _BOOT.read_text().strip(), _NAMESPACE.readlink()
    except OSError:
        return ""
    return f"{platform.node().replace(' ', '_')} {boot} {namespace}"
