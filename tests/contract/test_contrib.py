"""The contributed plugins are in order, as `atlas plugins test` says, and in every folder as Atlas reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_workshop.trial import try_plugin

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = sorted(path.parents[1] for path in ROOT.glob("plugins-contrib/*/.claude-plugin/plugin.json"))

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
async def test_a_contributed_plugin_is_in_order(folder: Path) -> None:
    result = await try_plugin(folder)

    assert result.wrong == []
    assert [(suite.name, suite.broken, suite.skipped) for suite in result.suites if suite.broken or suite.skipped] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_contributed_plugin_is_described_on_a_page(folder: Path) -> None:
    page = (folder / "README.md").read_text("utf-8")

    assert page.startswith(f"# {folder.name}\n")
    assert [part for part in ("## What leaves the machine", "## Remove it") if part not in page] == []


def test_there_are_contributed_plugins() -> None:
    assert {folder.name for folder in FOLDERS} >= {"git-digest", "dotenv-guard", "matrix"}
