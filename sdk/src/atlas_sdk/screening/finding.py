"""What a screening found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Family: TypeAlias = Literal[
    "injection", "invisible-unicode", "exfiltration", "hardcoded-secret", "ssh-backdoor", "agent-config"
]


@dataclass(frozen=True)
class Finding:
    """Why a text is refused: its family, and a sentence for whoever reads it. The text itself is not repeated."""

    family: Family
    said: str
