"""The tool ``skill_manage``: the agent writes down how a kind of task is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio.to_thread

from atlas_sdk.errors import AtlasError, NotFoundError
from atlas_sdk.guests import guest_spoke
from atlas_sdk.messages import TextPart
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.memory import MEMORY
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost, ToolResult

from .changing import CREATED, UPDATED, Change, Done
from .editing import ACTIONS, Operation
from .library import Library

_DESCRIPTION = """Create, patch and delete skills: how a kind of task is done. All operations of a call are done, or \
none; the version before is kept. Load a skill before you patch it. create: content is the whole SKILL.md (front \
matter with name and description, then the steps). patch: old_string and new_string, or content for the whole file. \
Other files lie under references/, templates/, scripts/ or assets/. delete stands alone and archives."""
NOT_FOR_GUESTS = (
    "A guest has a part in this conversation, and skills are the owner's: they can have it written in a conversation "
    "of their own."
)
_TEXT = {"type": "string"}
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "operations": {
            "type": "array",
            "minItems": 1,
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": {
                    "name": _TEXT,
                    "action": {"type": "string", "enum": list(ACTIONS)},
                    "content": _TEXT,
                    "old_string": _TEXT,
                    "new_string": _TEXT,
                    "replace_all": {"type": "boolean"},
                    "file_path": _TEXT,
                    "file_content": _TEXT,
                    "distinct": {"type": "string", "description": "create: why no existing skill covers it"},
                },
                "required": ["name", "action"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["operations"],
    "additionalProperties": False,
}


def skill_manage(library: Library) -> Tool:
    """Return the tool."""

    async def run(arguments: Arguments, host: ToolHost) -> ToolResult:
        operations = [Operation.of(one) for one in arguments["operations"]]
        if await _guests_have_a_part(library, host.conversation):
            raise ToolError(f"Nothing was changed. {NOT_FOR_GUESTS}")
        bot, reviewing = await library.bot_of(host.conversation), await _is_review(library, host.conversation)
        if why := await _why_not_learned(library, operations, host.conversation, review=reviewing):
            raise ToolError(f"Nothing was changed. {why}")
        change = Change(library, bot=bot, reviewing=reviewing, now=library.ctx.clock.now())
        try:
            done = await anyio.to_thread.run_sync(change.run, operations)
        except AtlasError as error:
            raise ToolError(f"Nothing was changed. {error}") from error
        await library.usage.forget((one.bot, one.name) for one in done if one.how == CREATED)
        await library.look()
        if any(one.how != UPDATED for one in done):
            await _announce(library)
        for one in done:
            if reviewing:
                library.reviewed.note(
                    host.conversation, bot=one.bot, name=one.name, before=one.before, folder=one.folder
                )
        return ToolResult((TextPart(text=_said(done), trust="agent", source="skill_manage"),))

    return Tool("skill_manage", _DESCRIPTION, PARAMETERS, run)


async def _guests_have_a_part(library: Library, id: str) -> bool:
    """Whether a guest spoke where a skill would be written: the owner's agents follow skills without being asked."""
    store, conversations = library.ctx.services.get(STORE), library.ctx.services.get(CONVERSATIONS)
    if store is None or conversations is None:
        return False
    try:
        conversation = await conversations.get(id)
    except NotFoundError:
        return False
    return await store.read(lambda reading: guest_spoke(reading, conversation))


async def _announce(library: Library) -> None:
    """Have the next turn's tools and commands know of it; this one finishes with those it began with."""
    plugins = library.ctx.services.get(PLUGINS)
    try:
        if plugins is not None:
            await plugins.refresh()
    except AtlasError as error:  # the skill is there; only the list is old
        library.ctx.logger.warning("A changed list of skills could not be announced: %s", error)


async def _why_not_learned(
    library: Library, operations: Sequence[Operation], conversation: str, *, review: bool
) -> str:
    """Return why what would be written may not be: what the user had forgotten comes back in no skill.

    Not in its own words, unless they are said anew, and by a review not in others from where it had been said.
    """
    memory, conversations = library.ctx.services.get(MEMORY), library.ctx.services.get(CONVERSATIONS)
    if memory is None or conversations is None:
        return ""
    texts = [text for one in operations for text in (one.content, one.new_string, one.file_content) if text]
    path = await conversations.path(conversation, whole=True) if texts and review else ()
    for text in texts:
        if why := await memory.may_learn(text, conversation=conversation, review=review):
            return why
        if review and (why := await memory.may_learn_from(text, path)):
            return why
    return ""


async def _is_review(library: Library, conversation: str) -> bool:
    conversations = library.ctx.services.get(CONVERSATIONS)
    try:
        return conversations is not None and (await conversations.get(conversation)).origin.kind == "review"
    except NotFoundError:
        return False


def _said(done: Sequence[Done]) -> str:
    lines = [f"Skill {one.name} {one.how}." for one in done]
    if any(one.how == UPDATED for one in done):
        lines.append("What it held before is kept as a version.")
    # What is for the model alone has a line of its own: people are shown the first.
    return " ".join(lines) + "\nDo not repeat it."
