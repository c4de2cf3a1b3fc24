"""The import rules hold for this repository, and the check that says so can fail."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


boundaries = _load("boundaries")

PROVIDERS = {"yaml": ["PyYAML"], "google": ["google-auth", "google-genai"]}


class Tree:
    """A workspace of four packages, to which a test adds the file that is wrong."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._package("sdk", "atlas-sdk", "anyio>=4", "pluggy", "pydantic")
        self._package("kernel", "atlas-kernel", "atlas-sdk==0.1.0", "trio")
        self._package("bundled-plugins/gate", "atlas-gate", "atlas-sdk==0.1.0", "PyYAML>=6", "openai")
        self._package("bundled-plugins/store", "atlas-store", "atlas-sdk==0.1.0")

    def _package(self, folder: str, name: str, *dependencies: str) -> None:
        self.write(f"{folder}/src/{name.replace('-', '_')}/__init__.py", "")
        listed = ", ".join(f'"{item}"' for item in dependencies)
        self.write(f"{folder}/pyproject.toml", f'[project]\nname = "{name}"\ndependencies = [{listed}]\n')

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")

    def faults(self) -> list[str]:
        found: list[str] = boundaries.check(self.root, PROVIDERS)
        return found


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


GATE = "bundled-plugins/gate/src/atlas_gate"


def test_this_repository_keeps_the_rules() -> None:
    assert boundaries.check(ROOT) == []


def test_a_clean_tree_has_no_fault(tree: Tree) -> None:
    tree.write("kernel/src/atlas_kernel/app.py", "import os\nimport trio, anyio\nfrom atlas_sdk import tools\n")
    tree.write(f"{GATE}/rules.py", "from __future__ import annotations\nimport yaml\nfrom . import gate\n")

    assert tree.faults() == []


@pytest.mark.parametrize(
    ("path", "text", "named"),
    [
        ("sdk/src/atlas_sdk/a.py", "import atlas_kernel", "atlas_kernel"),
        ("sdk/src/atlas_sdk/a.py", "from atlas_gate.rules import Rule", "atlas_gate"),
        ("sdk/src/atlas_sdk/a.py", "import trio", "trio"),
        ("kernel/src/atlas_kernel/a.py", "import atlas_gate", "atlas_gate"),
        ("kernel/src/atlas_kernel/a.py", "def f():\n    from atlas_store import db", "atlas_store"),
        ("kernel/src/atlas_kernel/a.py", "import yaml", "yaml"),
        (f"{GATE}/a.py", "import atlas_store", "atlas_store"),
        (f"{GATE}/a.py", "import atlas_kernel.turn", "atlas_kernel"),
        (f"{GATE}/a.py", "import atlas_elsewhere", "atlas_elsewhere"),
        (f"{GATE}/a.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import atlas_store", "store"),
        (f"{GATE}/a.py", "async def f():\n    class A:\n        import atlas_store", "atlas_store"),
        (f"{GATE}/a.py", "try:\n    import atlas_store\nexcept ImportError:\n    pass", "atlas_store"),
        (f"{GATE}/a.py", "import importlib\nx = importlib.import_module('atlas_store.db')", "atlas_store"),
        (f"{GATE}/a.py", "x = __import__('atlas_store')", "atlas_store"),
        (f"{GATE}/deep/er.py", "import requests", "requests"),
        (f"{GATE}/a.py", "import google.genai", "google-auth"),
    ],
)
def test_a_forbidden_import_is_named(tree: Tree, path: str, text: str, named: str) -> None:
    tree.write(path, text)

    (fault,) = tree.faults()

    assert fault.startswith(f"{path}:")
    assert named in fault


def test_a_dependency_reached_only_through_another_is_a_fault(tree: Tree) -> None:
    tree.write(f"{GATE}/a.py", "import trio")

    assert len(tree.faults()) == 1


@pytest.mark.parametrize(
    ("files", "fault_at"),
    [
        ({"__init__.py": "import openai"}, "__init__.py:1"),
        ({"__init__.py": "try:\n    from openai import types\nexcept ImportError:\n    types = None"}, "__init__.py:2"),
        ({"__init__.py": "class A:\n    import openai"}, "__init__.py:2"),
        ({"__init__.py": "from .client import Client", "client.py": "import openai"}, "client.py:1"),
        ({"__init__.py": "from . import a", "a.py": "import atlas_gate.b", "b.py": "import openai"}, "b.py:1"),
        ({"__init__.py": "from .in_.c import d", "in_/__init__.py": "import openai", "in_/c.py": ""}, "in_/"),
    ],
)
def test_a_heavy_library_loaded_with_the_plugin_is_a_fault(tree: Tree, files: dict[str, str], fault_at: str) -> None:
    for name, text in files.items():
        tree.write(f"{GATE}/{name}", text)

    (fault,) = tree.faults()

    assert fault.startswith(f"{GATE}/{fault_at}")
    assert "openai" in fault


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    import openai",
        "async def f():\n    from .client import Client",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import openai\n    from . import client",
    ],
)
def test_a_heavy_library_may_wait_for_its_first_use(tree: Tree, text: str) -> None:
    tree.write(f"{GATE}/__init__.py", text)
    tree.write(f"{GATE}/client.py", "import openai")

    assert tree.faults() == []
