"""What the model reads of a skill that is used: its text with the arguments put in, its folder and its files. Pure but
for the listing of the folder."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from .record import FILE as RECORD
from .skill import FILE, Skill

MOST_FILES = 60
ON_TRIAL = (
    "It is on trial: a review of an earlier conversation wrote it, and nobody used it with success yet. "
    "Check what it says as you go, and mend it with skill_manage where it is wrong."
)
_WHOLE = "$ARGUMENTS"
_ONE = re.compile(r"\$ARGUMENTS\[(\d{1,2})\]")
_NUMBERED = re.compile(r"\$([1-9])(?!\d)")


def instructions(skill: Skill, body: str, arguments: str, *, plugin_folder: Path | None) -> str:
    """Return the instructions of a skill for one use."""
    text = _with_arguments(body, arguments.strip(), numbered=skill.file.name != FILE)
    text = text.replace("${CLAUDE_SKILL_DIR}", str(skill.folder))
    if plugin_folder is not None:
        text = text.replace("${CLAUDE_PLUGIN_ROOT}", str(plugin_folder))
    head = [f"The skill {skill.name}. Follow it as far as it fits the task."]
    if skill.on_trial:
        head.append(ON_TRIAL)
    if skill.file.name == FILE:
        head.append(f"Its folder: {skill.folder}")
        if files := _files(skill.folder):
            head.append(f"Its files, to be read when they are needed: {files}")
    return "\n".join(head) + f"\n\n{text}"


def _with_arguments(body: str, arguments: str, *, numbered: bool) -> str:
    """Put arguments where the text wants them, else below it; in a skill ``$1`` may be a shell's."""
    words = _words(arguments)

    def word(index: int) -> str:
        return words[index] if index < len(words) else ""

    text = _ONE.sub(lambda match: word(int(match[1])), body)
    if numbered:
        text = _NUMBERED.sub(lambda match: word(int(match[1]) - 1), text)
    text = text.replace(_WHOLE, arguments)
    wanted = _WHOLE in body or (numbered and _NUMBERED.search(body) is not None)
    return text if wanted or not arguments else f"{text}\n\nARGUMENTS: {arguments}"


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:
        return arguments.split()


def _files(folder: Path) -> str:
    found: list[str] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        found += [(Path(here) / name).relative_to(folder).as_posix() for name in sorted(names)]
        if len(found) > MOST_FILES:
            break
    found = [name for name in found if name not in (FILE, RECORD)]
    more = " and more" if len(found) > MOST_FILES else ""
    return ", ".join(found[:MOST_FILES]) + more
