"""What tools told of the owner before a guest came: it stays in the conversation, and is kept out of what is sent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from atlas_sdk.messages import Message, TextPart, ToolCallPart, ToolResultPart
from atlas_sdk.values import read_json

from .owners_files import is_in_home, names_home

KEPT_BACK = "[Kept back: a guest reads along here, and this was told to the owner. Go on without it.]"
Tells: TypeAlias = Callable[[str], bool]
"""Whether a tool, by its name, tells what is the owner's whatever it is asked."""
_SEARCHES = frozenset({"conversation_search"})
"""Tools of other plugins that tell what the owner said elsewhere."""
_KEPT = 4_096


class Told:
    """Says which results told what is the owner's. What it found out of a call it keeps: links are followed for it."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._known: dict[tuple[str, str], bool] = {}

    def without(self, messages: Sequence[Message], *, before: str, tells: Tells, folder: Path) -> tuple[Message, ...]:
        """Return messages in which each result of a call from before a message says only that it is kept back."""
        hidden: set[str] = set()
        found = []
        for message in messages:
            if message.role == "assistant":
                hidden = set(self._owners(message, tells, folder)) if message.id < before else set()
            found.append(_without(message, hidden) if message.role == "tool" and hidden else message)
        return tuple(found)

    def _owners(self, message: Message, tells: Tells, folder: Path) -> Iterator[str]:
        for part in message.calls():
            key = (message.id, part.call)
            if key not in self._known:
                self._known[key] = self._is_owners(part, tells, folder)
                for old in list(self._known)[:-_KEPT]:
                    del self._known[old]
            if self._known[key]:
                yield part.call

    def _is_owners(self, part: ToolCallPart, tells: Tells, folder: Path) -> bool:
        try:
            arguments: Any = read_json(part.arguments)
        except ValueError:
            return True  # what it asked for is not known
        name = part.name
        if name == "use_tool" and isinstance(arguments, dict):
            name, arguments = str(arguments.get("name")), arguments.get("arguments")
        if tells(name) or name in _SEARCHES or is_in_home(folder, home=self._home):
            return True
        return names_home(arguments, home=self._home, folder=folder)


def _without(message: Message, hidden: Collection[str]) -> Message:
    parts = tuple(
        part.model_copy(update={"content": (TextPart(text=KEPT_BACK, trust="agent", source=part.name),)})
        if isinstance(part, ToolResultPart) and part.call in hidden
        else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": parts})
