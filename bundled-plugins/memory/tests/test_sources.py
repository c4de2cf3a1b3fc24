"""What was forgotten is not learned again in other words: a review takes nothing from where it had been said."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_memory.entries import Operation
from atlas_memory.places import USER
from atlas_sdk.forks import forked
from atlas_sdk.records import Conversation, Origin
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, call

from .conftest import PLUGINS, Model, OpenApp, ask, remember, slot_of, start, turn

pytestmark = pytest.mark.anyio
SAID = "I collect whistling kettles made of brass, some forty of them by now."
PARAPHRASE = "Owns about forty singing water boilers."


def add(text: str) -> dict[str, Any]:
    return {"target": "user", "action": "add", "content": text}


async def review(app: Any, model: Model, conversation: str, text: str) -> str:
    """Have a review of a conversation, as it stands, add a text; return what it was told."""
    of = await app.services.need(CONVERSATIONS).get(conversation)
    made, records = forked(of, (), origin=Origin(kind="review"), now=slot_of(app).ctx.clock.now())
    await app.services.need(STORE).commit(records)
    return await remember(app, model, add(text), made.id)


async def talk(app: Any, model: Model, conversation: str, *texts: str) -> None:
    for text in texts:
        model.provider.add("I see.")
        slot_of(app).ctx.clock.advance(minutes=1)
        await turn(app, conversation, text)
    slot_of(app).ctx.clock.advance(minutes=1)


@pytest.mark.parametrize("conversations", [False, True])
async def test_a_paraphrase_from_the_same_conversation_waits_and_says_why(
    opened: OpenApp, model: Model, conversations: bool
) -> None:
    async with opened() as app:
        id = await start(app)
        await talk(app, model, id, SAID)
        first = await review(app, model, id, "Collects brass kettles.")
        for text in ("Collects brass kettles.", "kettles"):
            await ask(app, "memory.forget", text=text, conversations=conversations)
        await talk(app, model, id, "Let us speak of the garden instead.")
        again = await review(app, model, id, PARAPHRASE)
        known = await slot_of(app).known()
        (proposal,) = (await ask(app, "memory.proposals"))["proposals"]

    assert first.startswith("Applied 1")
    assert again.startswith("Proposed, not applied")
    assert "was forgotten, and this was not said in it since" in again
    assert known == ()
    assert proposal["note"].startswith("Something of this conversation was forgotten")


async def test_a_fact_that_only_a_review_had_put_so_is_bound_to_what_it_had_read(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        await talk(app, model, id, SAID)
        await review(app, model, id, PARAPHRASE)
        (known,) = (await ask(app, "memory.list"))["known"]
        await ask(app, "memory.forget", text=known["id"])
        again = await review(app, model, id, "Collects brass kettles.")

    assert again.startswith("Proposed, not applied")


async def test_a_conversation_is_bound_that_taught_it_without_its_words(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        await talk(app, model, id, SAID)
        # As an approval books it: the call that had its words was of a review, which may be gone.
        await slot_of(app).notes.write(USER, [Operation("add", PARAPHRASE)], conversation=id)
        (known,) = (await ask(app, "memory.list"))["known"]
        await ask(app, "memory.forget", text=known["id"])
        again = await review(app, model, id, "Collects brass kettles.")

    assert again.startswith("Proposed, not applied")


async def test_one_where_it_was_said_stays_so_when_more_is_forgotten_that_it_only_knew(
    opened: OpenApp, model: Model
) -> None:
    async with opened() as app:
        id = await start(app)
        await talk(app, model, id, SAID)
        await ask(app, "memory.forget", text="kettles", conversations=True)
        await slot_of(app).sources.put([], slot_of(app).ctx.clock.now(), told=[id])
        again = await review(app, model, id, "Collects whistling things made of brass, some forty.")

    assert again.startswith("Proposed, not applied")


async def test_some_of_its_words_said_since_about_other_things_do_not_free_it(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        await talk(app, model, id, SAID)
        await ask(app, "memory.forget", text="kettles", conversations=False)
        await talk(app, model, id, "In the hall stand brass lamps, forty candles and two kettles.")
        again = await review(app, model, id, "Collects brass kettles, forty of them.")

    assert again.startswith("Proposed, not applied")


async def test_what_is_said_since_and_what_is_said_elsewhere_is_learned(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id, other = await start(app), await start(app)
        await talk(app, model, id, SAID)
        await ask(app, "memory.forget", text="kettles", conversations=False)
        await talk(app, model, id, "My garden has roses and a pond with carps.")
        await talk(app, model, other, "I play the cello in an orchestra.")
        since = await review(app, model, id, "Has roses and carps in the garden.")
        elsewhere = await review(app, model, other, "Plays cello in an orchestra.")

    assert since.startswith("Applied 1")
    assert elsewhere.startswith("Applied 1")


async def test_a_conversation_that_goes_on_from_there_is_bound_as_well(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        await talk(app, model, id, SAID)
        await ask(app, "memory.forget", text="kettles", conversations=True)
        store = app.services.need(STORE)
        of = await store.get(Conversation, id)
        made, records = forked(of, (), origin=Origin(), now=slot_of(app).ctx.clock.now())
        await store.commit(records)
        again = await review(app, model, made.id, PARAPHRASE)

    assert again.startswith("Proposed, not applied")


async def test_what_only_the_agent_repeated_elsewhere_teaches_it_no_more(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        first = await start(app)
        await remember(app, model, add("Daughter Noor lives in Porto."), first)
        other = await start(app)
        model.provider.add("You could visit your daughter: Noor is in Porto, close by.")
        await turn(app, other, "Where shall I go on holiday in Portugal? I like walking along rivers.")
        (known,) = (await ask(app, "memory.list"))["known"]
        await ask(app, "memory.forget", text=known["id"])
        slot_of(app).ctx.clock.advance(minutes=1)
        again = await review(app, model, other, "Has a daughter, Noor, in Porto.")
        theirs = await review(app, model, other, "Likes walking along rivers.")

    assert again.startswith("Proposed, not applied")
    assert theirs.startswith("Applied 1")


async def test_a_review_writes_no_skill_of_it_in_other_words(atlas_app: OpenApp, model: Model) -> None:
    skill = "---\nname: boilers\ndescription: What to know of the boilers at tea.\n---\nOwns forty singing boilers.\n"
    async with atlas_app(*PLUGINS, "skills", objects={"model": model}) as app:
        id = await start(app)
        await talk(app, model, id, SAID)
        await ask(app, "memory.forget", text="kettles", conversations=True)
        slot_of(app).ctx.clock.advance(minutes=1)
        of = await app.services.need(CONVERSATIONS).get(id)
        made, records = forked(of, (), origin=Origin(kind="review"), now=slot_of(app).ctx.clock.now())
        await app.services.need(STORE).commit(records)
        create = {"action": "create", "name": "boilers", "content": skill}
        model.provider.add(Reply(calls=(call("skill_manage", {"operations": [create]}),)), "Done.")
        path = await turn(app, made.id, "Review it.")
        (result,) = path[-2].parts

    assert "Something of this conversation was forgotten" in result.model_dump_json()
    assert not (app.home.folder / "skills" / "boilers").exists()
