"""The files of a plugin that its hook commands run: one that is not there, or may not run, is said before it fails."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from atlas_sdk.folder_files import is_file
from atlas_sdk.folder_hooks import HookCommand
from atlas_sdk.folder_parts import inside
from atlas_sdk.folder_report import Report

# What stands behind the plugin's folder in a command, as far as it is plainly the name of a file.
_FILE = re.compile(r'\$\{?CLAUDE_PLUGIN_ROOT\}?"?((?:/[\w.-]+)+\.\w+)(?=["\'\s;|&)]|\Z)')
_SHOWN = 5


def warn_of_files(folder: Path, hooks: Iterable[HookCommand], report: Report) -> None:
    """Tell the report of files that hook commands name and that are missing, or that start a line and may not run."""
    missing, idle = set(), set()
    for hook in hooks:
        for name, starts in _named(hook):
            path = inside(folder, name)
            if path is None or not is_file(path):
                missing.add(name)
            elif starts and sys.platform != "win32" and not os.access(path, os.X_OK):
                idle.add(name)
    if missing:
        report.warn(f"Its hooks run what is not there: {_listed(missing)}.")
    if idle:
        report.warn(f"Its hooks run what is not marked as a program (chmod +x): {_listed(idle)}.")


def _named(hook: HookCommand) -> Iterator[tuple[str, bool]]:
    for number, word in enumerate((hook.command, *(hook.args or ()))):
        for found in _FILE.finditer(word):
            yield found[1].lstrip("/"), number == 0 and word[: found.start()].strip() in ("", '"')


def _listed(names: set[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(sorted(names)[:_SHOWN]) + more
