"""What was registered at work: channels, executors, readers, commands, the user's model, notices and hooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from atlas_sdk.audit import Audit
from atlas_sdk.author_context import AuthorContext, LlmError, LlmMessage
from atlas_sdk.channels import FileChannel, Prompt
from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.executors import Capabilities, Detection, Executor
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.manifest import Manifest
from atlas_sdk.messages import Sender, TextPart
from atlas_sdk.providers import ProviderError
from atlas_sdk.readers import Reader
from atlas_sdk.register import run_register
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft
from atlas_sdk.services.llm import LLM, LlmResult
from atlas_sdk.services.notify import NOTIFY
from atlas_sdk.testing.conformance import check_reader
from atlas_sdk.testing.fakes import FakeChannelHost, FakeContext, FakeProvider
from atlas_sdk.testing.model_script import Reply, call

from .registering import MANIFEST, NAMED, hello, registered

pytestmark = pytest.mark.anyio


async def test_a_secret_is_read_as_the_vault_has_it_at_the_moment(atlas_context: FakeContext) -> None:
    atlas_context.secrets["TOKEN"] = None
    kept: list[AuthorContext] = []
    found: list[str | None] = []

    def register(ctx: AuthorContext) -> None:
        kept.append(ctx)
        found.append(ctx.secret("TOKEN"))

    await registered(register, atlas_context)
    atlas_context.secrets["TOKEN"] = "later"
    found.append(kept[0].secret("TOKEN"))

    assert found == [None, "later"]
    with pytest.raises(MisuseError, match="does not declare a secret 'OTHER'"):
        kept[0].secret("OTHER")


async def test_a_setting_the_data_folder_and_the_name_are_the_plugins(atlas_context: FakeContext) -> None:
    atlas_context.settings["units"] = "metric"
    kept: list[AuthorContext] = []
    await registered(kept.append, atlas_context)

    ctx = kept[0]
    assert (ctx.name, ctx.setting("units"), ctx.data_folder.is_dir()) == (atlas_context.name, "metric", True)
    assert ctx.logger.name == f"atlas.plugin.{ctx.name}"


class Post:
    """A channel by an author: it has no name of its own."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def run(self, host: Any) -> None:
        host.failed("No token.")

    async def send(self, chat: str, text: str) -> None:
        if chat == "nobody":
            raise KeyError(chat)
        self.said.append(text)

    async def working(self, chat: str, busy: bool) -> None: ...

    async def ask(self, chat: str, prompt: Prompt) -> None:
        self.said.append(prompt.text)

    async def settle(self, chat: str, prompt: str, said: str) -> None: ...


async def test_a_channel_is_made_each_time_it_runs(atlas_context: FakeContext, tmp_path: Path) -> None:
    made: list[Post] = []

    def make() -> Post:
        made.append(Post())
        return made[-1]

    [channel] = (await registered(lambda ctx: ctx.register_channel("post", make), atlas_context)).atlas_channels()
    host = FakeChannelHost()
    await channel.run(host)
    await channel.run(host)

    assert (channel.name, len(made), host.failures) == ("post", 2, ["No token.", "No token."])
    assert isinstance(channel, FileChannel)
    await channel.send_file("1", tmp_path / "a.pdf", "application/pdf")
    assert made[-1].said == ["The file a.pdf waits for you in the app."]
    with pytest.raises(AtlasError, match="did not deliver it"):
        await channel.send("nobody", "Hello?")


class Harness:
    """An executor by an author."""

    title = "My harness"
    extra = "seen"

    async def detect(self) -> Detection:
        return Detection(installed=False)

    def capabilities(self) -> Capabilities:
        return Capabilities(steer=True)

    async def start(self, spec: Any, host: Any) -> Any: ...

    async def transcript(self, session: str, folder: Path) -> Any: ...


async def test_an_executor_is_its_authors_object_with_a_name(atlas_context: FakeContext) -> None:
    made = await registered(lambda ctx: ctx.register_executor("harness", Harness), atlas_context)

    [executor] = made.atlas_executors()
    assert isinstance(executor, Executor)
    assert (executor.name, executor.title, executor.capabilities().steer) == ("harness", "My harness", True)
    assert not (await executor.detect()).installed
    assert executor.extra == "seen"  # type: ignore[attr-defined]  # an optional member goes through


async def test_a_reader_keeps_every_promise(atlas_context: FakeContext, tmp_path: Path) -> None:
    sound = tmp_path / "note.ogg"
    sound.write_bytes(b"OggS hello")
    made = await registered(
        lambda ctx: ctx.register_reader("audio", lambda path, kind: path.read_bytes()[5:].decode()), atlas_context
    )

    [reader] = made.atlas_readers()
    assert isinstance(reader, Reader)
    await check_reader(reader, sound, "audio/ogg")


async def test_a_command_and_a_call_answer(atlas_context: FakeContext) -> None:
    async def renders(params: Any) -> Any:
        return {"running": params["of"]}

    def register(ctx: AuthorContext) -> None:
        ctx.register_command("status", lambda text, host: f"3 {text}", "What is rendering.", hint="WHAT")
        ctx.register_call("renders", renders)

    made = await registered(register, atlas_context)

    [command], [call] = made.atlas_commands(), made.atlas_calls()
    assert (command.hint, await command.run("renders", SimpleNamespace(conversation="c"))) == ("WHAT", "3 renders")
    assert await call.run({"of": 3}) == {"running": 3}


class Model:
    """The LLM service, answering what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def complete(self, prompt: str, **named: Any) -> LlmResult:
        self.asked.append((prompt, named))
        if prompt == "broke":
            raise ProviderError("There is no credit.", kind="quota")
        return LlmResult(text="Two lines.", parsed={"a": 1})


async def test_the_users_model_is_asked_in_the_plugins_name(atlas_context: FakeContext) -> None:
    model = Model()
    atlas_context.services.offer(LLM.by(model))
    kept: list[AuthorContext] = []
    await registered(kept.append, atlas_context)
    llm = kept[0].llm

    said = await llm.complete("Sum up.", system="Short.", max_tokens=50, json_schema={"type": "object"})
    await llm.complete([LlmMessage("user", "Hi"), LlmMessage("assistant", "Yes?")])

    assert (said.text, said.parsed) == ("Two lines.", {"a": 1})
    purpose = f"plugin:{atlas_context.name}"
    assert model.asked[0] == (
        "Sum up.",
        {"purpose": purpose, "system": "Short.", "max_tokens": 50, "json_schema": {"type": "object"}},
    )
    assert model.asked[1][0] == "user: Hi\n\nassistant: Yes?"
    with pytest.raises(LlmError, match="no credit"):
        await llm.complete("broke")


async def test_model_and_notices_are_declared_first(atlas_context: FakeContext) -> None:
    kept: list[AuthorContext] = []
    await registered(kept.append, atlas_context, Manifest("greeter"))

    with pytest.raises(MisuseError, match='"llm": true'):
        await kept[0].llm.complete("Hi")
    with pytest.raises(MisuseError, match='"notify": true'):
        await kept[0].notify("c1", "Done.")


async def test_a_notice_says_which_plugin_brought_it(atlas_context: FakeContext) -> None:
    told: list[Any] = []

    class Notices:
        async def notify(self, conversation: str, text: str, *, source: str, cause: str | None = None) -> str:
            told.append((conversation, text, source))
            return "n1"

    atlas_context.services.offer(NOTIFY.by(Notices()))
    kept: list[AuthorContext] = []
    await registered(kept.append, atlas_context)
    await kept[0].notify("c1", "It is rendered.")

    assert told == [("c1", "It is rendered.", atlas_context.name)]


async def test_a_module_with_hooks_of_its_own_is_taken_as_it_is(atlas_context: FakeContext) -> None:
    class Hooks:
        @hookimpl
        def atlas_tools(self) -> list[Any]:
            return []

    hooks = Hooks()

    assert await run_register(hooks, atlas_context, MANIFEST) is hooks
    hooks.register = lambda ctx: None  # type: ignore[attr-defined]
    with pytest.raises(MisuseError, match="Use one of them"):
        await run_register(hooks, atlas_context, MANIFEST)


async def test_a_registered_tool_and_hook_work_in_a_conversation(
    atlas_app: Callable[..., Any], atlas_context: FakeContext
) -> None:
    told: list[dict[str, Any]] = []

    def guard(event: dict[str, Any]) -> Any:
        told.append(event)
        if event["tool_input"]["name"] == "Mallory":
            return {"decision": "block", "reason": "Not him."}
        return {"hookSpecificOutput": {"permissionDecision": "allow"}}

    def register(ctx: AuthorContext) -> None:
        ctx.register_tool("greet", "Greet somebody.", NAMED, hello, read_only=True)
        ctx.register_hook("PreToolUse", guard, matcher="greet")

    made = await registered(register, atlas_context)
    names = [call("greet", {"name": name}) for name in ("Ada", "Mallory")]
    model = FakeProvider([Reply(calls=names), "Done."])

    class Models:
        @hookimpl
        def atlas_providers(self) -> list[Any]:
            return [model]

    manifest = replace(MANIFEST, cli=())
    async with atlas_app("store", objects={"models": Models(), "greeter": made}, manifests=[manifest]) as app:
        conversations = app.services.need(CONVERSATIONS)
        conversation = await conversations.create(ConversationDraft())
        await conversations.send(conversation.id, [TextPart(text="Greet!")], sender=Sender(kind="person"))
        await conversations.wait(conversation.id)
        path = await conversations.path(conversation.id)

    said = "\n".join(
        part.text for message in path if message.role == "tool" for one in message.parts for part in one.content
    )  # type: ignore[union-attr]
    assert "Hello, Ada!" in said
    assert "Not him." in said
    assert sorted(event["tool_input"]["name"] for event in told) == ["Ada", "Mallory"]


async def test_what_a_hook_did_is_in_the_plugins_log(atlas_context: FakeContext) -> None:
    def fails(told: dict[str, Any]) -> Any:
        raise ValueError("no")

    def register(ctx: AuthorContext) -> None:
        ctx.register_hook("PreToolUse", lambda told: None, matcher="Bash")
        ctx.register_hook("PreToolUse", fails)

    made = await registered(register, atlas_context)
    fine, broken = made.what.hooks
    await fine.run({"session_id": "c1"})
    with pytest.raises(ValueError, match="no"):
        await broken.run({})

    log = Audit(atlas_context.home, atlas_context.name, atlas_context.clock).lines(10)
    assert [(line["what"], line["outcome"], line.get("conversation")) for line in log] == [
        ("PreToolUse (Bash)", "ran", "c1"),
        ("PreToolUse", "raised ValueError", None),
    ]
