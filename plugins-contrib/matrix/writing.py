"""What Atlas writes, as Matrix takes it: Markdown with HTML beside it that can do no harm."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

LIMIT_CHARS = 4000
"""An event has 65,536 bytes, and a text stands in it twice."""
LIMIT_BYTES = 60_000
SCHEMES = ("https://", "http://", "mailto:")
KEYCAP = "\ufe0f\u20e3"
MARKS = (*(f"{digit}{KEYCAP}" for digit in range(1, 10)), "\U0001f51f")
"""What is pressed for each choice: reactions stand under the message with their count."""
HOW = "React with the number, or write it."


def message(text: str) -> dict[str, Any]:
    """Return the content of an event that says a text.

    It mentions nobody: words of a model must not ring everybody in a room.
    """
    content: dict[str, Any] = {"msgtype": "m.text", "body": text, "m.mentions": {}}
    formatted = html(text)
    if formatted:
        rich = content | {"format": "org.matrix.custom.html", "formatted_body": formatted}
        return rich if len(json.dumps(rich)) <= LIMIT_BYTES else content
    return content


def question(text: str, choices: list[str]) -> dict[str, Any]:
    """Return a question with its choices numbered."""
    if not choices:
        return message(text)
    return message(f"{text}\n\n{numbered(choices)}\n\n{HOW}")


def numbered(choices: list[str]) -> str:
    """Return choices as a list that Markdown numbers."""
    return "\n".join(f"{number}. {choice}" for number, choice in enumerate(choices, 1))


def replacing(event: str, text: str) -> dict[str, Any]:
    """Return the content of an event that takes the place of an earlier one."""
    new = message(text)
    # A client that knows no edits shows this one as a message of its own.
    return message(f"* {text[: LIMIT_CHARS // 2]}") | {
        "m.new_content": new,
        "m.relates_to": {"rel_type": "m.replace", "event_id": event},
    }


def pieces(text: str) -> list[str]:
    """Return a text in pieces that an event holds: cut at a line's end, else at a word's, else anywhere."""
    found = []
    while len(text) > LIMIT_CHARS:
        head = text[:LIMIT_CHARS]
        at = max(head.rfind("\n"), 0) or max(head.rfind(" "), 0) or LIMIT_CHARS
        found.append(text[:at])
        text = text[at:].lstrip("\n ")
    return [*found, text] if text.strip() else found


def html(text: str) -> str:
    """Return Markdown as HTML, or nothing where it is plain or nothing here renders it.

    HTML in it is shown and not obeyed, links go to the web or a mailbox, and no picture is fetched from anywhere.
    """
    reader = _reader()
    if reader is None:
        return ""
    tokens = reader.parse(text)
    for token in tokens:
        token.attrs.pop("style", None)  # a table's cells have one, and Matrix allows none
    made = str(reader.renderer.render(tokens, reader.options, {})).strip()
    return "" if made == f"<p>{text}</p>" else made


@cache
def _reader() -> Any:
    try:
        from markdown_it import MarkdownIt  # it comes with Atlas, which prints Markdown in terminals by it
    except ImportError:
        return None
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    reader.disable("image")
    reader.validateLink = lambda url: url.lower().startswith(SCHEMES)  # type: ignore[method-assign]  # as its manual has it
    return reader
