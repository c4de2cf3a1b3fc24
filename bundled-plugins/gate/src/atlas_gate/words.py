"""Words of a text that no shell reads."""

from __future__ import annotations

import re


def shell_split(text: str) -> list[str]:
    """Words of a text by blanks, with quotes and backslashes read."""
    words: list[str] = []
    for match in re.finditer(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:\\.|[^"\\])*")+""", text, re.DOTALL):
        words.append(re.sub(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)""", lambda m: m[1] or m[2] or m[3] or "", match[0]))
    return words
