"""Skills that came since the plugins' tools and commands were made: they must not wait for a restart.

Each generation has a ``Latecomers`` of its own, which knows what that generation had. Before a turn it looks at the
disk, so that a conversation that begins is told what there is. What is new becomes part of the next generation; until
then a notice stands for a command where the user types ``/name``.
"""

from __future__ import annotations

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.hooks import Stage, TurnGo, TurnRequest
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.records import Turn
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.plugins import PLUGINS

from .library import Library


class Latecomers:
    """Looks for new skills before each turn."""

    stage: Stage = Stage.FEATURE

    def __init__(self, ctx: PluginContext, library: Library) -> None:
        self._ctx = ctx
        self._library = library
        self._commands = frozenset(skill.name for skill in library.invocable())
        self._known = library.known()

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        await self._library.look()
        if self._library.known() != self._known:
            await self._typed(request)
            try:
                await self._ctx.services.need(PLUGINS).refresh()
            except AtlasError as error:  # the user's turn does not fail for a list that is old
                self._ctx.logger.warning("New skills could not be announced: %s", error)
        return await go(request)

    async def _typed(self, request: TurnRequest) -> None:
        """Tell the model of a new skill whose ``/name`` begins the message, as its command will from the next turn."""
        parts = request.message.parts
        text = "".join(part.text for part in parts if isinstance(part, TextPart) and not part.source)
        name, _, arguments = text.removeprefix("/").partition(" ")
        fresh = {skill.name for skill in self._library.invocable()} - self._commands
        if not text.startswith("/") or name.strip() not in fresh:
            return
        id = request.conversation.id
        said = await self._library.use(name.strip(), arguments=arguments, conversation=id)
        part = TextPart(text=said, trust="agent", source="command")
        await self._ctx.services.need(CONVERSATIONS).send(id, [part], sender=Sender(kind="notice", name="skills"))
