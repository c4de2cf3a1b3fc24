"""What it means that a plugin the owner wants is not on: why, and what of it is not in force."""

from __future__ import annotations

import re
from collections.abc import Iterable

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.events import Noticed
from atlas_sdk.hooks import Stage, TurnGo, TurnRequest
from atlas_sdk.records import Turn
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.plugins import PLUGINS, PluginRow

_STATES = ("waiting", "broken", "needs")
_EVENT = re.compile(r"\w+")


def absent(rows: Iterable[PluginRow]) -> list[PluginRow]:
    """Return the plugins that are not on though something wants them on, or that cannot be read."""
    return [row for row in rows if row.state in _STATES]


def why_absent(row: PluginRow) -> str:
    """Say why a plugin is not on, and what it would do."""
    why = row.why if row.why.startswith(f"The plugin {row.name} ") else f"{row.name}: {row.why}"
    if row.state == "waiting":
        why = f"{row.name} waits for your consent: atlas plugins enable {row.name}."
    return " ".join([why, *not_in_force(row)])


def not_in_force(row: PluginRow) -> list[str]:
    """Return a sentence for each kind of thing that its owner may count on and is not there: hooks, then tools.

    It goes by what they agreed to; by what it declares where that is not known.
    """
    what = row.agreed if isinstance(row.agreed, dict) else row.declares if isinstance(row.declares, dict) else {}
    written = (_EVENT.match(str(hook)) for kind in ("hooks", "hook_commands") for hook in what.get(kind, ()))
    said = []
    if events := list(dict.fromkeys(found[0] for found in written if found)):
        said.append(f"Its {_few('hook', events)} on {_listed(events)} {_few('is', events)} not in force.")
    if tools := [str(tool) for tool in what.get("tools", ())]:
        said.append(f"Its {_few('tool', tools)} {_listed(tools)} {_few('is', tools)} not there.")
    return said


class AbsenceNotice:
    """Tells each conversation once of the plugins that are wanted and not on, before its next turn. It fails open."""

    stage = Stage.FIRST

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._told: dict[str, tuple[str, set[str]]] = {}
        """By plugin: the reason, and the conversations that were told. One that is on again is forgotten."""

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        conversation = request.conversation.id
        try:
            for said in await self._news(conversation):
                await self._ctx.services.need(EVENTS).announce(Noticed(conversation=conversation, text=said))
        except AtlasError as error:
            self._ctx.logger.warning("Nobody was told of the plugins that are not on: %s", error)
        return await go(request)

    async def _news(self, conversation: str) -> list[str]:
        wanted = [row for row in absent(await self._ctx.services.need(PLUGINS).list()) if row.wanted]
        known, self._told = self._told, {}
        said = []
        for row in wanted:
            reason = f"{row.state} {row.why}"
            before = known.get(row.name)
            told = before[1] if before is not None and before[0] == reason else set()
            if conversation not in told:
                said.append(f"A plugin you turned on is not on. {why_absent(row)}")
            self._told[row.name] = (reason, told | {conversation})
        return said


def _few(word: str, things: list[str]) -> str:
    if len(things) == 1:
        return word
    return "are" if word == "is" else f"{word}s"


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
