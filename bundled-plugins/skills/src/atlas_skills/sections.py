"""The sections of the instructions: which skills there are, and how they are kept.

They are asked for when a conversation begins and after a compaction, and stay as they are in between. Both times it is
known which model answers, so the list takes its share of that model's window.
"""

from __future__ import annotations

from atlas_sdk.errors import AtlasError
from atlas_sdk.instructions import Section
from atlas_sdk.records import Conversation
from atlas_sdk.services.models import MODELS
from atlas_sdk.values import whole_text

from .library import Library
from .listing import USUAL_WINDOW, budget_chars, listing

ORDER = 220  # among the tools' rules
LEARN = """When a task taught you how it is done here (a correction, a workaround, steps that took several tries), \
keep it with skill_manage: patch the skill you used, else one for that kind of task, else make one named for the kind \
of task. Procedures belong in skills, facts in memory."""


def skills(library: Library) -> Section:
    """Return the section that lists what ``use_skill`` loads: a bot's own first, then everybody's."""

    async def text(conversation: Conversation) -> str:
        bot = await library.bot_of(conversation.id)
        listed = (*library.own(bot), *(skill for skill in library.listed(bot) if skill.bot != bot or not bot))
        if not listed:
            return ""
        told = listing(listed, budget=budget_chars(await _window(library, conversation)))
        # What a plugin says of its skills stands before every conversation: it is to be text.
        return f"Skills that use_skill loads:\n{whole_text(told)}"

    return Section(ORDER, "skills-there-are", text)


def how_to() -> Section:
    """Return the section on how skills are kept."""
    return Section(350, "skills", lambda conversation: LEARN)


async def _window(library: Library, conversation: Conversation) -> int:
    """Return the window of the model that answers, in tokens; a usual one where no model can be asked."""
    models = library.ctx.services.get(MODELS)
    try:
        if models is not None:
            return (await models.choose(conversation.provider, conversation.model))[1].context_window or USUAL_WINDOW
    except AtlasError:  # the turn says what is wrong with the model
        pass
    return USUAL_WINDOW
