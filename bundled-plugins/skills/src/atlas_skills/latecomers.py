"""Skills that came since the plugins' tools and commands were made: they must not wait for a restart.

Each generation has a ``Latecomers`` of its own, which knows what that generation listed. Before a turn it looks at the
disk. What is new becomes part of the next generation; until then this turn gets it by other ways, none of which
changes what a conversation was told before: a section of the instructions where it only begins, and a notice where
the user types ``/name``.
"""

from __future__ import annotations

from collections.abc import Iterable

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.hooks import Stage, TurnGo, TurnRequest
from atlas_sdk.instructions import Section
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.records import Conversation, Turn
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.plugins import PLUGINS

from .library import Library
from .listing import listing
from .skill import Skill

ORDER = 220  # among the tools' rules
LEARN = """When a task taught you how it is done here (a correction, a workaround, steps that took several tries), \
keep it with skill_manage: patch the skill you used, else one for that kind of task, else make one named for the kind \
of task. Procedures belong in skills, facts in memory."""


class Latecomers:
    """Looks for new skills before each turn."""

    stage: Stage = Stage.FEATURE

    def __init__(self, ctx: PluginContext, library: Library) -> None:
        self._ctx = ctx
        self._library = library
        self._listed = frozenset(skill.name for skill in library.listed())
        self._commands = frozenset(skill.name for skill in library.invocable())
        self._known = library.known()

    async def around_turn(self, request: TurnRequest, go: TurnGo) -> Turn:
        await self._library.look()
        if self._library.known() != self._known:
            if request.started:
                self._library.late[request.conversation.id] = self._fresh(self._library.listed(), self._listed)
            await self._typed(request)
            try:
                await self._ctx.services.need(PLUGINS).refresh()
            except AtlasError as error:  # the user's turn does not fail for a list that is old
                self._ctx.logger.warning("New skills could not be announced: %s", error)
        try:
            return await go(request)
        finally:
            self._library.late.pop(request.conversation.id, None)

    def _fresh(self, skills: Iterable[Skill], known: frozenset[str]) -> tuple[Skill, ...]:
        return tuple(skill for skill in skills if skill.name not in known)

    async def _typed(self, request: TurnRequest) -> None:
        """Tell the model of a new skill whose ``/name`` begins the message, as its command will from the next turn."""
        parts = request.message.parts
        text = "".join(part.text for part in parts if isinstance(part, TextPart) and not part.source)
        name, _, arguments = text.removeprefix("/").partition(" ")
        fresh = self._fresh(self._library.invocable(), self._commands)
        if not text.startswith("/") or name.strip() not in {skill.name for skill in fresh}:
            return
        id = request.conversation.id
        said = await self._library.use(name.strip(), arguments=arguments, conversation=id)
        part = TextPart(text=said, trust="agent", source="command")
        await self._ctx.services.need(CONVERSATIONS).send(id, [part], sender=Sender(kind="notice", name="skills"))


def section(library: Library) -> Section:
    """Return the section that lists what the description of ``use_skill`` does not: what is new, and a bot's own."""

    async def text(conversation: Conversation) -> str:
        own = library.own(await library.bot_of(conversation.id))
        named = {skill.name for skill in own}
        late = (*own, *(skill for skill in library.late.get(conversation.id, ()) if skill.name not in named))
        return f"Skills that use_skill loads, too:\n{listing(late)}" if late else ""

    return Section(ORDER, "new-skills", text)


def how_to() -> Section:
    """Return the section on how skills are kept."""
    return Section(350, "skills", lambda conversation: LEARN)
