"""What a hook command answered, as Claude Code reads it: by its exit code, and as JSON on its standard output."""

from __future__ import annotations

from atlas_sdk.hook_events import DECISIONS
from atlas_sdk.values import Json, read_json

from .process import Ended

BLOCKS = 2
"""The exit code that blocks, with standard error as the reason."""
TALKS = ("SessionStart", "UserPromptSubmit")
"""The events at which plain text on standard output is context for the model."""


def answer_of(event: str, ended: Ended) -> tuple[Json, str]:
    """Return what a hook that ran to its end answers, None for no opinion, and what the log should say of it.

    What it says of a wrong kind is left out and the rest holds: a word too many does not open what it closed.
    """
    if ended.code == BLOCKS:
        return {"decision": "block", "reason": ended.stderr.strip() or "It gave no reason."}, ""
    if ended.code != 0:
        return None, f"it ended with {ended.code}: {ended.stderr.strip()[:300] or 'it said nothing'}"
    text = _after_promise(ended.stdout.strip())
    if text.startswith("{"):
        try:
            return _tidied(read_json(text))
        except ValueError as error:
            if event not in TALKS:
                return None, f"its answer is not JSON: {error}"
    return ({"additionalContext": text} if text and event in TALKS else None), ""


def _after_promise(text: str) -> str:
    """Return the answer behind a first line that says it comes later (``{"async": true}``): its last line."""
    first, _, rest = text.partition("\n")
    try:
        promised = first.startswith("{") and read_json(first).get("async") is True
    except ValueError:
        return text
    return rest.strip().rpartition("\n")[2].strip() if promised else text


def _tidied(said: dict[str, Json]) -> tuple[Json, str]:
    wrong = []
    special = said.get("hookSpecificOutput", {})
    if not isinstance(special, dict):
        wrong.append("hookSpecificOutput")
        special = {}
    said = {**said, "hookSpecificOutput": dict(special)}
    for place in (said, said["hookSpecificOutput"]):
        for name, is_known in (
            ("decision", _is_decision),
            ("permissionDecision", _is_decision),
            ("updatedInput", _is_object),
        ):
            if place.get(name) is not None and not is_known(place[name]):
                wrong.append(name)
                del place[name]
    return said, f"it said what means nothing in {', '.join(wrong)}" if wrong else ""


def _is_decision(value: Json) -> bool:
    return isinstance(value, str) and value in DECISIONS


def _is_object(value: Json) -> bool:
    return isinstance(value, dict)


_KNOWN = {"decision": _is_decision, "permissionDecision": _is_decision, "updatedInput": _is_object}
