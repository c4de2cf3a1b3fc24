"""What a piece of source does to the machine, whatever its language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "shell", "words", "delete", "delete-some", "remove", "open", "write", "code", "print", "forever-fork", "kill",
    "import",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing a source does: a shell text or words it runs, or a path it deletes, opens or writes."""

    kind: Kind
    texts: tuple[str, ...]
