"""When a conversation is compacted: before a turn, within one, after one, and when the provider refused it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from atlas_compaction.watch import LAST_CALL, TRIMMED, TRIMMED_BY_COUNT
from atlas_sdk.commands import CommandHost, SlashCommand
from atlas_sdk.events import Noticed
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.instructions import Section
from atlas_sdk.manifest import Manifest
from atlas_sdk.messages import TextPart, unpaired
from atlas_sdk.providers import ModelReply, ModelRequest, ProviderError
from atlas_sdk.records import Checkpoint, Conversation, ModelCall, Origin, Turn
from atlas_sdk.services.conversations import ConversationDraft
from atlas_sdk.services.store import STORE

from .conftest import WINDOW, Brain, Open, Talk, World, calls, prompt, says, tokens

pytestmark = pytest.mark.anyio
LONG = "kettle " * 250
"""Nearly 450 tokens: seven of them fill the window of a test."""


async def filled(talk: Talk, *, turns: int = 8) -> None:
    """Talk until the threshold is reached and the compaction after the turn was put off."""
    for number in range(turns):
        await talk.say(f"Number {number}. {LONG}")
        if tokens(talk.brain.requests[-1]) >= WINDOW * 0.85:
            return
    raise AssertionError("the window was never filled")


async def checkpoints(talk: Talk) -> tuple[Checkpoint, ...]:
    found: tuple[Checkpoint, ...] = await talk.app.services.need(STORE).find(Checkpoint, conversation=talk.id)
    return found


async def notices(talk: Talk) -> list[str]:
    events = await talk.app.services.need(STORE).events(after=0, conversation=talk.id, limit=10_000)
    return [one.event.text for one in events if isinstance(one.event, Noticed)]


async def test_a_full_conversation_is_compacted_after_its_turn_and_the_chat_told(open_talk: Open, brain: Brain) -> None:
    async with open_talk() as talk:
        await filled(talk)
        await talk.settled()
        path = await talk.path()
        whole = await talk.path(whole=True)

        assert len(await checkpoints(talk)) == 1
        assert path[0].parts[1].text.endswith("They spoke of kettles.")  # type: ignore[union-attr]  # the summary
        assert path[-1].text() == "Done."
        assert len(whole) > len(path)
        assert await notices(talk) == [TRIMMED]


async def test_a_restart_finds_a_full_conversation_full_before_its_next_turn(open_talk: Open, brain: Brain) -> None:
    brain.summary = lambda request: says("")  # so that the one after the turn comes to nothing
    async with open_talk() as talk:
        await filled(talk)
        await talk.settled()
        id = talk.id
        assert await checkpoints(talk) == ()
    brain.summary = lambda request: says("They spoke of kettles.")
    async with open_talk(id) as talk:
        await talk.say("And now?")

        assert len(await checkpoints(talk)) == 1
        assert brain.requests[-1].messages[0].sender.name == "compaction"
        assert brain.requests[-1].messages[-1].text().endswith("And now?")


async def test_a_turn_that_needs_no_compaction_looks_at_nothing(open_talk: Open, brain: Brain) -> None:
    async with open_talk() as talk:
        await talk.say("Hi.")
        id = talk.id
    async with open_talk(id) as talk:
        await talk.say("Hi again.")
        await talk.say("And again.")
        await talk.settled()

        assert await checkpoints(talk) == ()
        assert brain.summaries == []


async def test_what_the_last_turn_took_is_found_without_a_scan(open_talk: Open, brain: Brain) -> None:
    async with open_talk() as talk:
        await talk.say("Hi.")
        plan = await talk.app.services.need(STORE).read(
            lambda reading: reading.rows("EXPLAIN QUERY PLAN " + LAST_CALL, since="a", until="b", id="c")
        )

        assert [row["detail"] for row in plan if "model_call" in row["detail"]] == [
            "SEARCH model_call USING INDEX model_call_of_time (started_at>? AND started_at<?)"
        ]


@pytest.mark.parametrize("most", [1, 2, 10])
async def test_a_conversation_of_more_messages_than_are_wanted_is_compacted_with_room_left(
    open_talk: Open, brain: Brain, most: int
) -> None:
    brain.listed = brain.window = 200_000
    async with open_talk(config=f"[compaction]\nmax_conversation_history = {most}\n") as talk:
        await talk.say("Always answer in French, please.")
        for number in range(12):
            await talk.say(f"Number {number}.")
        whole = await talk.path(whole=True)

        assert max(len(one.messages) for one in brain.requests) <= max(most, 2)  # a summary, and what was just said
        assert all("Always answer in French" in prompt(one) for one in brain.requests)
        assert len(await checkpoints(talk)) >= 12 // most
        assert len([one for one in whole if one.sender.kind == "person"]) == 13
        assert set(await notices(talk)) == {TRIMMED_BY_COUNT.format(most=most)}  # the window had room


class Changing:
    """Instructions that are other ones whenever they are asked for."""

    asked = 0

    @hookimpl
    def atlas_instructions(self) -> list[Section]:
        def text(conversation: Conversation) -> str:
            self.asked += 1
            return f"Asked {self.asked} times."

        return [Section(500, "changing", text)]


async def test_a_long_turn_is_compacted_between_its_calls_and_goes_on(
    atlas_app: Any, world: World, brain: Brain
) -> None:
    steps = 0

    def turn(request: ModelRequest) -> ModelReply:
        nonlocal steps
        steps += 1
        return calls(("look", json.dumps({"text": LONG}))) if steps < 20 else says("All looked at.")

    brain.turn = turn
    changing = Manifest(name="changing", source="bundled", module="changing", on=True)
    objects = {"world": world, "changing": Changing()}
    async with atlas_app("store", "compaction", objects=objects, manifests=[changing]) as app:
        made = await app.conversations.create(ConversationDraft(folder="/"))
        talk = Talk(app, made.id, world)
        path = await talk.say("Rule 1: never stop early. Look at it twenty times.")
        [ended] = await app.services.need(STORE).find(Turn)
        made_checkpoints = await checkpoints(talk)

    assert (ended.state, ended.error) == ("done", "")
    assert path[-1].text() == "All looked at."
    assert unpaired(path) == []
    assert len(made_checkpoints) >= 2
    assert steps == 20
    moved = [
        (before, after)
        for before, after in pairwise(brain.requests)
        if after.messages[: len(before.messages)] != before.messages
    ]
    assert len(moved) == len(made_checkpoints)
    for before, after in moved:
        assert "never stop early. Look at it twenty times." in prompt(after)
        assert after.instructions != before.instructions  # read anew at once, and then they stay
    same = [pair for pair in pairwise(brain.requests) if pair not in moved]
    assert all(before.instructions == after.instructions for before, after in same)


async def test_what_the_provider_finds_too_long_is_compacted_and_asked_once_more(open_talk: Open, brain: Brain) -> None:
    brain.listed = 100_000  # the model holds less than it is said to
    async with open_talk() as talk:
        for number in range(14):
            await talk.say(f"Number {number}. {LONG}")
        turns = await talk.app.services.need(STORE).find(Turn)

        assert {turn.state for turn in turns} == {"done"}
        assert len(await checkpoints(talk)) >= 1


async def test_a_request_still_too_long_after_a_compaction_ends_the_turn(open_talk: Open, brain: Brain) -> None:
    def turn(request: ModelRequest) -> ModelReply:
        if len(brain.requests) > 3:
            raise ProviderError("The prompt is too long.", kind="context")
        return says("Done.")

    brain.turn = turn
    async with open_talk() as talk:
        for number in range(4):
            await talk.say(f"Number {number}. {LONG}")
        turns = await talk.app.services.need(STORE).find(Turn)

        assert [turn.state for turn in turns] == ["done", "done", "done", "failed"]
        assert turns[-1].error == "The prompt is too long."
        assert len(brain.requests) == 5


class Knits:
    """A command that tells the model something, and counts how often it was run."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    @hookimpl
    def atlas_commands(self) -> list[SlashCommand]:
        async def run(text: str, host: CommandHost) -> str:
            self.ran.append(text)
            return "Do it so."

        return [SlashCommand("knit", "Knit.", run, prompts=True)]


async def test_a_command_that_began_the_turn_is_not_run_again(atlas_app: Any, world: World, brain: Brain) -> None:
    knits, refused = Knits(), [True]

    def turn(request: ModelRequest) -> ModelReply:
        if "Do it so." in request.messages[-1].text() and refused:
            refused.clear()
            raise ProviderError("The prompt is too long.", kind="context")
        return says("Knitted.")

    brain.turn = turn
    async with atlas_app("store", "compaction", objects={"world": world, "knits": knits}) as app:
        talk = Talk(app, (await app.conversations.create(ConversationDraft(folder="/"))).id, world)
        for number in range(3):
            await talk.say(f"Number {number}. {LONG}")
        path = await talk.say("/knit a scarf")
        made = await checkpoints(talk)

    assert len(made) == 1
    assert knits.ran == ["a scarf"]
    assert [message.text() for message in path[-3:]] == ["/knit a scarf", "Do it so.", "Knitted."]


async def test_a_review_copy_and_a_home_where_it_is_off_are_left_alone(open_talk: Open, world: World) -> None:
    async with open_talk(config="[compaction]\nenabled = false\n") as talk:
        await filled(talk)
        await talk.settled()

        assert await checkpoints(talk) == ()
    async with open_talk(config="") as talk:
        made = await talk.conversations.create(ConversationDraft(folder="/", origin=Origin(kind="review")))
        copy = Talk(talk.app, made.id, world)
        await filled(copy)
        await copy.settled()

        assert await checkpoints(copy) == ()


async def test_every_summary_is_in_the_books_and_bound_to_the_window(open_talk: Open, brain: Brain) -> None:
    async with open_talk() as talk:
        await filled(talk)
        await talk.settled()
        rows = await talk.app.services.need(STORE).find(ModelCall, purpose="compaction")

    assert len(rows) == len(brain.summaries) == 1
    assert rows[0].state == "done"
    assert rows[0].settings["effort"] == "medium"
    assert all(tokens(request) < WINDOW for request in brain.summaries)
    assert all(isinstance(part, TextPart) for message in brain.summaries[0].messages for part in message.parts)
