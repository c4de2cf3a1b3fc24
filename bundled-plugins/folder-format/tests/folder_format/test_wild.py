"""Plugins as others published them, in a folder named by ATLAS_WILD_PLUGINS: each goes through the whole check."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atlas_folder_format.cli import checked
from atlas_kernel.terminal import HomeTerminal
from atlas_sdk.homes import Home

PLACE = os.environ.get("ATLAS_WILD_PLUGINS", "")
LIMIT_SECONDS = 2.0
LEAST_LOADED = 0.99
_LEFT_OUT = {".git", "node_modules"}


def wild(place: Path) -> Iterator[Path]:
    """Yield the folders that are plugins, however deep: those with a manifest, and those right below the place.

    A marketplace right below it that is no plugin itself is none: what it lists is what counts.
    """
    for root, folders, _ in os.walk(place):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        path = Path(root)
        there = path / ".claude-plugin"
        lone = path.parent == place and not (there / "marketplace.json").is_file()
        if lone or (there / "plugin.json").is_file():
            yield path


@pytest.mark.skipif(not PLACE, reason="ATLAS_WILD_PLUGINS names no folder of plugins")
@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_nearly_every_published_plugin_loads_and_each_is_judged_in_no_time(tmp_path: Path) -> None:
    terminal = HomeTerminal(Home(tmp_path / "own", "own"), {})
    tried, slow, broken, crashed = 0, [], [], []
    for folder in wild(Path(PLACE).expanduser().resolve()):
        tried += 1
        try:
            found, seconds = _timed(terminal, folder)
            if seconds > LIMIT_SECONDS:  # once more, since the machine may have had other things to do
                found, seconds = _timed(terminal, folder)
        except Exception as error:  # noqa: BLE001  # whatever it is, the others are tried all the same
            crashed.append(f"{folder}: {type(error).__name__}: {error}")
            continue
        if seconds > LIMIT_SECONDS:
            slow.append(f"{folder}: {seconds:.1f} s")
        if not found["loads"]:
            broken.append(f"{folder}: {[one['why'] for one in found['refused'] if one['part'] == 'plugin']}")

    assert tried
    assert crashed == []
    assert slow == []
    assert len(broken) <= tried * (1 - LEAST_LOADED), "\n".join(broken)


def _timed(terminal: HomeTerminal, folder: Path) -> tuple[dict[str, Any], float]:
    began = time.perf_counter()
    found = checked(terminal, folder)
    return found, time.perf_counter() - began
