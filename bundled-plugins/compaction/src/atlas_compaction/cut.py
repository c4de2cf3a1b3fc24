"""Where a history is cut: behind what is archived, before the tail that the model goes on reading."""

from __future__ import annotations

from collections.abc import Sequence

from atlas_sdk.messages import Message, ToolCallPart, ToolResultPart

from .sizes import Sizes

WORTH = 0.5
"""A cut before a person's words is preferred while the tail keeps this part of what it could have."""


def whole_cuts(path: Sequence[Message]) -> list[bool]:
    """Say for each message whether a cut behind it parts no call from its result."""
    waiting: set[str] = set()
    found = []
    for message in path:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting.add(part.call)
            elif isinstance(part, ToolResultPart):
                waiting.discard(part.call)
        found.append(not waiting)
    return found


def cut(path: Sequence[Message], sizes: Sizes, tokens: int, *, most: int | None = None) -> int:
    """Return the place of the last message to archive: the tail behind it fits the tokens, if any tail does.

    ``most`` is how many messages the tail may have, where there is a limit.

    What the model is still to answer stays in the tail. Returns -1 where there is nothing to archive.
    """
    last = len(path) - (2 if path and path[-1].role == "user" else 1)
    possible = [at for at, whole in enumerate(whole_cuts(path)[: last + 1]) if whole]
    if not possible:
        return -1
    tails = [0] * (len(path) + 1)
    for at in range(len(path) - 1, -1, -1):
        tails[at] = tails[at + 1] + sizes.message(path[at])
    first = 0 if most is None else len(path) - 1 - most
    chosen = next((at for at in possible if at >= first and tails[at + 1] <= tokens), possible[-1])
    best = tails[chosen + 1] * WORTH
    return next(
        (
            at
            for at in possible
            if at >= chosen and at + 1 < len(path) and path[at + 1].role == "user" and tails[at + 1] >= best
        ),
        chosen,
    )
