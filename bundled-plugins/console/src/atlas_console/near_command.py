"""A slash command that does not exist, where one of nearly its name does: the model is not asked about a slip."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import NotFoundError
from atlas_sdk.hooks import Stage, TurnGo, TurnRequest
from atlas_sdk.messages import TextPart
from atlas_sdk.records import Turn
from atlas_sdk.services.home import HOME

ALIKE = 0.75
"""How alike two names must be, of 1: a letter left out, doubled or swapped is; another short word is not."""
_TYPED = re.compile(r"/([a-z0-9][\w-]*(?::[\w-]+)?)(?=\s|\Z)", re.IGNORECASE)


def near_command(text: str, names: Iterable[str]) -> tuple[str, str] | None:
    """Return what was typed as a command that there is none of, and the one that was meant.

    None where it is no command, where there is such a command, and where none is near: the model is asked then.
    """
    known = set(names)
    typed = _TYPED.match(text)
    if typed is None or typed[1] in known:
        return None
    # A command of a plugin stands behind its plugin's name, which is easily left out.
    of_plugins = sorted(name for name in known if name.partition(":")[2] == typed[1])
    near = of_plugins or get_close_matches(typed[1], sorted(known), 1, ALIKE)
    return (typed[1], near[0]) if near else None


class NearCommand:
    """Ends a turn that begins with a slip in a command's name, and says which was meant."""

    stage = Stage.FIRST

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        parts = request.message.parts
        text = "".join(part.text for part in parts if isinstance(part, TextPart) and not part.source)
        names = (added.name for added in self._ctx.services.need(HOME).added("atlas_commands"))
        if text.startswith("/") and (found := near_command(text, names)) is not None:
            raise NotFoundError(f"There is no command /{found[0]}.", hint=f"Did you mean /{found[1]}?")
        return await go(request)
