"""``tests/examples.py`` of a plugin folder: what tests have to know and no manifest says.

| Name | What it holds |
|---|---|
| ``settings``, ``secrets`` | values in the place of the user's own |
| ``tools`` | for each tool by name, arguments of a call that works |
| ``prepare(folder)`` | fills the working folder of each call |
| ``readers`` | for each kind, a function that makes a file in a folder and returns it with its media type |
| ``channels`` | for each channel, what ``check_channel`` takes: ``write``, ``sent``, ``chat``, ``nowhere`` |
| ``executors`` | for each executor, what ``check_executor`` takes: ``text``, ``endless`` |
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import MisuseError
from ..installed import project_of
from ..values import Json
from .fake_hosts import FakeToolHost

EXAMPLES = Path("tests") / "examples.py"
_read: dict[Path, tuple[int, Any]] = {}
"""What was imported, with the file's time: examples may start a stand-in, and one is enough."""


class Examples:
    """The examples of one plugin folder; empty where it has none."""

    def __init__(self, module: Any = None) -> None:
        self._module = module

    @property
    def settings(self) -> Mapping[str, Json]:
        """Settings in the place of the manifest's defaults."""
        return dict(getattr(self._module, "settings", {}))

    @property
    def secrets(self) -> Mapping[str, str]:
        """Secrets in the place of the vault's."""
        return dict(getattr(self._module, "secrets", {}))

    def of(self, what: str, name: str) -> Any:
        """Return the example of one thing, such as ``of("tools", "weather_now")``, or None."""
        return dict(getattr(self._module, what, {})).get(name)

    def host(self, folder: Path) -> FakeToolHost:
        """Return the host of one call of a tool, over a folder that ``prepare`` filled."""
        prepare = getattr(self._module, "prepare", None)
        if prepare is not None:
            prepare(folder)
        return FakeToolHost(folder)


def read_examples(folder: Path) -> Examples:
    """Import the examples of a plugin folder. Raises MisuseError for a file that cannot be imported."""
    path = project_of(folder) / EXAMPLES
    if not path.is_file():
        return Examples()
    changed = path.stat().st_mtime_ns
    if path in _read and _read[path][0] == changed:
        return Examples(_read[path][1])
    spec = importlib.util.spec_from_file_location("atlas_plugin_examples", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise MisuseError(f"{EXAMPLES} cannot be imported: {type(error).__name__}: {error}.") from error
    _read[path] = (changed, module)
    return Examples(module)
