"""The code that reference pages are made of, and what every page of it has."""

from __future__ import annotations

import importlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MADE = "<!-- Made by tools/gen_docs.py from the code. Change the code and run it again. -->"


def plugins() -> list[tuple[str, Any]]:
    """Return the bundled plugins: each name and module."""
    from atlas_kernel.discovery import discover

    return [
        (name, importlib.import_module(manifest.module))
        for name, manifest in sorted(discover().manifests.items())
        if manifest.source == "bundled"
    ]


class Context:
    """As much of a plugin's context as making its tools takes: nothing is run. Of services it has the plugin's own."""

    def __init__(self, name: str, home: Path, module: Any) -> None:
        self.name = name
        self.home = home
        self.data_folder = home
        self.services = self
        self.clock = self
        self._module = module

    def now(self) -> datetime:
        return datetime.now(UTC)

    def need(self, key: Any) -> Any:
        return next((one.service for one in self._module.atlas_services(self) if one.key.name == key.name), None)

    get = need

    def section(self, kind: Any) -> Any:
        return kind()

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


def fenced(text: str) -> list[str]:
    """Return a docstring's lines, with what it indents as Python."""
    lines, inside = list[str](), False
    for line in text.splitlines():
        if line.startswith("    ") and not inside:
            lines.append("```python")
            inside = True
        lines.append(line[4:] if inside and line.startswith("    ") else line)
    return [*lines, "```"] if inside else lines
