"""Skills from the folder to the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.homes import Home
from atlas_sdk.messages import TextPart
from atlas_sdk.providers import ModelInfo
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationChange, ConversationDraft
from atlas_sdk.services.retirements import RETIREMENTS
from atlas_sdk.services.skills import SKILLS
from atlas_sdk.skills import SkillSource
from atlas_sdk.testing.conformance.tool import check_tool
from atlas_sdk.testing.fake_context import FakeContext
from atlas_sdk.testing.fake_hosts import FakeToolHost
from atlas_sdk.testing.model_script import Reply, call
from atlas_skills.cli import skills as skills_command
from atlas_skills.listing import USUAL_WINDOW, budget_chars, listing
from atlas_skills.skill import Skill
from atlas_skills.use_skill import retired_command, use_skill

from .conftest import PLUGINS, Model, Video, library_of, listed, start, turn

pytestmark = pytest.mark.anyio
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
Put = Callable[..., Path]


def opened(atlas_app: OpenApp, model: Model, **more: Any) -> AbstractAsyncContextManager[Any]:
    return atlas_app(*PLUGINS, objects={"model": model, **more})


async def test_the_model_reads_a_list_and_loads_what_it_wants(atlas_app: OpenApp, model: Model, put: Put) -> None:
    file = put("brew", "Warm the pot. Then: $ARGUMENTS")
    (file.parent / "scripts").mkdir()
    (file.parent / "scripts" / "timer.py").write_text("")
    model.provider.add(Reply(calls=(call("use_skill", {"name": "brew", "arguments": "oolong"}),)), "Brewed.")
    async with opened(atlas_app, model) as app:
        path = await turn(app, await start(app), "Make tea.")

    assert "use_skill" in [tool.name for tool in model.provider.requests[0].tools]
    assert "- brew: How to brew." in listed(model.provider.requests[0])
    (result,) = path[-2].parts
    (text,) = result.content
    assert text.trust == "agent"
    assert text.text.endswith("Warm the pot. Then: oolong")
    assert f"Its folder: {file.parent}\n" in text.text
    assert "scripts/timer.py" in text.text


async def test_without_a_skill_there_is_no_tool(atlas_app: OpenApp, model: Model) -> None:
    async with opened(atlas_app, model) as app:
        await turn(app, await start(app), "Make tea.")

    assert "use_skill" not in [tool.name for tool in model.provider.requests[0].tools]


async def test_a_slash_command_puts_the_skill_behind_the_words(atlas_app: OpenApp, model: Model, put: Put) -> None:
    put("brew")
    source = SkillSource("video:render", "Render.", put("render", "Render it all."))
    async with opened(atlas_app, model, video=Video(source)) as app:
        conversation = await start(app)
        await turn(app, conversation, "/brew for two")
        path = await turn(app, conversation, "/video:render")

    said = [message.text() for message in path if message.sender.kind == "notice"]
    assert said[0].endswith("Do it well.\n\nARGUMENTS: for two")
    assert said[1].endswith("Render it all.")
    assert path[0].text().endswith("/brew for two")


async def test_a_skill_that_comes_between_turns_moves_no_prefix(atlas_app: OpenApp, model: Model, put: Put) -> None:
    put("brew")
    model.provider.add("One.", Reply(calls=(call("use_skill", {"name": "bake"}),)), "Two.", "Three.")
    async with opened(atlas_app, model) as app:
        conversation = await start(app)
        await turn(app, conversation, "Hello.")
        put("bake", "Heat the oven.")
        path = await turn(app, conversation, "Bake.")
        await turn(app, await start(app), "Hello.")

    first, second, third, fresh = model.provider.requests
    assert (first.instructions, first.tools) == (second.instructions, second.tools) == (third.instructions, third.tools)
    assert "Heat the oven." in path[-2].parts[0].content[0].text
    assert "- bake: How to bake." in listed(fresh)


async def test_a_skill_that_came_just_now_is_there_for_a_conversation_that_begins(
    atlas_app: OpenApp, model: Model, put: Put
) -> None:
    put("brew")
    async with opened(atlas_app, model) as app:
        put("bake", "Heat the oven.")
        model.provider.add("Done.")
        path = await turn(app, await start(app), "/bake bread")

    assert "- bake: How to bake." in listed(model.provider.requests[0])
    assert "Heat the oven.\n\nARGUMENTS: bread" in model.provider.requests[0].messages[-1].text()
    assert [message.sender.kind for message in path] == ["person", "notice", "agent"]


async def test_broken_skills_say_why(atlas_context: FakeContext, put: Put) -> None:
    put("brew")
    put("Big Name", front="name: Also Bad\n")
    put("silent", text="")
    put("torn").write_bytes(b"\xff\xfe")
    put("open").write_text("---\nname: open\n")
    put("double", front="name: brew\n")
    (atlas_context.home / "skills" / "empty").mkdir()
    (atlas_context.home / "skills" / ".versions").mkdir()
    library = await library_of(atlas_context)

    rows = {(row.name, Path(row.folder).name): row.why for row in await library.list()}

    assert rows.pop(("brew", "brew")) == ""
    assert "lowercase" in rows.pop(("Big Name", "Big Name"))
    assert "says nothing" in rows.pop(("silent", "silent"))
    assert "UTF-8" in rows.pop(("torn", "torn"))
    assert "does not end" in rows.pop(("open", "open"))
    assert "same name" in rows.pop(("brew", "double"))
    assert "There is no SKILL.md" in rows.pop(("empty", "empty"))
    assert not rows
    with pytest.raises(MisuseError, match="cannot be used"):
        await library.use("silent")
    with pytest.raises(NotFoundError, match=r"Those there are: brew\."):
        await library.use("brow")


class Retired:
    """The marketplace's word on what it stopped."""

    def sentences(self, kind: str) -> dict[str, str]:
        why = "The marketplace retired {}, and it was stopped here: It leaked."
        return {name: why.format(name) for name in ("tips", "mine")} if kind == "skill" else {}


async def test_a_retired_skill_says_so_until_another_has_its_name(atlas_context: FakeContext, put: Put) -> None:
    retired: Any = Retired()
    atlas_context.services.offer(RETIREMENTS.by(retired))
    put("mine", front="description: Mine.\n")
    library = await library_of(atlas_context)
    host: Any = FakeToolHost(atlas_context.home)
    with pytest.raises(NotFoundError, match=r"retired tips, .* It leaked\."):
        await library.use("tips")
    assert "Do it well." in await library.use("mine")
    assert list(library.retired()) == ["tips"]
    command = retired_command(library, "tips")
    with pytest.raises(NotFoundError, match="retired tips"):
        await command.run("", host)


async def test_who_may_call_a_skill_is_kept(atlas_context: FakeContext, put: Put, tmp_path: Path) -> None:
    put("mine", front="description: Mine.\ndisable-model-invocation: true\n")
    put("its", front="description: Its.\nuser-invocable: false\nmetadata:\n  origin: agent\n")
    library = await library_of(atlas_context)
    await library.look()
    tool = use_skill(library)

    assert [skill.name for skill in library.listed()] == ["its"]
    assert [skill.name for skill in library.invocable()] == ["mine"]
    assert {row.name: row.origin for row in await library.list()} == {"its": "agent", "mine": "user"}
    await check_tool(tool, {"name": "its"})
    from atlas_sdk.testing.fake_hosts import FakeToolHost
    from atlas_sdk.tools import ToolError

    with pytest.raises(ToolError, match="only the user"):
        await tool.run({"name": "mine"}, FakeToolHost(tmp_path))
    with pytest.raises(ToolError, match="Those there are: its, mine"):
        await tool.run({"name": "nothing"}, FakeToolHost(tmp_path))


async def test_a_command_of_a_plugin_takes_numbered_arguments(atlas_context: FakeContext, tmp_path: Path) -> None:
    from atlas_skills.instructions import instructions

    command = Skill("git:fix", "", tmp_path / "fix.md")
    skill = Skill("fix", "", tmp_path / "SKILL.md")

    assert instructions(command, "Fix $1 in $2.", "'a b' c", plugin_folder=None).endswith("Fix a b in c.")
    assert instructions(skill, "awk '{print $1}'", "x", plugin_folder=None).endswith("$1}'\n\nARGUMENTS: x")
    assert instructions(skill, "$ARGUMENTS[1]${CLAUDE_PLUGIN_ROOT}", "x y", plugin_folder=tmp_path).endswith(
        f"y{tmp_path}"
    )


def many(count: int) -> list[Skill]:
    return [Skill(f"skill-{number:03}", "What it is for. " * 20, Path("SKILL.md")) for number in range(count)]


def test_every_name_is_listed_however_many_there_are() -> None:
    text = listing(many(300), budget=budget_chars(USUAL_WINDOW))

    assert all(f"- {skill.name}" in text for skill in many(300))
    assert len(text) <= 5_120
    first = text.splitlines()[0]
    assert len(first) <= len("- skill-000: ") + 60
    assert first.endswith("…")


@pytest.mark.parametrize(("window", "described"), [(32_000, 1), (128_000, 60), (1_000_000, 100)])
async def test_the_list_takes_its_share_of_the_window_of_the_conversations_model(
    atlas_app: OpenApp, put: Put, window: int, described: int
) -> None:
    for number in range(100):
        put(f"skill-{number:03}", front=f"description: {'What it is for. ' * 20}\n")
    usual, mine = ModelInfo("usual", default=True), ModelInfo("mine", context_window=window)
    model = Model()
    model.provider.models = (usual, mine)
    async with opened(atlas_app, model) as app:
        draft = ConversationDraft(folder=str(app.home.folder), provider="fake", model="mine")
        await turn(app, (await app.services.need(CONVERSATIONS).create(draft)).id, "Hello.")

    lines = [line for line in listed(model.provider.requests[0]).splitlines() if line.startswith("- skill-")]
    assert len(lines) == 100
    assert abs(sum(":" in line for line in lines) - described) <= 5
    assert sum(len(line) + 1 for line in lines) <= max(budget_chars(window), 100 * len("- skill-000 "))


async def test_another_model_moves_no_list_until_the_conversation_is_summed_up(atlas_app: OpenApp, put: Put) -> None:
    for number in range(100):
        put(f"skill-{number:03}", front=f"description: {'What it is for. ' * 20}\n")
    model = Model()
    model.provider.models = (ModelInfo("small", default=True, context_window=32_000), ModelInfo("large"))
    async with opened(atlas_app, model) as app:
        conversations, conversation = app.services.need(CONVERSATIONS), await start(app)
        await turn(app, conversation, "Hello.")
        await conversations.change(conversation, ConversationChange(model="large"))
        path = await turn(app, conversation, "Hello again.")
        await conversations.compact(conversation, last=path[-1].id, summary=[TextPart(text="We greeted.")])
        await turn(app, conversation, "And again.")

    first, second, third = model.provider.requests
    assert (first.model, second.model) == ("small", "large")
    assert first.tools == second.tools
    assert "- skill-000: What it is for." in listed(third)
    assert len(listed(third)) > len(listed(first))


async def test_a_description_with_half_a_character_is_told_whole(atlas_app: OpenApp, model: Model, put: Put) -> None:
    source = SkillSource("video:render", "Render \ud800 it.", put("render"))
    async with opened(atlas_app, model, video=Video(source)) as app:
        await turn(app, await start(app), "Hello.")

    assert "- video:render: Render \ufffd it." in listed(model.provider.requests[0])


async def test_the_list_tells_who_made_each(
    atlas_app: OpenApp, model: Model, put: Put, atlas_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("brew")
    put("torn").write_bytes(b"\xff")
    async with opened(atlas_app, model) as app:
        rows = [row.model_dump(mode="json") for row in await app.services.need(SKILLS).list()]
        rows[0]["edited_copy"] = True

    class Terminal:
        def connect(self) -> Terminal:
            return self

        def __enter__(self) -> Terminal:
            return self

        def __exit__(self, *error: object) -> None:
            return None

        def request(self, method: str) -> dict[str, Any]:
            assert method == "skills.list"
            return {"skills": rows}

    app = typer.Typer()
    app.add_typer(skills_command, name="skills")
    shown = CliRunner().invoke(app, ["skills", "list"], obj=Terminal()).stdout
    printed = CliRunner().invoke(app, ["skills", "list", "--json"], obj=Terminal()).stdout

    assert "brew  user         never used" in shown
    assert shown.count("edited copy of what Atlas ships; ") == 1
    assert "cannot be used: SKILL.md is not UTF-8 text." in shown
    assert json.loads(printed) == rows
