"""A plugin that is wanted and not on: doctor and the next turn say so, and what is therefore not in force."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from atlas_console.absence import not_in_force, why_absent
from atlas_console.near_command import near_command
from atlas_kernel.app import open_app
from atlas_kernel.discovery import Found, discover
from atlas_sdk.consent import digest
from atlas_sdk.events import Noticed
from atlas_sdk.homes import Home
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.services.conversations import ConversationDraft
from atlas_sdk.services.plugins import PLUGINS, PluginRow
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_provider import FakeProvider

pytestmark = pytest.mark.anyio
ON = ("store", "gate", "questions", "console", "folder-format")
MODEL = Manifest("model", source="bundled", module="model", on=True, providers=("*",))


class Model:
    """The plugin of the scripted model."""

    def __init__(self) -> None:
        self.provider = FakeProvider(["Yes."] * 3)

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.provider]


def tidy(home: Path, *events: str) -> Path:
    """Write the folder ``tidy`` into a home: a command and these hooks."""
    folder = home / "plugins" / "tidy"
    (folder / "hooks").mkdir(parents=True, exist_ok=True)
    (folder / "commands").mkdir(exist_ok=True)
    (folder / "commands" / "greet.md").write_text("---\ndescription: Greets.\n---\nGreet $1.\n")
    hooks = {event: [{"hooks": [{"type": "command", "command": "true"}]}] for event in events}
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    return folder


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def opened(atlas_home: Home, model: Model) -> Callable[..., AbstractAsyncContextManager[Any]]:
    """Open the home with the folder's manifest as it is read at that moment."""

    def opened(manifest: Manifest) -> AbstractAsyncContextManager[Any]:
        known = {name: one for name, one in discover().manifests.items() if name in ON}
        found = Found({**known, "model": MODEL, "tidy": manifest}, {})
        return open_app(atlas_home, environ={}, found=found, objects={"model": model})

    return opened


async def heard(app: Any, conversation: str, text: str) -> list[str]:
    """Say something, and return the notices of the conversation up to then."""
    await app.conversations.send(conversation, [TextPart(text=text)], sender=Sender(kind="person", id="owner"))
    await app.conversations.wait(conversation)
    events = await app.services.need(STORE).events(after=0)
    return [one.event.text for one in events if isinstance(one.event, Noticed)]


def row(state: Any, why: str = "", **more: Any) -> PluginRow:
    return PluginRow(name="tidy", version="1", description="", source="folder", state=state, why=why, **more)


def test_a_plugin_that_waits_is_told_with_the_way_out_and_its_hooks() -> None:
    waits = row("waiting", declares={"hook_commands": ["PreToolUse (Bash): check", "Stop: sweep"]})

    assert why_absent(waits) == (
        "tidy waits for your consent: atlas plugins enable tidy. Its hooks on PreToolUse and Stop are not in force."
    )


def test_a_plugin_is_named_once() -> None:
    assert why_absent(row("broken", "The plugin tidy failed.")) == "The plugin tidy failed."
    assert why_absent(row("broken", "It raised.")) == "tidy: It raised."


def test_what_is_not_in_force_is_what_was_agreed_to() -> None:
    broke = row("broken", agreed={"hooks": ["PreToolUse"], "tools": ["sweep"]}, declares={"hooks": ["Stop"]})

    assert not_in_force(broke) == ["Its hook on PreToolUse is not in force.", "Its tool sweep is not there."]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/tidy2:gret Ada", ("tidy2:gret", "tidy2:greet")),
        ("/stretch", ("stretch", "stretch:stretch")),
        ("/relaese-notes", ("relaese-notes", "release-notes")),
        ("/tidy2:greet Ada", None),
        ("/etc/hosts is what?", None),
        ("/etc", None),
        ("/", None),
        ("tidy2:gret", None),
    ],
)
def test_a_slip_in_a_command_is_told_from_other_text(typed: str, meant: tuple[str, str] | None) -> None:
    assert near_command(typed, ["tidy2:greet", "stretch:stretch", "release-notes"]) == meant


async def test_the_next_turn_says_once_that_a_plugin_waits_again(opened: Any, atlas_home: Any) -> None:
    manifest = read_manifest(tidy(atlas_home.folder, "PreToolUse"), source="folder")
    chosen = {"tidy": {"on": True, "consent": digest(manifest)}}
    (atlas_home.data / "plugins.json").write_text(json.dumps(chosen))
    grown = read_manifest(tidy(atlas_home.folder, "PreToolUse", "Stop"), source="folder")
    async with opened(grown) as app:
        conversation = (await app.conversations.create(ConversationDraft())).id
        first = await heard(app, conversation, "Hello.")
        second = await heard(app, conversation, "And again.")

    assert first == [
        "A plugin you turned on is not on. tidy waits for your consent: atlas plugins enable tidy. "
        "Its hooks on PreToolUse and Stop are not in force."
    ]
    assert second == first


async def test_what_was_agreed_to_is_kept_to_be_compared(opened: Any, atlas_home: Any) -> None:
    manifest = read_manifest(tidy(atlas_home.folder, "PreToolUse"), source="folder")
    async with opened(manifest) as app:
        await app.services.need(PLUGINS).enable("tidy", consent=digest(manifest))
    grown = read_manifest(tidy(atlas_home.folder, "PreToolUse", "Stop"), source="folder")
    async with opened(grown) as app:
        found = next(one for one in await app.services.need(PLUGINS).list() if one.name == "tidy")

    assert (found.state, found.wanted) == ("waiting", True)
    assert found.agreed == {"hook_commands": ["PreToolUse: true"]}


async def test_a_slip_in_a_command_is_answered_without_the_model(opened: Any, atlas_home: Any, model: Model) -> None:
    manifest = read_manifest(tidy(atlas_home.folder), source="folder")
    (atlas_home.data / "plugins.json").write_text(json.dumps({"tidy": {"on": True, "consent": digest(manifest)}}))
    async with opened(manifest) as app:
        conversation = (await app.conversations.create(ConversationDraft())).id
        await heard(app, conversation, "/tidy:gret Ada")
        turns = [
            one.event.turn for one in await app.services.need(STORE).events(after=0) if one.event.type == "turn.ended"
        ]
        asked = len(model.provider.requests)
        await heard(app, conversation, "/etc/hosts is what?")

    assert [(one.state, one.error) for one in turns] == [
        ("failed", "There is no command /tidy:gret. Did you mean /tidy:greet?")
    ]
    assert (asked, len(model.provider.requests)) == (0, 1)
