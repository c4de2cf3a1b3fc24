"""A history as text to be summarised: what was said in full, what tools answered cut short, in pieces that fit."""

from __future__ import annotations

from collections.abc import Sequence

from atlas_sdk.messages import FilePart, ImagePart, Message, Part, TextPart, ToolCallPart, ToolResultPart

from .sizes import Sizes

RESULT_CHARS = 2_000
"""Of a result the beginning says what it was; whoever needs the rest finds the message."""
CALL_CHARS = 500
TEXT_CHARS = 12_000
SUMMARY = "compaction"
"""The source of a summary's own text. What it carries word for word has others, and is not summarised again."""


def entries(messages: Sequence[Message]) -> list[str]:
    """Return each message as a paragraph, those with nothing to say left out."""
    found = []
    for message in messages:
        summary = is_summary(message)
        lines = [
            line
            for part in message.parts
            if not summary or (isinstance(part, TextPart) and part.source == SUMMARY)
            if (line := _line(message, part))
        ]
        if lines:
            found.append("\n".join(lines))
    return found


def is_summary(message: Message) -> bool:
    """Say whether a message is what a compaction put in the place of others."""
    return message.sender.kind == "notice" and message.sender.name == "compaction"


def pieces(paragraphs: Sequence[str], sizes: Sizes, tokens: int) -> list[str]:
    """Return the paragraphs joined into pieces of so many tokens; one that is longer by itself is cut."""
    found: list[str] = []
    piece: list[str] = []
    left = tokens
    for paragraph in paragraphs:
        text = sizes.cut(paragraph, tokens)
        size = sizes.text(text)
        if piece and size > left:
            found.append("\n\n".join(piece))
            piece, left = [], tokens
        piece.append(text)
        left -= size
    return [*found, "\n\n".join(piece)] if piece else found


def _line(message: Message, part: Part) -> str:
    match part:
        case TextPart(source="clock"):
            return ""
        case TextPart():
            return f"[{_who(message, part)}] {_short(part.text, TEXT_CHARS)}" if part.text.strip() else ""
        case ToolCallPart():
            return f"[the agent calls {part.name}] {_short(part.arguments, CALL_CHARS)}"
        case ToolResultPart():
            text = "\n".join(one.text for one in part.content if isinstance(one, TextPart))
            return f"[{part.name} {'fails' if part.is_error else 'answers'}] {_short(text, RESULT_CHARS)}"
        case FilePart():
            return f"[a file: {part.name}] {_short(part.text or '', RESULT_CHARS)}"
        case ImagePart():
            return f"[an image: {part.name or part.media_type}]"
        case _:
            return ""


def _who(message: Message, part: TextPart) -> str:
    if is_summary(message):
        return "the summary of what came before"
    if message.role == "assistant":
        return "the agent"
    if message.sender.kind == "person":
        return "the person" if part.trust == "owner" else "a guest" if part.trust == "guest" else "read from outside"
    return f"a notice of {message.sender.name or part.source or 'Atlas'}"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} [… {len(text) - limit} more characters]"
