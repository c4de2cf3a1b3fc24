"""What a rule is, and how a part meets it.

A rule is data: an id that stays, a sentence for a person, and a test over one part. The test sees the
part and the ground it stands on, never the raw line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING
from typing import Literal as OneOf

if TYPE_CHECKING:
    from atlas_gate.parts import Part
    from atlas_gate.paths import Ground

_SHOWN_CHARACTERS = 160  # a card's two lines; the whole command stands above the sentence anyway


class Verdict(IntEnum):
    """What happens to a command, from the mildest to the strictest."""

    RUN = 0
    REVIEW = 1
    ASK = 2
    BLOCK = 3

    @property
    def word(self) -> str:
        """The verdict as the command line and the corpus write it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    `programs` limits it to parts whose program has one of these names, `needs` to parts that have this
    field at all: most parts have no redirect, and ten thousand of them are judged in one line.
    """

    id: str
    sentence: str
    matches: Callable[[Part, Ground], bool]
    programs: frozenset[str] = frozenset()
    needs: OneOf["", "redirects", "unread", "suspicion"] = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a part met, or a fault of the line as a whole."""

    verdict: Verdict
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules of one verdict, looked up by program."""

    verdict: Verdict
    rules: tuple[Rule, ...]
    _by_program: dict[str, list[Rule]] = field(default_factory=dict)
    _by_need: dict[str, list[Rule]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rule in self.rules:
            if not rule.programs:
                self._by_need.setdefault(rule.needs, []).append(rule)
            for program in rule.programs:
                self._by_program.setdefault(program, []).append(rule)

    def first(self, part: Part, ground: Ground) -> Rule | None:
        """The first rule the part meets."""
        for rule in self._by_program.get(part.name, ()):
            if rule.matches(part, ground):
                return rule
        for need, rules in self._by_need.items():
            if need and not getattr(part, need):
                continue
            for rule in rules:
                if rule.matches(part, ground):
                    return rule
        return None

    def programs(self) -> Iterable[str]:
        """Every program some rule is about."""
        return self._by_program.keys()


def finding(verdict: Verdict, rule: str, sentence: str, part: Part) -> Finding:
    """A finding whose sentence names the part."""
    shown = part.shown()
    if len(shown) > _SHOWN_CHARACTERS:
        shown = shown[: _SHOWN_CHARACTERS - 1] + "…"
    inside = f", inside {' › '.join(part.origin)}" if part.origin else ""
    return Finding(verdict, rule, f"{sentence} ({shown}{inside})")
