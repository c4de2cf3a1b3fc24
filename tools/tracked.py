"""Check that no tracked file names a package registry's host or a path of one machine.

Pins and instructions must hold behind any mirror and in any folder.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The people of the examples; they have homes that exist nowhere.
PEOPLE = {"robin", "kim", "ana", "user", "you", "me", "name", "public"}
# Written in halves, so that this file passes its own check.
HOSTS = ("py" + r"pi\.(?:org|python)", "python" + "hosted", "npm" + r"js\.(?:org|com)", "yarn" + r"pkg\.com")
HOSTS += ("deb" + r"\.debian\.org", "crates" + r"\.io", "proxy" + r"\.golang\.org", "test\\." + "pypi")
_HOST = re.compile("|".join(HOSTS), re.IGNORECASE)
_HOME = re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\{1,2}Users\\{1,2})([A-Za-z0-9._-]+)")


def faults(text: str, *, here: frozenset[str], homes: bool = True) -> Iterator[tuple[int, str]]:
    """Yield the line and what is wrong with it; `here` are folders that only this machine has."""
    # Not where it is the tail of a longer path: `bundled-plugins/*/src` is no `/src`.
    own = re.compile("|".join(rf"(?<![\w.*)\]-]){re.escape(folder)}(?![\w-])" for folder in sorted(here)) or "(?!)")
    for number, line in enumerate(text.splitlines(), 1):
        if found := _HOST.search(line):
            yield number, f"names a package registry ({found.group()}). Leave the host out."
        people = [found.group(1) for found in _HOME.finditer(line) if found.group(1).lower() not in PEOPLE]
        if homes and people:
            yield number, f"names somebody's home ({people[0]}). Write /home/robin or a relative path."
        if found := own.search(line):
            yield number, f"names a folder of this machine ({found.group()}). Write a relative path."


def own_folders(root: Path) -> frozenset[str]:
    """Return the folders that would give this machine away: the checkout's, where it is not a common one."""
    return frozenset({root.as_posix()} if len(root.parts) > 2 else set())


def tracked(root: Path) -> list[Path]:
    """Return the files that git keeps, those staged or new included."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [root / name for name in sorted(set(done.stdout.split("\0"))) if name and (root / name).is_file()]


def main() -> int:
    here = own_folders(ROOT)
    found = 0
    files = tracked(ROOT)
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        data = "tests" in file.relative_to(ROOT).parts  # cases full of made-up paths
        for number, sentence in faults(text, here=here, homes=not data):
            found += 1
            print(f"{file.relative_to(ROOT).as_posix()}:{number}: {sentence}")
    if not found:
        print(f"{len(files)} files name no registry and no machine.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
