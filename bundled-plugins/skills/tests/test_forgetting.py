"""Forgetting takes a text out of skills and leaves each skill one that can be used."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from atlas_sdk.front_matter import split
from atlas_sdk.homes import Home
from atlas_sdk.phrase import FORGOTTEN, Phrase
from atlas_sdk.services.home import HOME
from atlas_sdk.testing.fake_context import FakeClock
from atlas_skills.forgetting import without
from atlas_skills.skill import of_home

from .conftest import PLUGINS, Model, ask, turn
from .test_manage import OpenApp, manage, of_kind, opened

pytestmark = pytest.mark.anyio
WORD = "kettlefish"


@pytest.mark.parametrize(
    ("front", "left"),
    [
        (f"name: tea\ndescription: {WORD} and tea", "name: tea\ndescription: (forgotten) and tea"),
        (f"name: tea\ndescription: The {WORD} and tea", "name: tea\ndescription: The (forgotten) and tea"),
        (f"name: {WORD}\ndescription: The {WORD}", f"name: {WORD}\ndescription: The (forgotten)"),
        (f"name: tea\n{WORD}: yes\ndescription: x", f"name: tea\n{WORD}: yes\ndescription: x"),
        (f"name: tea\ntags: [{WORD}, b]", "name: tea\ntags: [(forgotten), b]"),
        (f"name: tea\ntags:\n  - {WORD}\n  - b", "name: tea\ntags:\n  - (forgotten)\n  - b"),
        (f"name: tea\ndescription: |\n  {WORD}\n  too", "name: tea\ndescription: |\n  (forgotten)\n  too"),
        (f"name: '{WORD}'\ndescription: '{WORD}'", f"name: '{WORD}'\ndescription: '(forgotten)'"),
        (f"description: x # {WORD}", "description: x # (forgotten)"),
    ],
)
def test_front_matter_stays_what_it_is(front: str, left: str) -> None:
    said = f"---\n{front}\n---\nAsk the {WORD}.\n"
    after = without(said, Phrase(WORD))

    assert after == f"---\n{left}\n---\nAsk the {FORGOTTEN}.\n"
    assert split(after)[0].keys() == split(said)[0].keys()


def test_a_switch_is_no_text() -> None:
    said = "---\nname: tea\ndisable-model-invocation: true\n---\nIt is true.\n"

    assert without(said, Phrase("true")) == said.replace("It is true", f"It is {FORGOTTEN}")


async def test_a_skill_called_so_stays_and_is_named(
    atlas_app: OpenApp, model: Model, put: Callable[..., Path], atlas_home: Home
) -> None:
    file = put(WORD, f"Ask the {WORD}.")
    async with opened(atlas_app, model) as app:
        added = app.services.need(HOME).added("atlas_forgetters")
        (forgetter,) = [one.item for one in added if one.plugin == "skills"]
        traces = await forgetter.find(WORD)
        await forgetter.erase(WORD, [trace for trace in traces if not trace.stays])
        again = await forgetter.find(WORD)

    assert [(trace.where, bool(trace.stays)) for trace in traces] == [
        (f"skills/{WORD}/SKILL.md", False),
        (f"skills/{WORD}/SKILL.md", True),
        (f"the name skills/{WORD}", True),
    ]
    assert [trace.stays for trace in again] == [trace.stays for trace in traces if trace.stays]
    assert of_home(file.parent).why == ""
    assert FORGOTTEN in file.read_text("utf-8")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")
async def test_a_pipe_as_a_skill_is_not_waited_for(
    atlas_app: OpenApp, model: Model, put: Callable[..., Path], atlas_home: Home
) -> None:
    put("tea")
    folder = atlas_home.folder / "skills" / "pipe"
    folder.mkdir()
    os.mkfifo(folder / "SKILL.md")
    os.mkfifo(folder / ".atlas.json")
    os.mkfifo(atlas_home.folder / "skills" / "tea" / "pipe.txt")
    with anyio.fail_after(20):
        async with opened(atlas_app, model) as app:
            found = {row["name"]: row["why"] for row in (await ask(app, "skills.list"))["skills"]}
            added = app.services.need(HOME).added("atlas_forgetters")
            (forgetter,) = [one.item for one in added if one.plugin == "skills"]
            traces = await forgetter.find("do it well")

    assert found["tea"] == ""
    assert "it is no file" in found["pipe"]
    assert [trace.where for trace in traces] == ["skills/tea/SKILL.md"]


async def test_a_review_brings_nothing_back_that_was_forgotten(
    atlas_app: OpenApp, model: Model, put: Callable[..., Path]
) -> None:
    put("tea", "Do it well.")
    patch = {"action": "patch", "name": "tea", "old_string": "well", "new_string": f"as the {WORD} has it"}
    async with atlas_app(*PLUGINS, "memory", objects={"model": model}) as app:
        await ask(app, "memory.forget", text=WORD)
        review = await manage(app, model, patch, conversation=await of_kind(app, "review"))
        asked = await manage(app, model, patch)

    assert "had this forgotten" in review
    assert "Skill tea updated." in asked


async def test_where_it_had_been_said_no_skill_brings_it_back_unless_it_is_said_anew(
    atlas_app: OpenApp, model: Model, put: Callable[..., Path], atlas_clock: FakeClock
) -> None:
    put("tea", "Do it well.")
    patch = {"action": "patch", "name": "tea", "old_string": "well", "new_string": f"as the {WORD} has it"}
    async with atlas_app(*PLUGINS, "memory", objects={"model": model}) as app:
        here = await of_kind(app, "client")
        model.provider.add("I see.")
        await turn(app, here, f"The {WORD} makes tea.")
        await ask(app, "memory.forget", text=WORD, conversations=True)
        unasked = await manage(app, model, patch, conversation=here)
        atlas_clock.advance(seconds=60)
        model.provider.add("I see.")
        await turn(app, here, f"As the {WORD} has it, please.")
        asked = await manage(app, model, patch, conversation=here)

    assert "had this forgotten" in unasked
    assert "Skill tea updated." in asked
