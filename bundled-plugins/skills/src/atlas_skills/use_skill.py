"""The tool ``use_skill`` and the slash commands: two ways to the same text."""

from __future__ import annotations

from typing import Any

from atlas_sdk.commands import CommandHost, SlashCommand
from atlas_sdk.errors import AtlasError
from atlas_sdk.messages import TextPart
from atlas_sdk.records import Conversation
from atlas_sdk.services.models import MODELS
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost, ToolResult

from .library import Library
from .listing import USUAL_WINDOW, budget_chars, listing
from .skill import Skill

_DESCRIPTION = """Load a skill: how to do one kind of task. Load one before you begin when the task is what it is for. \
More may come while a conversation goes on: a name that is not known answers with all there are. The skills:"""
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "arguments": {"type": "string", "description": "What the skill works on"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def use_skill(library: Library) -> Tool:
    """Return the tool. What the model is told of it lists the skills that there are for its conversation."""

    async def run(arguments: Arguments, host: ToolHost) -> ToolResult:
        name = str(arguments["name"]).strip().removeprefix("/")
        await library.look()
        bot = await library.bot_of(host.conversation)
        if any(skill.name == name and not skill.for_model for skill in library.known(bot)):
            raise ToolError(f"Not loaded: only the user may call the skill {name}, by typing /{name}.")
        try:
            text = await library.use(name, arguments=arguments.get("arguments", ""), conversation=host.conversation)
        except AtlasError as error:
            raise ToolError(f"Not loaded: {error}") from error
        # The owner put the skill there or agreed to its plugin, so it is no text from outside.
        return ToolResult((TextPart(text=text, trust="agent", source=f"skill {name}"),))

    async def told(conversation: Conversation) -> str:
        return await _listed(library, conversation)

    return Tool("use_skill", _DESCRIPTION, PARAMETERS, run, read_only=True, carried=True, told=told)


async def _listed(library: Library, conversation: Conversation) -> str:
    """Return the list of what it loads, a bot's own first, within its share of the window of the model that answers."""
    bot = await library.bot_of(conversation.id)
    there = (*library.own(bot), *(skill for skill in library.listed(bot) if skill.bot != bot or not bot))
    return listing(there, budget=budget_chars(await _window(library, conversation)))


async def _window(library: Library, conversation: Conversation) -> int:
    """Return how many tokens that is; a usual number where no model can be asked."""
    models = library.ctx.services.get(MODELS)
    try:
        if models is not None:
            return (await models.choose(conversation.provider, conversation.model))[1].context_window or USUAL_WINDOW
    except AtlasError:  # the turn says what is wrong with the model
        pass
    return USUAL_WINDOW


def slash_command(library: Library, skill: Skill) -> SlashCommand:
    """Return ``/name arguments``: the skill's text is told to the model behind the user's words."""

    async def run(text: str, host: CommandHost) -> str:
        return await library.use(skill.name, arguments=text, conversation=host.conversation)

    return SlashCommand(skill.name, skill.description, run, hint="what it works on", prompts=True)


def retired_command(library: Library, name: str) -> SlashCommand:
    """Return ``/name`` for a skill that the marketplace stopped: it says so, instead of being told to the model."""

    async def run(text: str, host: CommandHost) -> str:
        return await library.use(name, arguments=text, conversation=host.conversation)

    return SlashCommand(name, "Retired by the marketplace.", run, prompts=True)
