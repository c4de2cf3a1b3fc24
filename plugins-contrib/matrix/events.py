"""What people write in Matrix, read from the events of a room. It trusts no field to be there, or of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .writing import MARKS

FILES = ("m.image", "m.file", "m.audio", "m.video")
WORDS = ("m.text", "m.emote", "m.location")
COMMANDS = ("!new", "!stop", "!start")
"""Chat apps of Matrix keep what begins with a slash for themselves."""


@dataclass(frozen=True)
class Said:
    """What somebody wrote. ``file`` is the mxc address of a file, and ``answers`` the event it is a reply to."""

    text: str
    file: str = ""
    name: str = ""
    size: int = 0
    answers: str = ""


def said(event: Mapping[str, Any]) -> Said | None:
    """Return what a message says; None for an edit, a bot's notice, or what is no message."""
    content = _dict(event.get("content"))
    relates, kind, body = _dict(content.get("m.relates_to")), content.get("msgtype"), _text(content.get("body"))
    if event.get("type") != "m.room.message" or relates.get("rel_type") == "m.replace":
        return None
    answers = _text(_dict(relates.get("m.in_reply_to")).get("event_id"))
    if kind in FILES:
        name, size = _text(content.get("filename")) or body or "file", _dict(content.get("info")).get("size")
        caption = body if content.get("filename") and body != name else ""
        return Said(caption, _text(content.get("url")), name, size if isinstance(size, int) else 0, answers)
    if kind not in WORDS or not body.strip():
        return None
    words = _own_words(body) if answers else body
    first = words.split(maxsplit=1)[0] if words.split() else ""
    return Said(f"/{words.lstrip()[1:]}" if first in COMMANDS else words, answers=answers)


def reaction(event: Mapping[str, Any]) -> tuple[str, str]:
    """Return which event a reaction is to, and what it shows."""
    relates = _dict(_dict(event.get("content")).get("m.relates_to"))
    if event.get("type") != "m.reaction" or relates.get("rel_type") != "m.annotation":
        return "", ""
    return _text(relates.get("event_id")), _text(relates.get("key"))


def choice(words: str, choices: list[str]) -> int | None:
    """Return which choice a reaction or words mean: its number, as a digit or a keycap, or its label."""
    bare = words.replace("\ufe0f", "").replace("\u20e3", "").strip().casefold()
    numbers = [str(number) for number in range(1, len(choices) + 1)]
    marks = [mark.replace("\ufe0f", "").replace("\u20e3", "") for mark in MARKS[: len(choices)]]
    for known in (numbers, marks, [one.strip().casefold() for one in choices]):
        if bare in known:
            return known.index(bare)
    return None


def inviter(events: Any, me: str) -> str:
    """Return who invited an account, from the state that comes with an invitation."""
    for event in events if isinstance(events, list) else []:
        event = _dict(event)
        invited = _dict(event.get("content")).get("membership") == "invite"
        if event.get("type") == "m.room.member" and event.get("state_key") == me and invited:
            return _text(event.get("sender"))
    return ""


def since_invited(events: list[dict[str, Any]], me: str) -> list[dict[str, Any]]:
    """Leave out what was written in a room before the account was there: it is said to others."""
    start, last = 0, ""
    for number, event in enumerate(events):
        if event.get("type") != "m.room.member" or event.get("state_key") != me:
            continue
        now = _text(_dict(event.get("content")).get("membership"))
        before = last or _text(_dict(_dict(event.get("unsigned")).get("prev_content")).get("membership"))
        # A join that follows a join is a new name or picture.
        if now == "invite" or (now == "join" and before not in ("join", "invite")):
            start = number
        last = now
    return events[start:]


def _own_words(body: str) -> str:
    """Return a reply without the message it quotes, which older apps put before it."""
    lines = body.split("\n")
    if not lines[0].startswith("> "):
        return body
    while lines and lines[0].startswith(">"):
        lines.pop(0)
    return "\n".join(lines).lstrip("\n")


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
