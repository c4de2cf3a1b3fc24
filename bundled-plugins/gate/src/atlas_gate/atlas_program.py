"""Atlas's own command and its packages: what only reads runs, and everything else is asked about."""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.options import asks_for_help, read_options
from atlas_gate.parts import Part, name_set
from atlas_gate.paths import Ground
from atlas_gate.rules import Rule

# The command, its packages (`python3 -m atlas_kernel`) and what they are distributed as.
_NAMES: Final = re.compile(r"atlas(?:[_.][\w.]*)?|atlas-(?:agent|kernel|sdk|gateway|server|cli|app)")
_PACKAGE: Final = re.compile(r"atlas_\w+(?:\.|$)")
_TELLS_NOTHING: Final = name_set("version docs schema completion help")
_READING: Final = name_set("version docs doctor usage schema completion help")
# The verbs of each group that only look, or that make or try something outside of every home.
_READING_VERBS: Final = {
    "gate": name_set("explain log check"),
    "log": name_set("mask"),
    "home": name_set("show"),
    "plugins": name_set("show info validate new test docs search check"),
    "plugin": name_set("show info validate new test docs search check"),
    "models": name_set("check show"),
    "marketplace": name_set("show check search"),
    "secrets": name_set("check"),
    "server": name_set("status"),
    "routines": name_set("runs show"),
    "memory": name_set("proposals show screen"),
    "resource": name_set("history show diff"),
    "skills": name_set("versions"),
}
_LISTS: Final = frozenset(("list", "ls"))
# Words that make a reading command change something or load what nobody has looked at.
_CHANGES: Final = re.compile(r"--(?:fix|repair|load|install|write|output|out|set|save)(?:=.*)?")
_TALKS: Final = frozenset(("chat", "serve"))


def is_atlas_package(module: str) -> bool:
    """Whether a module belongs to a package of Atlas."""
    return _PACKAGE.match(module) is not None


def _subcommand(part: Part) -> tuple[str, str] | None:
    """The group and the verb of a command of Atlas, or None where it is no such command or asks for help."""
    if _NAMES.fullmatch(part.name) is None:
        return None
    names = [word.text for word in read_options(part.arguments, with_value=("home",)).operands]
    if asks_for_help(part.arguments) or (not names and part.name == "atlas"):
        return None
    return (names[0] if names else "", names[1] if len(names) > 1 else "")


def is_own_command(part: Part) -> bool:
    """Whether a part is a command of Atlas, whatever it asks for."""
    return _NAMES.fullmatch(part.name) is not None


def is_harmless(part: Part) -> bool:
    """Whether a command of Atlas tells nothing of a home: its version, its documentation, its help."""
    found = _subcommand(part)
    return found is None or (found[0] in _TELLS_NOTHING and not any(_CHANGES.fullmatch(text) for text in part.texts))


def _talks(part: Part, ground: Ground) -> bool:
    found = _subcommand(part)
    return found is not None and found[0] in _TALKS


def _changes(part: Part, ground: Ground) -> bool:
    found = _subcommand(part)
    if found is None:
        return False
    group, verb = found
    if any(_CHANGES.fullmatch(text) for text in part.texts):
        return True
    if group in _READING:
        return False
    if group in _READING_VERBS and not verb:
        return False  # a group without a verb prints its help
    return verb not in _LISTS and verb not in _READING_VERBS.get(group, ())


RULES: Final = (
    Rule("outward.atlas", "It starts Atlas or talks to it, and could answer the questions it asks you.", _talks),
    Rule("outward.atlas", "It changes Atlas itself or runs its own code.", _changes),
)
