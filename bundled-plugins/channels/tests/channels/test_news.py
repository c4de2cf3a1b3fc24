"""What happened beside the answer: notices, and what a background review kept."""

from __future__ import annotations

import pytest

from atlas_sdk.events import Noticed, ReviewEnded
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.events import EVENTS
from atlas_sdk.testing.fakes import FakeFileChannel

from .conftest import Open, World, let_in, replies

pytestmark = pytest.mark.anyio
TRIMMED = "Trimmed older conversation history to stay within the context window."


async def test_a_notice_and_a_reviews_line_with_its_diff_reach_the_chat_once(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("Hello.")
    changes = (
        {"kind": "profile", "name": "USER.md", "diff": "+ Likes tea."},
        {"kind": "proposal", "name": "MEMORY.md", "proposal": "p1"},
        {"kind": "skill", "name": "report", "diff": "\n".join(f"+ step {number}" for number in range(40))},
    )
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Hi.")
        await channel.until_shown("ada", "Hello.")
        (conversation,) = await app.services.need(CONVERSATIONS).list()
        await app.services.need(EVENTS).announce(
            Noticed(conversation=conversation.id, text=TRIMMED),
            Noticed(text="For the home."),
            ReviewEnded(conversation=conversation.id, line="User profile updated", changes=changes),
        )
        await channel.until_shown("ada", "User profile updated")
    async with open_home():
        pass

    _, notice, review = replies(channel)
    assert notice == TRIMMED
    assert review.startswith("User profile updated\nUSER.md:\n```\n+ Likes tea.\n```\n")
    assert (
        "MEMORY.md waits for you.\nApprove it: atlas memory approve p1\nDiscard it: atlas memory discard p1" in review
    )
    assert "+ step 10" in review
    assert "…" in review
    assert "+ step 11" not in review


async def test_what_happens_in_a_conversation_the_chat_has_left_is_not_told_there(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("Hello.", "Hello anew.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Hi.")
        await channel.until_shown("ada", "Hello.")
        (left,) = await app.services.need(CONVERSATIONS).list()
        await channel.says("/new Hi.")
        await channel.until_shown("ada", "Hello anew.")
        await app.services.need(EVENTS).announce(Noticed(conversation=left.id, text=TRIMMED))
        await channel.says("/stop")
        await channel.until_shown("ada", "Nothing is running.")

    assert TRIMMED not in replies(channel)
