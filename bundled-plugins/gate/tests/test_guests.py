"""What a guest's conversation may do by itself, and what waits for the owner."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.records import Origin
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.questions import QUESTIONS, Answer
from atlas_sdk.testing.fake_provider import FakeProvider
from atlas_sdk.testing.model_script import Reply, call

pytestmark = pytest.mark.anyio
OpenApp = Callable[..., AbstractAsyncContextManager[Any]]
PLUGINS = ("store", "gate", "questions", "files", "shell")
GUEST = {"trust": "guest"}


class Model:
    """A plugin that brings a scripted model."""

    def __init__(self) -> None:
        self.provider = FakeProvider()

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]


class Talk:
    """A conversation of a channel's chat, in a folder beside the home."""

    def __init__(self, app: Any, model: Model, id: str) -> None:
        self.app, self.model, self.id = app, model, id
        self.conversations = app.services.need(CONVERSATIONS)

    @classmethod
    async def begin(cls, app: Any, model: Model, **more: Any) -> Talk:
        folder = Path(app.home.folder).parent / "work"
        folder.mkdir(exist_ok=True)
        origin = Origin(kind="channel", name="telegram", chat="1")
        draft = ConversationDraft(**{"folder": str(folder), "origin": origin, **more})
        return cls(app, model, (await app.services.need(CONVERSATIONS).create(draft)).id)

    async def say(self, text: str, **part: Any) -> None:
        await self.conversations.send(self.id, [TextPart(text=text, **part)], sender=Sender(kind="person", id="t:1"))
        with anyio.fail_after(20):
            await self.conversations.wait(self.id)

    async def calls(
        self, tool: str, arguments: dict[str, Any], *, choice: str = "deny", **part: Any
    ) -> tuple[str, str]:
        """Have the model call a tool, answer what is asked, and return the question and what the tool said."""
        self.model.provider.add(Reply(calls=(call(tool, arguments),)), "Well.")
        asked = ""
        questions = self.app.services.need(QUESTIONS)
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: self.say("Go on.", **part))
            with anyio.fail_after(20):
                while not await self.conversations.running(self.id):
                    await anyio.sleep(0.002)
                while await self.conversations.running(self.id):
                    for one in await questions.pending(self.id):
                        asked = one.title
                        await questions.answer(one.id, Answer(how="answered", choices=(choice,), by="Ada"))
                    await anyio.sleep(0.002)
        path = await self.conversations.path(self.id)
        (result,) = next(message for message in reversed(path) if message.role == "tool").parts
        return asked, result.content[0].text  # type: ignore[union-attr]


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def opened(atlas_app: OpenApp, model: Model) -> Callable[[], AbstractAsyncContextManager[Any]]:
    return lambda: atlas_app(*PLUGINS, objects={"model": model})


Opened = Callable[[], AbstractAsyncContextManager[Any]]


def soul(app: Any) -> Path:
    file = Path(app.home.folder) / "SOUL.md"
    file.write_text("You are Atlas.\n")
    return file


async def test_in_a_guests_conversation_no_file_of_the_home_is_read_or_written_unasked(
    opened: Opened, model: Model
) -> None:
    async with opened() as app:
        file, talk = soul(app), await Talk.begin(app, model)
        (file.parent / "skills" / "x").mkdir(parents=True)
        edit = {"path": str(file), "old_string": "You are Atlas", "new_string": "You are Gus' Atlas"}
        said = [
            await talk.calls("read_file", {"path": str(file)}, **GUEST),
            await talk.calls("edit_file", edit, **GUEST),
            await talk.calls("write_file", {"path": str(file.parent / "skills/x/SKILL.md"), "content": "x"}, **GUEST),
            await talk.calls("find_files", {"pattern": "Atlas", "path": str(file.parent)}),
            await talk.calls("run_command", {"command": f"cat {file}"}),
            await talk.calls("run_command", {"command": "atlas memory list"}),
            await talk.calls("run_command", {"command": "cat SOUL.md", "cwd": str(file.parent)}),
        ]

        assert file.read_text() == "You are Atlas.\n"
    assert all(asked for asked, _ in said)
    assert all(answered.startswith("Not run: the user refused it") for _, answered in said)


async def test_beside_the_home_a_guests_conversation_works_unasked(opened: Opened, model: Model) -> None:
    async with opened() as app:
        talk = await Talk.begin(app, model)
        said = [
            await talk.calls("write_file", {"path": "notes.txt", "content": "Tea."}, **GUEST),
            await talk.calls("run_command", {"command": "cat notes.txt"}, **GUEST),
            await talk.calls("find_files", {"pattern": "Tea"}, **GUEST),
        ]

    assert [asked for asked, _ in said] == ["", "", ""]
    assert "Tea." in said[1][1]


async def test_what_the_owner_allows_there_runs(opened: Opened, model: Model) -> None:
    async with opened() as app:
        file, talk = soul(app), await Talk.begin(app, model)
        asked, said = await talk.calls("read_file", {"path": str(file)}, choice="once", **GUEST)

    assert asked
    assert "You are Atlas." in said


async def test_without_a_guest_the_home_is_read_as_before(opened: Opened, model: Model) -> None:
    async with opened() as app:
        file, talk = soul(app), await Talk.begin(app, model)
        asked, said = await talk.calls("read_file", {"path": str(file)})

    assert (asked, "You are Atlas." in said) == ("", True)


async def test_a_helper_of_a_guests_conversation_is_held_to_the_same(opened: Opened, model: Model) -> None:
    async with opened() as app:
        file, talk = soul(app), await Talk.begin(app, model)
        model.provider.add("Hello.")
        await talk.say("Hi.", **GUEST)
        (first, *_) = await talk.conversations.path(talk.id)
        helper = await Talk.begin(app, model, origin=Origin(kind="subagent"), cause=first.id)
        asked, _ = await helper.calls("read_file", {"path": str(file)}, trust="agent")

    assert asked


async def test_a_yes_from_before_the_guest_came_does_not_hold_for_the_guest(opened: Opened, model: Model) -> None:
    command = {"command": "gh pr close 1"}
    async with opened() as app:
        talk = await Talk.begin(app, model)
        first, _ = await talk.calls("run_command", command, choice="conversation")
        again, _ = await talk.calls("run_command", command)
        guests, _ = await talk.calls("run_command", command, **GUEST)

    assert first
    assert not again
    assert guests
