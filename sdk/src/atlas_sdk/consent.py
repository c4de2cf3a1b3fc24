"""What consent is given to: all that a plugin adds or may reach, in words, as a digest, and whether it grew."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from .manifest import Manifest
from .manifest_file import FOLDER_COMMAND, FOLDER_FORMAT, LISTS
from .plain_text import folded, one_line
from .values import Json

_SAID = {
    "llm": "It asks your model, at your cost.",
    "notify": "It may start turns in your conversations.",
    "python": "Its code runs inside Atlas.",
}
"""What is declared by being there, as a person reads it."""
_ACTING = (
    "hook_commands",
    "mcp_servers",
    "option_defaults",
    "monitors",
    "model_providers",
    "terminal_commands_run",
    "clients",
)
"""What is declared with commands and addresses of the plugin's own, or that is put into them."""
_WIDTH = 76
"""Narrower than any terminal: one that folds a line itself begins the rest of it where our lines begin."""
_LEAD = "It declares "
"""What is said before it on its line, or something shorter."""
_LISTED = re.compile(r"[\w@./:*+${}\[\]-]+")


def declared(manifest: Manifest) -> dict[str, Any]:
    """Return what consent is given to: all that the plugin adds or may reach, and nothing empty."""
    what: dict[str, Any] = {name: list(getattr(manifest, name)) for name in LISTS}
    what["secrets"] = [secret.name for secret in manifest.secrets]
    what["settings"] = [setting.name for setting in manifest.settings]
    what["cli"] = [command.name for command in manifest.cli]
    if manifest.source != "bundled":
        own = [command for command in manifest.cli if command.target != FOLDER_COMMAND]
        what["terminal_commands_run"] = [f"{command.name} → {command.target}" for command in own]
        what["clients"] = [manifest.client] if manifest.client else []
    what["requires"] = [service for service in manifest.requires if service != FOLDER_FORMAT]
    what["dependencies"] = [needed.name for needed in manifest.dependencies]
    what["llm"], what["notify"] = manifest.llm, manifest.notify
    what |= {kind: list(names) for kind, names in manifest.adds}
    alone = FOLDER_FORMAT not in manifest.requires or manifest.cli or manifest.client
    what["python"] = "python" in what or bool(manifest.module and alone)
    return {name: value for name, value in what.items() if value}


def in_words(declares: Json) -> str:
    """Say what ``declared`` returned, as a person reads it before consent: "tools: roll_dice. Its code runs …".

    What runs or is connected to follows whole, each on a line of its own that is folded: nothing is cut off, and no
    text of a plugin's can pass for one of ours.
    """
    what = declares if isinstance(declares, dict) else {}
    lists = {kind: names for kind, names in what.items() if kind not in _SAID and kind not in _ACTING}
    parts = "; ".join(f"{kind.replace('_', ' ')}: {', '.join(map(_quoted, names))}" for kind, names in lists.items())
    acting = [(kind.replace("_", " "), one) for kind in _ACTING for one in what.get(kind, ())]
    said = [*([f"{parts}."] if parts else []), *(said for kind, said in _SAID.items() if kind in what)]
    lead = "It runs or connects to:" if said else "what it runs or connects to:"
    said += [lead] if acting else [] if parts else ["nothing."] if not said else []
    lines = [folded(f"{kind}: {one}", width=_WIDTH, indent="  ") for kind, one in acting]
    first = " ".join(said)
    if '"' in parts:  # a name with spaces in it, which a terminal would fold to where our lines begin
        first = folded(f"{_LEAD}{first}", width=_WIDTH, indent="").removeprefix(_LEAD)
    return "\n".join([first, *lines])


def _quoted(name: object) -> str:
    """Return a name as part of a list: one with other characters than names have is quoted, where it ends is seen.

    So is one with a letter that nobody sees, which would stand for a space.
    """
    text = str(name)
    seen = one_line(text)
    return text if seen == text and _LISTED.fullmatch(text) else json.dumps(seen, ensure_ascii=False)


def digest(manifest: Manifest) -> str:
    """Return the digest of what a plugin declares: consent holds for this and no more."""
    return _digest(declared(manifest), manifest.fingerprint)


def is_agreed(manifest: Manifest, consent: str, agreed: Json) -> bool:
    """Return whether a plugin declares what was agreed to, or less of it.

    ``consent`` is the ``digest`` that was agreed to and ``agreed`` what was ``declared`` then. What runs by itself is
    to be the same to the letter, or none.
    """
    if consent == digest(manifest):
        return True
    if not isinstance(agreed, dict) or not consent:
        return False
    same = not manifest.fingerprint or consent == _digest(agreed, manifest.fingerprint)
    return same and all(_is_within(value, agreed.get(name)) for name, value in declared(manifest).items())


def _is_within(declares: Json, agreed: Json) -> bool:
    if isinstance(declares, list):
        return isinstance(agreed, list) and all(one in agreed for one in declares)
    return bool(declares == agreed)


def _digest(declares: Json, fingerprint: str) -> str:
    what = json.dumps(declares, sort_keys=True) + fingerprint
    return hashlib.sha256(what.encode()).hexdigest()[:32]
