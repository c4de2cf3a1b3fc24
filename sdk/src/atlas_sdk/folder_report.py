"""What is said of a plugin folder while it is read: what is refused and why, and what the author should know."""

from __future__ import annotations

from dataclasses import dataclass, field

from .values import whole_text

MOST_SAID = 500
"""How many parts are named at most. A folder that has more to say of it is made to drown its reader."""


@dataclass(frozen=True)
class RefusedPart:
    """A part of a folder that is not loaded, and the reason in a sentence."""

    part: str
    why: str


@dataclass
class Report:
    """Filled by whoever reads a folder. A bad part never stops the others.

    What it says can be printed and sent whatever a file is called.
    """

    refused: list[RefusedPart] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def refuse(self, part: str, why: str) -> None:
        """Say that a part is not loaded."""
        if len(self.refused) < MOST_SAID:
            self.refused.append(RefusedPart(whole_text(part), whole_text(why)))
        elif len(self.refused) == MOST_SAID:
            self.refused.append(RefusedPart("more", f"Over {MOST_SAID} parts are refused; the rest are not named."))

    def warn(self, sentence: str) -> None:
        """Say something about a part that is loaded all the same."""
        sentence = whole_text(sentence)
        if len(self.warnings) < MOST_SAID and sentence not in self.warnings:
            self.warnings.append(sentence)
