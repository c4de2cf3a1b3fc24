"""What was decided on a command. It is apart from the deciding, whose rules take a while to import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atlas_gate.parts import Part
    from atlas_gate.reader import ScriptRead
    from atlas_gate.rules import Verdict


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one command, and what it rests on.

    `rule` is the id of the rule that decided, `why` one sentence for a person. `parts` are the simple
    commands the line comes to, `scripts` the files read with the digest to compare before running, `inputs`
    the other files whose text it hands on, and `links` the paths it names that lead elsewhere, with where to.
    `always` is the glob an "always" would save, None where it would allow more than this command.
    """

    verdict: Verdict
    rule: str
    why: str
    parts: tuple[Part, ...]
    scripts: tuple[ScriptRead, ...]
    always: str | None
    inputs: tuple[ScriptRead, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
