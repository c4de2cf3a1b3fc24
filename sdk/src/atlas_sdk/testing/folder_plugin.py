"""A plugin folder under test: loaded as Atlas loads it, over a home that is thrown away."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ..author_context import Registrations
from ..beside import offer
from ..channels import Channel
from ..errors import NotFoundError
from ..executors import Executor
from ..folder_module import forget_folder, import_folder
from ..hook_events import EventHook, HookAnswer, matches, read_answer
from ..hookspecs import hookimpl
from ..installed import manifest_at, own_folder
from ..manifest import Manifest
from ..manifest_file import MANIFEST
from ..messages import Message, Sender, TextPart, ToolResultPart
from ..readers import Reader
from ..register import Registered, run_register
from ..services import ServiceKey
from ..services.conversations import CONVERSATIONS, ConversationDraft
from ..services.home import HOME
from ..services.notify import NOTIFY
from ..tools import Tool
from ..values import Json
from .examples import read_examples
from .fake_context import FakeContext
from .fake_hosts import FakeToolHost
from .fake_provider import FakeProvider

T = TypeVar("T")
LIVE: tuple[ServiceKey[Any], ...] = (CONVERSATIONS, HOME, NOTIFY)
"""The services of a real home that a plugin under test reaches while it has a conversation."""


class FolderPlugin:
    """A plugin folder that is loaded. ``hooks`` is the object with its hooks, ``registered`` what it registered."""

    def __init__(self, manifest: Manifest, ctx: FakeContext, hooks: object) -> None:
        self.manifest = manifest
        self.ctx = ctx
        self.hooks = hooks
        self.registered = hooks.what if isinstance(hooks, Registered) else _of_hooks(hooks, ctx)

    def tool(self, name: str) -> Tool:
        """Return a tool it registered."""
        return _named(self.registered.tools, name, "tool")

    def channel(self, name: str) -> Channel:
        """Return a channel it registered."""
        return _named(self.registered.channels, name, "channel")

    def executor(self, name: str) -> Executor:
        """Return an executor it registered."""
        return _named(self.registered.executors, name, "executor")

    def reader(self, kind: str) -> Reader:
        """Return a reader it registered."""
        return _named(self.registered.readers, kind, "reader")

    async def run_tool(self, name: str, arguments: Mapping[str, Json], host: FakeToolHost | None = None) -> str:
        """Run a tool and return the text the model reads. Without a host it runs in the plugin's data folder."""
        answer = await self.tool(name).run(arguments, host or FakeToolHost(self.ctx.data_folder))
        return answer if isinstance(answer, str) else answer.text()

    async def fire(self, event: str, told: Mapping[str, Json]) -> HookAnswer:
        """Tell its hooks of an event and return what they answered together. It names a tool as Claude Code does."""
        tool, answer = str(told.get("tool_name", "")), HookAnswer()
        for hook in self.registered.hooks:
            if hook.event == event and (not tool or matches(hook.matcher, tool)):
                answer = answer.and_then(await self._answer(hook, event, told))
        return answer

    async def run_command(self, name: str, text: str = "") -> str:
        """Run a slash command and return its reply."""
        return await _named(self.registered.commands, name, "command").run(text, _Host())

    async def call(self, name: str, params: Json = None) -> Json:
        """Call what its screen calls."""
        return await _named(self.registered.calls, name, "call").run(params)

    async def converse(
        self, open_app: Any, said: str, script: Iterable[Any], *, plugins: Iterable[str] = ()
    ) -> list[str]:
        """Have a conversation in a whole home, with a model that follows a script; return what was said, in order.

        ``open_app`` is the fixture ``atlas_app``, and ``plugins`` are bundled ones that are on besides the store
        and the gate. Results of tools stand between the messages.
        """
        model = FakeProvider(script)

        class Models:
            @hookimpl
            def atlas_providers(self) -> list[Any]:
                return [model]

        objects = {"scripted-model": Models(), self.manifest.name: self.hooks}
        manifest = _without_folders(self.manifest)
        async with open_app("store", "gate", *plugins, objects=objects, manifests=[manifest]) as app:
            for key in LIVE:
                self.ctx.services.offer(key.by(app.services.need(key)))
            return await talk(app, said)

    async def unload(self) -> None:
        """Turn it off: what it gave to ``ctx.on_unload`` runs."""
        await self.ctx.unload()
        forget_folder(self.manifest.name)

    async def _answer(self, hook: EventHook, event: str, told: Mapping[str, Json]) -> HookAnswer:
        return read_answer(event, await hook.run({"hook_event_name": event, **told}))


async def load_folder(
    folder: Path,
    home: Path,
    *,
    settings: Mapping[str, Json] | None = None,
    secrets: Mapping[str, str] | None = None,
    ctx: FakeContext | None = None,
) -> FolderPlugin:
    """Load a plugin folder, or a package's, as Atlas does and return it. ``home`` is an empty folder.

    ``settings`` and ``secrets`` stand in the place of the defaults and of the vault, before those of
    ``tests/examples.py``; all must be declared.
    Raises AtlasError with the reason when it cannot be loaded.
    """
    manifest = manifest_at(folder)
    made = ctx or FakeContext(home, name=manifest.name)
    made.name = manifest.name
    made.settings = {one.name: one.default for one in manifest.settings}
    made.secrets = {one.name: None for one in manifest.secrets}
    examples = read_examples(folder)
    given_settings, given_secrets = {**examples.settings, **(settings or {})}, {**examples.secrets, **(secrets or {})}
    for given, declared, what in ((given_settings, made.settings, "setting"), (given_secrets, made.secrets, "secret")):
        for name, value in given.items():
            if name not in declared:
                raise NotFoundError(f"The manifest of {manifest.name} declares no {what} {name!r}.")
            declared[name] = value
    offer(manifest)
    module = import_module(manifest.module) if manifest.module else import_folder(folder, manifest.name)
    hooks = Registered(made, Registrations()) if module is None else await run_register(module, made, manifest)
    return FolderPlugin(manifest, made, hooks)


async def talk(app: Any, said: str) -> list[str]:
    """Say something in a new conversation of an open home, and return what was said in it, results of tools too."""
    conversations = app.services.need(CONVERSATIONS)
    conversation = await conversations.create(ConversationDraft())
    await conversations.send(conversation.id, [TextPart(text=said)], sender=Sender(kind="person"))
    await conversations.wait(conversation.id)
    return [text for message in await conversations.path(conversation.id) for text in _texts(message)]


def folder_of(test: Path) -> Path:
    """Return the plugin folder a test file is of: the nearest one above it with a manifest, or a project's package."""
    for folder in test.parents:
        if (own_folder(folder) / MANIFEST).is_file():
            return own_folder(folder)
    raise NotFoundError(f"{test} is in no plugin folder.", hint=f"A plugin folder has a {MANIFEST}.")


def _of_hooks(hooks: object, ctx: FakeContext) -> Registrations:
    """Return what the hooks of a module add, of what there are promises for."""

    def added(name: str) -> list[Any]:
        hook = getattr(hooks, name, None)
        if hook is None:
            return []
        return list(hook(ctx) if "ctx" in inspect.signature(hook).parameters else hook())

    return Registrations(tools=added("atlas_tools"), readers=added("atlas_readers"), commands=added("atlas_commands"))


class _Host:
    conversation = "conversation-1"


def _without_folders(manifest: Manifest) -> Manifest:
    """Return the manifest without the need of the plugin that reads folders: this one is read already."""
    from dataclasses import replace

    return replace(manifest, requires=(), dependencies=(), cli=())


def _texts(message: Message) -> list[str]:
    results = [part for part in message.parts if isinstance(part, ToolResultPart)]
    if not results:
        return [message.text()] if message.text() else []
    return ["\n".join(one.text for one in part.content if isinstance(one, TextPart)) for part in results]


def _named(items: Iterable[T], name: str, what: str) -> T:
    known: dict[str, T] = {str(getattr(item, "kind", None) or getattr(item, "name", "")): item for item in items}
    if name not in known:
        raise NotFoundError(f"It registered no {what} {name!r}.", hint=f"It has: {', '.join(known) or 'none'}.")
    return known[name]
