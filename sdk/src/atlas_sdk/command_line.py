"""The commands of the terminal, as the first help lists them and as a group holds them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from .manifest import CliCommand


def first_help(commands: Mapping[str, CliCommand]) -> str:
    """Return what ``atlas --help`` says: each command of one word, by name."""
    width = max(map(len, names := sorted(name for name in commands if " " not in name))) + 2
    lines = [
        "Usage: atlas [--home NAME] COMMAND [ARGUMENT ...]",
        "",
        "Atlas, a personal agent that runs on your own machine.",
        "",
        "Commands:",
        *(f"  {name:<{width}}{commands[name].help}" for name in names),
        "",
        "atlas COMMAND --help says more of one. atlas docs start is the first page to read.",
    ]
    return "\n".join(lines) + "\n"


def has_own(group: CliCommand | None, name: str) -> bool:
    """Whether a group has a command of that name itself, which no plugin takes from it. Imports the group's module."""
    if group is None:
        return False
    module, _, attribute = group.target.partition(":")
    target = getattr(importlib.import_module(module), attribute)
    own = [*getattr(target, "registered_commands", ()), *getattr(target, "registered_groups", ())]
    return name in {one.name or getattr(one.callback, "__name__", "").replace("_", "-") for one in own}
