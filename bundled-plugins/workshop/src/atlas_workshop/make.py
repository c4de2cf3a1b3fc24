"""Making a plugin folder from a template: a plugin named ``my-plugin`` that works, under another name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from atlas_sdk.errors import MisuseError
from atlas_sdk.homes import replace_file
from atlas_sdk.manifest_file import MANIFEST

TEMPLATES = Path(__file__).parent / "templates"
COMMON = "common"
SUFFIX = ".template"
"""Keeps linters and test runners off what is a template."""
KINDS = ("tool", "channel", "executor", "provider", "reader", "screen")
LONGEST = 50
"""Models take names of tools up to 64 letters, and a tool's begins with its plugin's."""
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def make_plugin(name: str, kind: str, where: Path, *, made_by_home: bool = False) -> Path:
    """Write the plugin ``name`` into ``where`` and return its folder. Raises MisuseError for a name that will not do.

    ``where`` is made if only it is missing; with ``made_by_home`` it is the home's own, which is made with all above.
    The manifest comes last: whoever watches the folder finds a plugin that is whole, or none.
    """
    if not NAME.fullmatch(name) or len(name) > LONGEST:
        raise MisuseError(
            f"{name[:60]!r} cannot be a plugin's name.",
            hint=f"Use small letters, digits and dashes, such as my-plugin, and {LONGEST} of them at most.",
        )
    if kind not in KINDS:
        raise MisuseError(f"There is no kind {kind!r}.", hint=f"Those there are: {', '.join(KINDS)}.")
    if name in bundled_names():
        raise MisuseError(f"{name} is the name of a plugin that came with Atlas.", hint="Choose another name.")
    where = where.expanduser().absolute()
    if not made_by_home and not where.exists() and not where.parent.is_dir():
        raise MisuseError(
            f"There is no folder {where.parent}, in which {where.name} would be made.",
            hint="Check the spelling, or make it first.",
        )
    folder = where / name
    if folder.exists():
        raise MisuseError(f"{folder} is there already.", hint="Choose another name, or take it away first.")
    words = _words(name)
    files = dict(_files(kind, words))
    for path in sorted(files, key=lambda one: one == MANIFEST):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, files[path])
    return folder


def bundled_names() -> set[str]:
    """Return the names that no plugin of others may have: those of what came with Atlas."""
    from atlas_sdk.installed import cached_packages

    return {row["name"] for row in cached_packages(None) if row["bundled"]}


def _files(kind: str, words: dict[str, str]) -> Iterator[tuple[Path, str]]:
    for root in (TEMPLATES / COMMON, TEMPLATES / kind):
        for path in sorted(root.rglob(f"*{SUFFIX}")):
            relative = path.relative_to(root).as_posix().removesuffix(SUFFIX)
            yield Path(_named(relative, words)), _named(path.read_text("utf-8"), words)


def _words(name: str) -> dict[str, str]:
    parts = name.split("-")
    return {
        "my-plugin": name,
        "my_plugin": "_".join(parts),
        "MY_PLUGIN": "_".join(parts).upper(),
        "MyPlugin": "".join(part.capitalize() for part in parts),
        "My plugin": " ".join(parts).capitalize(),
    }


def _named(text: str, words: dict[str, str]) -> str:
    return re.sub("|".join(words), lambda found: words[found.group()], text)
