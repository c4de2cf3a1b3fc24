"""Reviews that Atlas ended under: each is gone on with where it stopped, and nothing of it is done or paid twice."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from atlas_review.counts import Due
from atlas_review.owed import Owed
from atlas_review.prompts import GO_ON
from atlas_review.review import MOST_CALLS
from atlas_review.reviews import REVIEWS
from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.messages import TextPart
from atlas_sdk.records import ModelCall
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, call

from .conftest import PERSON, PLUGINS, Model, OpenApp, copies, manage, memory, results, rounds, start, summaries, talk

pytestmark = pytest.mark.anyio
SKILL = "---\nname: brew\ndescription: How tea is made here.\n---\nWarm the pot.\n"
HUNG = Reply(text=("Hm",), idle_after=0)
TEA = memory(target="user", action="add", content="Likes tea.")


async def cut_short(app: Any, model: Model, *steps: Reply) -> str:
    """Have a review take these steps, and return once its next call hangs."""
    id = await start(app)
    await talk(app, model, id, 9)
    model.provider.add("Answer.", *steps, HUNG)
    asked = len(model.provider.requests) + 2 + len(steps)
    await app.services.need(CONVERSATIONS).send(id, [TextPart(text="Word 9.")], sender=PERSON)
    with anyio.fail_after(20):
        while len(model.provider.requests) < asked:
            await anyio.sleep(0.002)
    return id


async def done(app: Any) -> None:
    """Wait until nothing is owed any more."""
    with anyio.fail_after(20):
        while await Owed(app.services).all() or app.services.need(REVIEWS).under_review:
            await anyio.sleep(0.002)


async def test_it_goes_on_in_its_copy_and_writes_nothing_again(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await cut_short(app, model, TEA)
    asked = len(model.provider.requests)
    async with opened() as app:
        model.provider.add("Kept.")
        await done(app)
        told, made = await summaries(app, id), await copies(app)
        answers = await results(app)
        profile = (app.home.folder / "memory" / "USER.md").read_text("utf-8")

    request = model.provider.requests[-1]
    assert len(model.provider.requests) == asked + 1
    assert GO_ON in request.messages[-1].text()
    assert any("You are the background review" in one.text() for one in request.messages)
    assert profile == "Likes tea.\n"
    assert [one.line for one in told] == ["User profile updated"]
    assert told[0].changes[0]["diff"] == "+ Likes tea."
    assert (len(made), len(answers)) == (1, 1)


async def test_the_bill_has_each_of_its_calls_once(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await cut_short(app, model, TEA)
    async with opened() as app:
        model.provider.add("Kept.")
        await done(app)
        calls = await app.services.need(STORE).find(ModelCall, purpose="background_review")

    assert [one.state for one in calls] == ["done", "stopped", "done"]
    assert {one.conversation for one in calls} == {id}
    assert len(model.provider.requests) == 10 + len(calls)


async def test_its_budget_is_one_for_all_of_it(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await cut_short(app, model, TEA, *rounds(MOST_CALLS - 2))
    asked = len(model.provider.requests)
    async with opened() as app:
        await done(app)
        told = await summaries(app, id)

    assert len(model.provider.requests) == asked == 10 + MOST_CALLS
    assert [one.line for one in told] == ["User profile updated"]


async def test_a_skill_that_it_made_before_is_told_with_what_it_made_after(opened: OpenApp, model: Model) -> None:
    pour = SKILL.replace("brew", "pour").replace("tea is made", "coffee is poured").replace("Warm the pot", "Fold it")
    async with opened() as app:
        id = await cut_short(app, model, manage({"action": "create", "name": "brew", "content": SKILL}))
    async with opened() as app:
        model.provider.add(manage({"action": "create", "name": "pour", "content": pour}), "Kept.")
        await done(app)
        (told,) = await summaries(app, id)

    assert told.line == "Skill 'brew' created · Skill 'pour' created"
    assert told.changes[0]["diff"] == ""
    assert "+Fold it." in told.changes[1]["diff"]


async def test_what_it_loaded_before_it_may_change_after(opened: OpenApp, model: Model) -> None:
    patch = {"action": "patch", "name": "brew", "old_string": "Warm", "new_string": "Heat"}
    async with opened() as app:
        folder = app.home.folder / "skills" / "brew"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
        id = await cut_short(app, model, Reply(calls=(call("use_skill", {"name": "brew"}),)))
    async with opened() as app:
        model.provider.add(manage(patch), "Kept.")
        await done(app)
        (told,) = await summaries(app, id)

    assert told.line == "Skill 'brew' updated"


async def test_one_that_was_overtaken_is_told_and_a_new_copy_sees_all(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await cut_short(app, model, TEA)
    kept = ONE_COMMAND.set(True)  # a command takes up nothing, and goes on with the conversation
    try:
        async with opened() as app:
            await talk(app, model, id, 9)
            model.provider.add("Answer.", "Nothing to save.")
            await talk(app, model, id, 1)
            await done(app)
            told, made = await summaries(app, id), await copies(app)
    finally:
        ONE_COMMAND.reset(kept)

    assert [one.line for one in told] == ["User profile updated"]
    assert len(made) == 2


async def test_a_start_without_its_model_keeps_what_is_owed(atlas_app: OpenApp, opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        await talk(app, model, id, 1)
        await Owed(app.services).put(id, Due(memory=True))
    for _ in range(2):
        async with atlas_app(*PLUGINS) as app:
            await anyio.wait_all_tasks_blocked()
    async with opened() as app:
        model.provider.add(TEA, "Kept.")
        await done(app)

        assert len(await summaries(app, id)) == 1
        assert len(await copies(app)) == 1


async def test_one_that_cannot_be_done_is_tried_once_more_and_then_dropped(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        id = await start(app)
        await talk(app, model, id, 1)
        owed = Owed(app.services)
        await owed.put(id, Due(memory=True))
        await owed.failed(id)
        kept = await owed.all()
        await owed.failed(id)

        assert list(kept) == [id]
        assert await owed.all() == {}
