"""How many tokens something takes, as near as one can tell without the model's own tokenizer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from atlas_sdk.messages import FilePart, ImagePart, Message, Part, TextPart, ToolCallPart, ToolResultPart

BYTES_A_TOKEN = 4
"""English has four to five bytes a token, and scripts of three bytes a character about one character a token."""
IMAGE_TOKENS = 1_500
"""About what a picture of a screen costs at the large providers."""
MESSAGE_TOKENS = 4
"""What a message costs beside its words."""
NOTE_TOKENS = 12
"""What the note takes that a text was cut, the token more that every text counts with it."""
LEAST_FACTOR, MOST_FACTOR = 1.0, 2.0
"""What the provider counted may raise the estimate, and never lower it: too small a tail does less harm.
Text of two bytes a token is the densest there is."""


@dataclass(frozen=True)
class Sizes:
    """Estimates. ``factor`` is how many tokens the provider counted for each one estimated here."""

    factor: float = 1.0

    @classmethod
    def measured(cls, counted: int, estimated: int) -> Sizes:
        """Return estimates that agree with what the provider counted for something."""
        return cls(min(MOST_FACTOR, max(LEAST_FACTOR, counted / max(1, estimated))))

    def text(self, text: str) -> int:
        """Return what a text takes."""
        return int((len(text.encode()) / BYTES_A_TOKEN + 1) * self.factor) if text else 0

    def part(self, part: Part) -> int:
        """Return what a part takes as it is sent."""
        match part:
            case TextPart():
                return self.text(part.text)
            case ImagePart():
                return IMAGE_TOKENS
            case FilePart():
                return self.text(part.name) + self.text(part.text or "")
            case ToolCallPart():
                return self.text(part.name) + self.text(part.arguments)
            case ToolResultPart():
                return sum(self.part(one) for one in part.content)
            case _:
                return 0  # reasoning is for people and not sent

    def message(self, message: Message) -> int:
        """Return what a message takes."""
        items = message.provider_items.items if message.provider_items else ()
        sent = sum(self.text(json.dumps(item, ensure_ascii=False)) for item in items)
        return MESSAGE_TOKENS + sent + sum(self.part(part) for part in message.parts)

    def messages(self, messages: Iterable[Message]) -> int:
        """Return what messages take together."""
        return sum(self.message(message) for message in messages)

    def cut(self, text: str, tokens: int) -> str:
        """Return a text, or as much of its beginning as that many tokens hold together with a note that it was cut."""
        if self.text(text) <= tokens:
            return text
        room = max(0, int(tokens / self.factor) - NOTE_TOKENS)
        kept = text.encode()[: room * BYTES_A_TOKEN].decode("utf-8", "ignore")
        return f"{kept}\n[cut: {len(text) - len(kept)} more characters]"
