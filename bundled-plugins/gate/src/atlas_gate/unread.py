"""Where the unknown pieces of a text stand: as a command that runs, or only as an argument."""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.parts import ANY, OUTPUT, UNKNOWN, is_constant

# An unknown piece where a command begins: at the start, behind a separator, or behind a word that runs the next.
_MARKED = f"[{UNKNOWN}{OUTPUT}{ANY}]"
_UNKNOWN_COMMAND = re.compile(
    r"(?:^|[;&|(){}\n`!]|(?:^|[\s;&|(])(?:then|do|else|elif|if|while|until|eval|exec|sudo|doas|env|command|builtin"
    r"|nohup|xargs|time|nice|source|\.|(?:ba|z|da|k)?sh|timeout\s+\S+)(?:\s+-[\w-]+)*(?=\s))"
    rf"[\s\"']*(?:\w+=[^\s;&|(){{}}`!]*\s+)*[^\s;&|(){{}}`!\"'=]*{_MARKED}"
)
# The search begins anew at each separator, so what it skips must be short.
_SKIPPED_RUNS = re.compile(r"[\s\"']{2,}")
# A string is told from the code around it when it is no longer than this.
_LITERALS = re.compile(r"\"(?:\\.|[^\"\\\n]){0,2048}+\"|'(?:\\.|[^'\\\n]){0,2048}+'")
# Characters of a text with unknown pieces that are looked through for where they stand.
_SEARCH_LIMIT: Final = 131_072


def runs_unknown(text: str) -> bool:
    """Whether something unknown stands where a shell takes a command from."""
    if len(text) > _SEARCH_LIMIT:
        return True
    return _UNKNOWN_COMMAND.search(_SKIPPED_RUNS.sub(_one_skipped, text)) is not None


def _one_skipped(run: re.Match[str]) -> str:
    text = run.group()
    return "\n" if "\n" in text else text[0] if text.strip() == text else " "


def unknown_outside_strings(text: str) -> bool:
    """Whether something of a source is unknown outside its strings."""
    return len(text) > _SEARCH_LIMIT or not is_constant(_LITERALS.sub("", text))
