"""The patterns of the rules, from ``patterns.toml``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path


def pattern(module: str, name: str, flags: re.RegexFlag | int = 0) -> Pattern:
    """Return a pattern of a module by its name. It is read and compiled at its first use."""
    return Pattern(module, name, flags)


class Pattern:
    """A pattern that is compiled when it is first asked."""

    def __init__(self, module: str, name: str, flags: re.RegexFlag | int) -> None:
        self._where = module, name
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def search(self, text: str) -> re.Match[str] | None:
        """Look for it in a text."""
        return self._get().search(text)

    def finditer(self, text: str) -> list[re.Match[str]]:
        """Return where it stands in a text."""
        return list(self._get().finditer(text))

    def _get(self) -> re.Pattern[str]:
        if self._compiled is None:
            module, name = self._where
            self._compiled = re.compile("|".join(_data()[module][name]), self._flags)
        return self._compiled


@cache
def _data() -> dict[str, dict[str, list[str]]]:
    import tomllib

    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
