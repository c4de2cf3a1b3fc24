"""The text of a message that is searched: what was said, or what a tool gave back."""

from __future__ import annotations

from collections.abc import Iterator

from atlas_sdk.messages import FilePart, ImagePart, Message, Sender, TextPart, ToolResultPart

TALK_CHARS = 100_000
OUTPUT_CHARS = 32_000
"""Outputs are long and much alike; what matters stands at the start, and the whole can be read in the conversation."""

OWNER, MAIN = "owner", "main"
_CLOCK = "clock"  # the note of the day that stands with a message, in every conversation


def text_of(message: Message) -> str:
    """Return what is searched of a message; empty for one that says nothing, such as a bare call of a tool."""
    if message.role == "tool":
        return "\n".join(_outputs(message))[:OUTPUT_CHARS]
    return "\n\n".join(_said(message))[:TALK_CHARS]


def _said(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, TextPart) and part.source != _CLOCK and part.text.strip():
            yield part.text.strip()
        elif isinstance(part, FilePart | ImagePart) and part.name:
            yield f"[{part.name}]"


def _outputs(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, ToolResultPart):
            yield from (one.text.strip() for one in part.content if isinstance(one, TextPart) and one.text.strip())


def name_of(sender: Sender) -> str:
    """Return the name of who said a message, empty where there is none that anybody would say.

    The owner's messages carry the name of the app they came by, and the agent of a home is ``main``.
    """
    unnamed = sender.kind not in ("person", "agent") or sender.id == OWNER or sender.name == MAIN
    return "" if unnamed else sender.name
