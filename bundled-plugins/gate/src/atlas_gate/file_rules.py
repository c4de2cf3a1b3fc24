"""The rules of file tools: what none may reach, what none may write, and what is asked about."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from atlas_gate.ground import code_folders, start_folders
from atlas_gate.own_files import is_own_code
from atlas_gate.paths import GIT_RUNS
from atlas_gate.rules import Verdict

_WINDOWS = ("C:/Windows", "C:/Program Files", "C:/Program Files (x86)", "C:/ProgramData")
_OTHERS = [
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/sbin",
    "/sys",
    "/usr",
    "/var/lib",
    "/var/log",
    "/System",
    "/Library",
]
SYSTEM = tuple(Path(folder) for folder in (_WINDOWS if sys.platform == "win32" else _OTHERS))
SETTINGS_FILES = frozenset({"config.toml", "mcp.json", "models.toml"})
CLOSED_FOLDERS = frozenset({"plugins", "plugin-data"})
# In the first home of a machine: the others, and the name of the one that opens by default.
OTHER_HOMES = frozenset({"homes", "current-home"})

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FileFinding:
    """What a rule says of one path."""

    verdict: Verdict
    rule: str
    why: str


def judge_path(
    path: Path,
    *,
    writes: bool,
    home: Path,
    atlas_home: Path,
    others: tuple[str, ...] = (),
    code: tuple[tuple[str, ...], tuple[str, ...]] | None = None,
) -> FileFinding | None:
    """Return what the rules say of a path a file tool reads or writes, or None where none applies.

    Links that exist are followed first, so a path is judged by where it leads. `code` holds the folders of
    Atlas's own packages and those its Python starts from: those of this process where nothing is given.
    """
    try:
        real = Path(os.path.realpath(path))
    except ValueError:
        return FileFinding(Verdict.BLOCK, "file.impossible", "The path has a character that no path can have.")
    own = Path(os.path.realpath(atlas_home))
    for one in (own, *(Path(os.path.realpath(other)) for other in others)):
        if _inside(real, one / "secrets") or _inside(real, one / "run"):
            why = "The vault and the server's token are out of every tool's reach."
            return FileFinding(Verdict.BLOCK, "file.vault", why)
    if not writes:
        return None
    if _inside(real, own):
        first = real.relative_to(own).parts[0] if real != own else ""
        if real.parent == own and (first in SETTINGS_FILES or first.startswith("atlas.db")):
            return FileFinding(Verdict.BLOCK, "file.settings", f"Atlas's own {first} is not written by file tools.")
        if first in CLOSED_FOLDERS:
            return FileFinding(Verdict.BLOCK, "file.plugins", f"Atlas's own {first}/ is not written by file tools.")
        if _is_memory(real.relative_to(own)):
            why = "Atlas's memory is written with the memory tool, which looks at what goes in."
            return FileFinding(Verdict.BLOCK, "file.memory", why)
        if first in OTHER_HOMES:
            return FileFinding(Verdict.ASK, "file.atlas-home", f"{real} is part of another home of Atlas.")
        return None
    if any(_inside(real, Path(os.path.realpath(other))) for other in others):
        return FileFinding(Verdict.ASK, "file.atlas-home", f"{real} is part of another home of Atlas.")
    if is_own_code(str(real), *(code if code is not None else (code_folders(), start_folders()))):
        return FileFinding(Verdict.ASK, "file.atlas-code", f"{real} is part of the code Atlas itself runs from.")
    if any(_inside(real, Path(os.path.realpath(folder))) for folder in SYSTEM):
        return FileFinding(Verdict.BLOCK, "file.system", f"{real} is in a folder of the system.")
    if _inside(real, Path(os.path.realpath(home)) / ".ssh"):
        return FileFinding(Verdict.ASK, "file.ssh", f"{real} is part of your SSH configuration.")
    if GIT_RUNS.search(real.as_posix()):
        return FileFinding(Verdict.ASK, "file.git", f"Git runs commands that stand in {real}.")
    return None


def judge_guest_path(
    path: Path, *, atlas_home: Path, others: tuple[str, ...] = (), workspace: str = ""
) -> FileFinding | None:
    """Return what is asked of the owner about a path a file tool reads or writes where a guest reads along.

    The home is out of bounds, but for the workspace and for a file whose name is a digest of what is in it: a result
    too long for the model lies there, and who knows the name was told it.
    """
    real = Path(os.path.realpath(path))
    homes = [Path(os.path.realpath(one)) for one in (str(atlas_home), *others)]
    spared = Path(os.path.realpath(workspace)) if workspace else None
    if spared is not None and not any(one in spared.parents for one in homes):
        spared = None
    if (spared is not None and _inside(real, spared)) or _is_kept_result(real, homes[0]):
        return None
    if any(_inside(real, one) for one in homes) or any(_goes_through(real, one) for one in homes):
        return FileFinding(Verdict.ASK, "guest.home", f"A guest reads along here, and {real} is what Atlas keeps.")
    return None


def _is_kept_result(path: Path, home: Path) -> bool:
    return path.parent.parent == home / "attachments" and _DIGEST.fullmatch(path.name) is not None


def _goes_through(path: Path, home: Path) -> bool:
    """Whether a search of a folder comes to a home in it: the file tools skip what is hidden."""
    return path in home.parents and not any(part.startswith(".") for part in home.relative_to(path).parts)


def _is_memory(path: Path) -> bool:
    """Whether a path below a home is a file of memory, by a name that also a disk without cases means."""
    parts = [part.casefold() for part in path.parts]
    if parts[:1] == ["memory"]:
        return True
    return parts[:1] == ["bots"] and len(parts) == 3 and parts[2].startswith("memory.md")


def _inside(path: Path, folder: Path) -> bool:
    return path == folder or folder in path.parents
