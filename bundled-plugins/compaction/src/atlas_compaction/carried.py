"""What tools hold that goes on over a compaction: the plan, the skills in use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from atlas_sdk.messages import Message, TextPart, ToolCallPart, ToolResultPart
from atlas_sdk.tools import Tool
from atlas_sdk.values import read_json

from .sizes import Sizes
from .words import command_of

EACH_TOKENS = 5_000
ALL_TOKENS = 25_000


@dataclass(frozen=True)
class Held:
    """What a carried tool answered last, or for each ``name`` it was called with: ``tool`` and ``name`` say which."""

    tool: str
    name: str
    message: str
    parts: tuple[TextPart, ...]


def held(messages: Sequence[Message], find: Callable[[str], Tool | None], skills: Collection[str]) -> tuple[Held, ...]:
    """Return what is held, the one used last at the end. ``skills`` are those one may also call as ``/name``."""
    calls: dict[str, ToolCallPart] = {}
    found: dict[tuple[str, str], Held] = {}

    def keep(one: Held) -> None:
        found.pop((one.tool, one.name), None)
        found[one.tool, one.name] = one

    for before, message in zip([None, *messages], messages, strict=False):
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.call] = part
            elif isinstance(part, ToolResultPart) and not part.is_error and (call := calls.get(part.call)):
                tool = find(call.name)
                texts = tuple(one for one in part.content if isinstance(one, TextPart))
                if tool is not None and tool.carried and texts:
                    keep(Held(call.name, _name(call), message.id, texts))
        if before is not None and (name := _typed(before)) in skills and message.sender.kind == "notice":
            texts = tuple(one for one in message.parts if isinstance(one, TextPart) and one.source == "command")
            if texts and message.role == "user":
                keep(Held("/", name, message.id, texts))
    return tuple(found.values())


def within(kept: Sequence[Held], *, tail: Collection[str], sizes: Sizes, tokens: int) -> tuple[Held, ...]:
    """Return what there is room for, the last used first, each cut to its share. The ``tail`` is read anyway.

    The limits are of a text as it is, whatever a provider counts for it; only the room is in the provider's tokens.
    """
    plain = Sizes()
    left, chosen = min(ALL_TOKENS, int(tokens / sizes.factor)), list[Held]()
    for one in reversed(kept):
        if one.message in tail:
            continue
        most, parts = min(EACH_TOKENS, left), list[TextPart]()
        for part in one.parts:
            cut = part.model_copy(update={"text": plain.cut(part.text, most)})
            parts.append(cut)
            most -= plain.part(cut)
            if most <= 0:
                break
        size = sum(map(plain.part, parts))
        if 0 < size <= left:
            left -= size
            chosen.append(Held(one.tool, one.name, one.message, tuple(parts)))
    return tuple(reversed(chosen))


def _name(call: ToolCallPart) -> str:
    try:
        arguments = read_json(call.arguments or "{}")
    except ValueError:
        return ""
    return str(arguments.get("name", "")) if isinstance(arguments, dict) else ""


def _typed(message: Message) -> str:
    """Return the name of the command that a person typed, or nothing."""
    return command_of(message)[1:] if message.role == "user" and message.sender.kind == "person" else ""
