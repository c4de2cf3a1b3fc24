"""What is loaded when: a plugin costs nothing until it is used, and a command only what it names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"openai", "anthropic", "httpx2", "sqlalchemy", "trio_websocket", "tree_sitter", "pyrage", "numpy"}
PLUGINS = sorted(path.parent.name for path in ROOT.glob("bundled-plugins/*/src/*/__init__.py"))

EACH_PLUGIN = """
import importlib, json, sys
loaded = {}
for name in sys.argv[1:]:
    before = set(sys.modules)
    importlib.import_module(name)
    loaded[name] = sorted({module.partition(".")[0] for module in set(sys.modules) - before})
print(json.dumps(loaded))
"""
COMMAND = """
import json, sys
from atlas_kernel.__main__ import main
sys.argv[0] = "atlas"
code = main()
sys.stderr.write(json.dumps([code, sorted(sys.modules)]))
"""


def fresh(code: str, *arguments: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ATLAS_", "COV_", "PYTEST"))}
    if home is not None:
        environ |= {"HOME": str(home), "USERPROFILE": str(home)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environ, timeout=50)


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    """What importing each bundled plugin loads that none before it had."""
    found: dict[str, list[str]] = json.loads(fresh(EACH_PLUGIN, *PLUGINS).stdout)
    return {name: set(modules) for name, modules in found.items()}


def test_every_plugin_of_the_bundle_is_looked_at() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    bundle = [*project["dependencies"], *(one.replace("[model]", "") for one in extras)]
    bundled = {one.partition("==")[0].replace("-", "_") for one in bundled_plugins(bundle)}

    assert bundled == set(PLUGINS)


def bundled_plugins(dependencies: list[str]) -> list[str]:
    return [one for one in dependencies if not one.startswith("atlas-kernel")]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_importing_a_plugin_loads_nothing_heavy(plugin: str, loaded: dict[str, set[str]]) -> None:
    assert loaded[plugin] & (HEAVY | {"typer"}) == set()


@pytest.mark.parametrize(("arguments", "kept_out"), [(["version"], HEAVY | {"typer"}), (["--help"], HEAVY)])
def test_a_quick_command_loads_nothing_heavy(arguments: list[str], kept_out: set[str], tmp_path: Path) -> None:
    done = fresh(COMMAND, *arguments, home=tmp_path)
    code, modules = json.loads(done.stderr)

    assert code == 0
    assert done.stdout
    assert {module.partition(".")[0] for module in modules} & kept_out == set()


def test_the_version_is_said_before_the_sdk_is_loaded(tmp_path: Path) -> None:
    _, modules = json.loads(fresh(COMMAND, "version", home=tmp_path).stderr)

    assert [module for module in modules if module.startswith(("atlas_sdk", "pydantic", "anyio", "trio"))] == []


def test_the_pytest_plugin_loads_next_to_nothing() -> None:
    """Every pytest run on a machine with the SDK pays for it."""
    code = "import sys; import atlas_sdk.testing.pytest_plugin; print(*sorted(sys.modules))"
    modules = fresh(code).stdout.split()

    assert [module for module in modules if module.startswith("atlas_sdk")] == [
        "atlas_sdk",
        "atlas_sdk.testing",
        "atlas_sdk.testing.pytest_plugin",
    ]
    assert set(modules) & {"pytest", "pydantic", "anyio", "trio", "pluggy", "sqlite3"} == set()
