"""The SDK only grows: nothing a plugin may import goes away or changes by accident.

``sdk_surface.txt`` holds every public name with its signature. A change meant as one is written there by

    python tests/contract/test_sdk_surface.py --update

and raises ``API_VERSION``. What is new is guarded from the next update on.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "sdk" / "src"
SNAPSHOT = Path(__file__).with_name("sdk_surface.txt")
UPDATE = "python tests/contract/test_sdk_surface.py --update"
_RULES = (
    "agent_config exfiltration injection invisible lexicon patterns readings secrets sentences ssh_backdoor waivers"
)
INNER = (
    "atlas_sdk.secret_shapes",
    "atlas_sdk.testing.model_formats",
    *(f"atlas_sdk.screening.{name}" for name in _RULES.split()),
)
"""Modules that are no offer: they are parts of another."""
SHORT_CHARS = 60

Surface = dict[str, str]
"""What each public name is, by ``module:name``."""


def surface(source: Path) -> Surface:
    """Read the public surface of a package, importing nothing."""
    found: Surface = {}
    for file in sorted(source.rglob("*.py")):
        module = ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        private = any(part.startswith("_") for part in module.split("."))
        if not private and not module.startswith(INNER):
            tree = ast.parse(file.read_text("utf-8"))
            found.update((f"{module}:{name}", " ".join(what.split())) for name, what in _members(tree.body, ""))
    return found


def _members(body: list[ast.stmt], inside: str) -> Iterator[tuple[str, str]]:
    for node in body:
        match node:
            case ast.ClassDef(name=name) if _public(name):
                bases = ", ".join(ast.unparse(base) for base in [*node.bases, *(word.value for word in node.keywords)])
                yield f"{inside}{name}", f"{_decorators(node)}class({bases})"
                yield from _members(node.body, f"{inside}{name}.")
            case (
                ast.FunctionDef(decorator_list=[ast.Attribute(attr="promise")])
                | ast.AsyncFunctionDef(decorator_list=[ast.Attribute(attr="promise")])
            ):
                pass  # a promise of a conformance suite is called by the suite alone
            case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec"))):
                pass
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if _public(name) or name == "__init__":
                kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
                returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                yield f"{inside}{name}", f"{_decorators(node)}{kind}({ast.unparse(node.args)}){returns}"
            case ast.AnnAssign(target=ast.Name(id=name)) if _public(name):
                yield f"{inside}{name}", f"{ast.unparse(node.annotation)}{_value(node.value)}"
            case ast.Assign(targets=[ast.Name(id=name)]) if _public(name):
                yield f"{inside}{name}", f"value{_value(node.value)}"
            case _:
                pass


def _public(name: str) -> bool:
    return not name.startswith("_")


def _decorators(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return "".join(f"@{ast.unparse(one)} " for one in node.decorator_list)


def _value(value: ast.expr | None) -> str:
    """Return a default or a constant as it is written, where it is short enough to be a promise."""
    text = "" if value is None else ast.unparse(value)
    return f" = {text if len(text) <= SHORT_CHARS or text.startswith('ServiceKey') else '…'}" if text else ""


def api(found: Surface) -> int:
    """Return the version of the surface."""
    return int(found["atlas_sdk:API_VERSION"].rpartition(" ")[2])


def compare(before: Surface, now: Surface) -> list[str]:
    """Return a sentence for each name that is gone or has changed."""
    said = [f"{name} is gone; it was: {what}" for name, what in before.items() if name not in now]
    for name, what in before.items():
        if name in now and now[name] != what and name != "atlas_sdk:API_VERSION":
            said.append(f"{name} was: {what}\n{' ' * len(name)}  is: {now[name]}")
    if api(now) < api(before):
        said.append(f"API_VERSION went back from {api(before)} to {api(now)}.")
    return said


def read(path: Path) -> Surface:
    """Read a snapshot."""
    lines = path.read_text("utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line and not line.startswith("#"))


def written(found: Surface) -> str:
    """Return the surface as a snapshot."""
    head = f"# What a plugin may import. Written by: {UPDATE}\n"
    return head + "".join(f"{name} {what}\n" for name, what in sorted(found.items()))


# --- the tests -----------------------------------------------------------------------------------


def test_nothing_of_the_sdk_is_gone_or_changed() -> None:
    said = compare(read(SNAPSHOT), surface(SOURCE))

    assert said == [], f"\n{chr(10).join(said)}\nIf it is meant: raise API_VERSION and run {UPDATE}"


def test_the_snapshot_is_as_the_command_writes_it() -> None:
    kept = SNAPSHOT.read_text("utf-8")

    assert written(read(SNAPSHOT)) == kept


def _tree(folder: Path, text: str) -> Surface:
    package = folder / "atlas_sdk"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("API_VERSION = 2\n")
    (package / "tea.py").write_text(text)
    return surface(folder)


TEA = """
KINDS: tuple[str, ...] = ("oolong",)
_private = 1
class Tea(Protocol):
    leaf: str = "oolong"
    @property
    def name(self) -> str: ...
    async def draw(self, *, minutes: int = 4) -> Cup: ...
    def _stir(self) -> None: ...
def brew(tea: Tea, /) -> Cup: ...
"""


def test_the_surface_is_every_public_name(tmp_path: Path) -> None:
    found = _tree(tmp_path, TEA)

    assert found == {
        "atlas_sdk:API_VERSION": "value = 2",
        "atlas_sdk.tea:KINDS": "tuple[str, ...] = ('oolong',)",
        "atlas_sdk.tea:Tea": "class(Protocol)",
        "atlas_sdk.tea:Tea.leaf": "str = 'oolong'",
        "atlas_sdk.tea:Tea.name": "@property def(self) -> str",
        "atlas_sdk.tea:Tea.draw": "async def(self, *, minutes: int=4) -> Cup",
        "atlas_sdk.tea:brew": "def(tea: Tea, /) -> Cup",
    }


def test_what_goes_away_is_named(tmp_path: Path) -> None:
    before = _tree(tmp_path, TEA)
    now = _tree(tmp_path, TEA.replace("def brew(tea: Tea, /) -> Cup: ...", ""))

    assert compare(before, now) == ["atlas_sdk.tea:brew is gone; it was: def(tea: Tea, /) -> Cup"]


def test_what_changes_is_shown_as_it_was_and_is(tmp_path: Path) -> None:
    before = _tree(tmp_path, TEA)
    now = _tree(tmp_path, TEA.replace("minutes: int = 4", "minutes: float"))

    (said,) = compare(before, now)

    assert "minutes: int=4" in said
    assert "minutes: float" in said


def test_an_addition_is_welcome(tmp_path: Path) -> None:
    before = _tree(tmp_path, TEA)
    now = _tree(tmp_path, TEA + "def pour(tea: Tea) -> None: ...\n")

    assert compare(before, now) == []


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(f"Run {UPDATE}, or pytest.")
    SNAPSHOT.write_text(written(surface(SOURCE)), "utf-8")
    sys.stdout.write(f"{SNAPSHOT.relative_to(ROOT)} is up to date.\n")
