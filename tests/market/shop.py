"""A marketplace in a folder, and a home that reads it."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from atlas_kernel.app import App, open_app
from atlas_sdk.homes import Home

from ..archives.recipes import tree

if TYPE_CHECKING:
    from .conftest import TriedHome

ROOT = Path(__file__).resolve().parents[2]
SHA = "0123456789abcdef0123456789abcdef01234567"
SKILL = "---\nname: {name}\ndescription: Helps.\n---\nHelp well.\n"


def sample_market() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_market", ROOT / "tools" / "sample_market.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SAMPLE = sample_market()


class Shop:
    """A marketplace in a folder, to which a test adds items, and a home that reads it."""

    def __init__(self, home: TriedHome, folder: Path) -> None:
        self.home = home
        self.folder = folder
        self.environ: dict[str, str] = {"ATLAS_MARKETPLACE_REPOSITORY": str(folder)}

    def add(self, name: str, text: str) -> None:
        (self.folder / "items").mkdir(parents=True, exist_ok=True)
        (self.folder / "items" / f"{name}.yaml").write_text(text, "utf-8")

    def code(self, files: dict[str, str | None], *, repo: str = "team/x", sha: str = SHA, comment: str = "") -> None:
        place = self.folder / "archives" / repo / f"{sha}.tar.gz"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(tree({name: text or "" for name, text in files.items()}, top="x-1", comment=comment or sha))

    def item(self, name: str, kind: str = "skill", *, sha: str = SHA, more: str = "") -> None:
        self.add(
            name,
            f"name: {name}\nkind: {kind}\ntitle: T\nsummary: S\nauthor: a\nlicense: MIT\nversion: '1.0'\n"
            f"repo: team/x\nsha: {sha}\n{more}",
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Callable[..., Any]]:
        """Open the home; what is given calls a method of it."""
        async with open_app(Home(self.home.folder, "default"), environ=dict(self.environ)) as app:
            yield caller_of(app)


def caller_of(app: App) -> Callable[..., Any]:
    async def call(called: str, /, **params: Any) -> Any:
        method = app.methods()[called]
        result = await method.run(method.params.model_validate(params), None)  # type: ignore[arg-type]  # nobody asks
        return result.model_dump(mode="json")

    return call


def row(found: Any, name: str) -> Any:
    return next(one for one in found["items"] if one["name"] == name)
