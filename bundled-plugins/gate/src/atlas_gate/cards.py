"""What a person is shown before they answer: exactly what would run, nothing of it invisible."""

from __future__ import annotations

import json
import re
import unicodedata

from atlas_gate.judgement import Judgement
from atlas_sdk.services.gate import Card, GateRequest

MOST_PARTS = 12
MOST_CHARS = 8_000
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
# Letters and marks that are shown as nothing: DerivedCoreProperties.txt, Default_Ignorable_Code_Point, and the blank
# of Braille (Unicode 16).
_BLANKS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """Return a text with every character that cannot be seen, or that moves others, written out."""
    shown = []
    for character in text:
        if character == "\n":
            shown.append("⏎\n")
        elif character == "\t":
            shown.append("→\t")
        elif (
            unicodedata.category(character) in _INVISIBLE
            or _BLANKS.match(character)
            or (character.isspace() and character != " ")
        ):
            shown.append(f"⟨U+{ord(character):04X}⟩")
        else:
            shown.append(character)
    text = "".join(shown)
    if len(text) <= MOST_CHARS:
        return text
    middle = f"\n⟨{len(text) - MOST_CHARS} more characters here⟩\n"
    return text[: MOST_CHARS // 2] + middle + text[-MOST_CHARS // 2 :]


def command_card(request: GateRequest, judgement: Judgement, why: str, *, expires_in: float) -> Card:
    """Return the card of a command."""
    parts = [part.shown() for part in judgement.parts]
    lines = [visible(part) for part in parts] if len(parts) > 1 or judgement.scripts else []
    if len(lines) > MOST_PARTS:
        lines = [*lines[:MOST_PARTS], f"and {len(lines) - MOST_PARTS} more parts"]
    lines += [f"runs the script {visible(script.path)}" for script in judgement.scripts]
    return Card(
        title="Run this command?",
        exact=visible(request.command or ""),
        why=f"{why} It would run in {visible(str(request.folder))}.",
        parts=tuple(lines),
        always=visible(judgement.always) if judgement.always and judgement.rule.startswith("danger.") else "",
        expires_in=expires_in,
    )


def tool_card(request: GateRequest, title: str, why: str, *, expires_in: float) -> Card:
    """Return the card of any other call: its tool and its arguments."""
    arguments = json.dumps(request.arguments, ensure_ascii=False, indent=2)
    return Card(title=title, exact=visible(f"{request.tool} {arguments}"), why=why, expires_in=expires_in)
