"""What is said of a plugin folder while it is read: what is refused and why, and what the author should know."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class RefusedPart:
    """A part of a folder that is not loaded, and the reason in a sentence."""

    part: str
    why: str


@dataclass
class Report:
    """Filled by whoever reads a folder. A bad part never stops the others."""

    refused: list[RefusedPart] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, part: str, why: str) -> None:
        """Say that a part is not loaded."""
        self.refused.append(RefusedPart(part, why))

    def warn(self, sentence: str) -> None:
        """Say something about a part that is loaded all the same."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)
