"""Answers that claim a write of memory which nobody made. No model is asked, and a doubt is no claim."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

MOST_CHARS = 20_000
_SENTENCE = re.compile(r"[^.!?。\n]{1,400}[.!?。\n]?")


def claims_saved(answer: str) -> bool:
    """Whether an answer says that something was saved to memory just then."""
    done, taken_back, elsewhere = _patterns()
    return any(
        done.search(said.strip()) and not taken_back.search(said) and not elsewhere.search(said)
        for said in _SENTENCE.findall(answer[:MOST_CHARS])
    )


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return what says so, what takes it back, and what is saved elsewhere, from ``claims.toml``."""
    import tomllib

    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    memory = f"(?:{'|'.join(data['memory'])})"
    return tuple(  # type: ignore[return-value]  # three names, three patterns
        re.compile("|".join(data[name]).replace("@MEMORY@", memory), re.IGNORECASE)
        for name in ("done", "not", "elsewhere")
    )
