"""What a hook command answered, as Claude Code reads it: by its exit code, and as JSON on its standard output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from atlas_sdk.values import Json, read_json

from .process import Ended

BLOCKS = 2
"""The exit code that blocks, with standard error as the reason."""
TALKS = ("SessionStart", "UserPromptSubmit")
"""The events at which plain text on standard output is context for the model."""
CONTEXT_CHARS = 20_000


@dataclass(frozen=True)
class Answer:
    """What comes of one hook. ``allow`` is not among it: it lowers nothing, so it says nothing."""

    decision: Literal["", "ask", "deny"] = ""
    reason: str = ""
    context: str = ""
    updated: Mapping[str, Json] | None = None
    stops: str = ""
    message: str = ""
    wrong: str = ""
    """What the log should say of the hook."""


def read_answer(event: str, ended: Ended) -> Answer:
    """Read what a hook that ran to its end says of an event."""
    if ended.code == BLOCKS:
        return Answer("deny", _cut(ended.stderr) or "It gave no reason.")
    if ended.code != 0:
        return Answer(wrong=f"it ended with {ended.code}: {ended.stderr.strip()[:300] or 'it said nothing'}")
    text = ended.stdout.strip()
    if not text.startswith("{"):
        return Answer(context=_cut(text)) if event in TALKS else Answer()
    try:
        said = read_json(text)
    except ValueError as error:
        said = None if event not in TALKS else text
        return Answer(context=_cut(text)) if said else Answer(wrong=f"its answer is not JSON: {error}")
    return _of_json(event, said)


def _of_json(event: str, said: Json) -> Answer:
    special = said.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    decision, reason = said.get("decision"), _text(said.get("reason"))
    permission = special.get("permissionDecision", decision if event == "PreToolUse" else None)
    kind: Literal["", "ask", "deny"] = ""
    if event == "PreToolUse":
        kind = "deny" if permission in ("deny", "block") else "ask" if permission in ("ask", "defer") else ""
        reason = _text(special.get("permissionDecisionReason")) or reason
    elif decision in ("block", "deny"):
        kind = "deny"
    updated = special.get("updatedInput")
    stops = said.get("continue") is False
    return Answer(
        kind,
        reason or ("It gave no reason." if kind else ""),
        _cut(_text(special.get("additionalContext")) or _text(said.get("additionalContext"))),
        updated if isinstance(updated, dict) and event == "PreToolUse" else None,
        (_text(said.get("stopReason")) or "A hook said to stop.") if stops else "",
        _cut(_text(said.get("systemMessage"))),
    )


def _text(value: Json) -> str:
    return value.strip() if isinstance(value, str) else ""


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= CONTEXT_CHARS else f"{text[:CONTEXT_CHARS]}\n[It said more.]"
