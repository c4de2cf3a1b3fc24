"""Commands that hand a download to a shell unread: one line that another's page could have put there. Pure."""

from __future__ import annotations

import re

_FETCH = r"(?<![\w-])(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c)(?:\.exe)?(?![\w-])"
_SHELL = r"(?<![\w-])(?:(?:ba|da|fi|a|z|k|t?c)?sh|python[\d.]*|perl|ruby|node|php|pwsh|powershell)(?:\.exe)?(?![\w-])"
_EXPRESSION = r"(?<![\w-])(?:iex|invoke-expression)(?![\w-])"
_BEFORE = r"(?:(?:sudo|doas|env|exec|nohup|command|xargs)\s+(?:\S{1,80}\s+){0,6}?)?(?:[\w.~/-]{0,200}/)?"
_PRINTS = r"(?!\s+-m\s+json\.tool)"
_PIPED = re.compile(
    "|".join(
        (
            rf"{_FETCH}\s+[^\s|][^\n]{{0,300}}?\|&?\s*(?:{_BEFORE}{_SHELL}{_PRINTS}|{_EXPRESSION}|(?:source|\.)\s)",
            rf"(?:{_SHELL}|(?<![\w-])source|(?<!\S)\.)\s[^\n]{{0,80}}?<\(\s*{_FETCH}",
            rf"(?:{_SHELL}\s+(?:-\S{{1,20}}\s+){{0,4}}?-\w{{0,5}}[ce]|(?<![\w-])eval)\s*[\"'(]*\s*(?:\$\(|`)\s*{_FETCH}",
            rf"<<<\s*[\"']?\$\(\s*{_FETCH}",
            rf"{_EXPRESSION}[^\n]{{0,120}}?(?:{_FETCH}|downloadstring)",
            rf"downloadstring\s*\([^\n]{{0,300}}?\|\s*{_EXPRESSION}",
        )
    ),
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"[\\`][ \t]*\r?\n\s*|(?<=\|)[ \t]*\r?\n\s*")
PIPED = (
    "the text pipes a download into a shell, and a review keeps no such step: its words may be another's. "
    "Say what to install and from where, and leave running it to the user."
)


def piped(text: str) -> frozenset[str]:
    """Return the lines of a text that pipe a download into a shell."""
    return frozenset(line.strip() for line in _GOES_ON.sub(" ", text).splitlines() if _PIPED.search(line))
