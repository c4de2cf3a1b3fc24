"""The fakes keep the promises of what they stand for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest

from atlas_sdk.errors import MissingServiceError, MisuseError, NeedsConsentError, StorageError
from atlas_sdk.messages import ReasoningPart, ToolCallPart
from atlas_sdk.providers import ModelRequest, ProviderError
from atlas_sdk.records import Conversation
from atlas_sdk.sections import TimeSettings
from atlas_sdk.services import ServiceKey
from atlas_sdk.services.gate import Card
from atlas_sdk.services.store import STORE
from atlas_sdk.services.vault import VAULT
from atlas_sdk.settings import SettingsSection, setting
from atlas_sdk.testing.conformance import check_gate, check_provider, check_questions, check_store, check_vault
from atlas_sdk.testing.conformance.gate import read_call
from atlas_sdk.testing.conformance.provider import hello
from atlas_sdk.testing.conformance.store_bench import conversation_of, noticed
from atlas_sdk.testing.fakes import (
    FakeChannelHost,
    FakeClock,
    FakeContext,
    FakeDisk,
    FakeExecutorHost,
    FakeGate,
    FakeProvider,
    FakeQuestions,
    FakeServices,
    FakeSettings,
    FakeStore,
    FakeToolHost,
    FakeVault,
)
from atlas_sdk.testing.model_script import Failure, Reply, call, say

pytestmark = pytest.mark.anyio


# --- by the conformance suites -------------------------------------------------------------------


@pytest.fixture
def make_store() -> Callable[[Path], FakeStore]:
    """Open a FakeStore over a folder; the second one over it finds what the first has kept."""
    disks: dict[Path, FakeDisk] = defaultdict(FakeDisk)
    return lambda folder: FakeStore(folder, disk=disks[folder])


@pytest.mark.parametrize("promise", check_store.promises, ids=str)
async def test_the_fake_store_keeps_the_promise(promise: Any, make_store: Callable[[Path], FakeStore]) -> None:
    await promise(make_store)


@pytest.mark.parametrize("promise", check_vault.promises, ids=str)
async def test_the_fake_vault_keeps_the_promise(promise: Any) -> None:
    kept: dict[Path, dict[str, str]] = defaultdict(dict)
    await promise(lambda folder: FakeVault(kept[folder]))


@pytest.mark.parametrize("promise", check_questions.promises, ids=str)
async def test_the_fake_questions_keep_the_promise(promise: Any) -> None:
    await promise(FakeQuestions)


@pytest.mark.parametrize("promise", check_gate.promises, ids=str)
async def test_the_fake_gate_keeps_the_promise(promise: Any) -> None:
    await promise(lambda folder: FakeGate(lambda request: "ask" if request.untrusted else "allow"))


@pytest.mark.parametrize("promise", check_provider.promises, ids=str)
async def test_the_fake_provider_keeps_the_promise(promise: Any) -> None:
    reply = Reply(text=("Hel", "lo."), reasoning=("Hm",), calls=(call("say_hello", {"to": "Ada"}),), keep=True)
    await promise(
        lambda: FakeProvider([reply]),
        make_failing=lambda: FakeProvider([Failure("rate_limited", keep=True)], is_ready=False),
        make_hanging=lambda: FakeProvider([say("Hel", "lo", idle_after=1)]),
    )


# --- what a test uses them for -------------------------------------------------------------------


async def test_a_fake_store_on_a_full_disk_writes_nothing() -> None:
    store = FakeStore()
    store.disk.full = True

    with pytest.raises(StorageError) as refusal:
        await store.commit([conversation_of()], [noticed()])

    assert refusal.value.code == "disk_full"
    store.disk.full = False
    assert await store.find(Conversation) == ()


async def test_a_damaged_fake_store_says_so() -> None:
    store = FakeStore()
    store.disk.damaged = True

    with pytest.raises(StorageError):
        await store.find(Conversation)
    assert await store.check() != ()


async def test_a_fake_store_without_a_folder_keeps_attachments_until_it_goes() -> None:
    store = FakeStore()
    kept = await store.keep(b"bytes", media_type="text/plain")

    assert store.file(kept.id).read_bytes() == b"bytes"


async def test_a_fake_store_has_the_core_tables_by_name() -> None:
    store = FakeStore()
    one = conversation_of(title="T")
    await store.commit([one])

    (row,) = await store.read(lambda reading: reading.rows("SELECT * FROM conversation WHERE agent = :a", a="main"))

    assert Conversation.model_validate_json(row["data"]) == one


async def test_a_locked_fake_vault_refuses_everything() -> None:
    vault = FakeVault({"A": "value"})
    vault.locked = "The vault's key is missing."

    with pytest.raises(NeedsConsentError, match="key is missing"):
        await vault.get("A")


async def test_fake_questions_answer_by_their_script() -> None:
    questions = FakeQuestions("once", "deny")
    card = Card("Run it?", "ls", "why")

    scopes = [(await questions.approve(card, conversation="c", turn="t", call="k"))[0] for _ in range(2)]

    assert scopes == ["once", None]
    assert [asked.exact for asked in questions.asked] == ["ls", "ls"]


async def test_a_fake_gate_says_what_the_test_says(tmp_path: Path) -> None:
    denies = FakeGate("deny")
    verdict = await denies.judge(read_call(tmp_path))

    assert verdict.decision == "deny"
    assert denies.judged == [read_call(tmp_path)]


async def test_a_fake_provider_answers_in_order_and_keeps_the_requests() -> None:
    provider = FakeProvider(["One.", say("Tw", "o."), lambda request: f"{len(request.messages)} so far."])
    request: ModelRequest = hello(provider)

    replies = [await provider.stream(request, lambda delta: None) for _ in range(3)]

    assert [reply.parts[0].text for reply in replies] == ["One.", "Two.", "1 so far."]  # type: ignore[union-attr]
    assert provider.requests == [request] * 3
    with pytest.raises(ProviderError, match="no reply left"):
        await provider.stream(request, lambda delta: None)


async def test_a_fake_provider_calls_tools_and_thinks_aloud() -> None:
    provider = FakeProvider([Reply(text=("Now.",), reasoning=("Hm", "…"), calls=(call("f", {"a": 1}, id="x"),))])

    reply = await provider.stream(hello(provider), lambda delta: None)

    assert reply.stop_reason == "tools"
    assert isinstance(reply.parts[0], ReasoningPart)
    assert reply.parts[0].text == "Hm…"
    assert reply.parts[2] == ToolCallPart(call="x", name="f", arguments='{"a": 1}')


async def test_a_fake_tool_host_closes_the_effect_of_a_failure(tmp_path: Path) -> None:
    host = FakeToolHost(tmp_path)
    async with host.effect("file", "a.txt"):
        pass
    with pytest.raises(ZeroDivisionError):
        async with host.effect("process", "make"):
            raise ZeroDivisionError

    assert [(effect.target, effect.state) for effect in host.effects] == [("a.txt", "done"), ("make", "failed")]


async def test_a_fake_tool_host_without_a_ledger_enters_no_block(tmp_path: Path) -> None:
    host = FakeToolHost(tmp_path, ledger_fails=True)

    with pytest.raises(StorageError):
        async with host.effect("file", "a.txt"):
            raise AssertionError("The block was entered.")


async def test_a_fake_channel_host_wakes_who_waits_for_news() -> None:
    host = FakeChannelHost()
    async with anyio.create_task_group() as group:
        group.start_soon(host.wait)
        group.start_soon(host.choose, "p1", 0, "ada")

    assert host.presses == [("p1", 0, "ada")]


async def test_a_fake_executor_host_refuses_what_is_not_scripted() -> None:
    from atlas_sdk.executors import Permission, Question

    host = FakeExecutorHost(allow=[True], answers=[(("A",),)])

    verdicts = [(await host.approve(Permission("Bash", "ls"))).allow for _ in range(2)]
    answers = [await host.ask([Question("Which?")]) for _ in range(2)]

    assert verdicts == [True, False]
    assert answers == [(("A",),), ((),)]


# --- the context ---------------------------------------------------------------------------------


class TeaSettings(SettingsSection):
    """How tea is made."""

    section: ClassVar[str] = "tea"
    minutes: int = setting(4, "How long it draws.")


async def test_a_context_has_folders_settings_and_secrets(tmp_path: Path) -> None:
    ctx = FakeContext(tmp_path, name="tea", settings={"leaf": "oolong"}, secrets={"TEA_KEY": "k", "UNSET": None})

    assert ctx.data_folder.is_dir()
    assert ctx.folder.is_dir()
    assert ctx.setting("leaf") == "oolong"
    assert [await ctx.secret(name) for name in ("TEA_KEY", "UNSET")] == ["k", None]
    assert ctx.logger.name == "atlas.plugin.tea"


async def test_a_context_refuses_what_was_not_declared(tmp_path: Path) -> None:
    ctx = FakeContext(tmp_path)

    with pytest.raises(MisuseError):
        ctx.setting("leaf")
    with pytest.raises(MisuseError):
        await ctx.secret("TEA_KEY")


def test_a_section_is_at_its_defaults_until_one_is_put_there(tmp_path: Path) -> None:
    ctx = FakeContext(tmp_path)
    before = ctx.section(TeaSettings).minutes
    ctx.put_section(TeaSettings(minutes=7))

    assert (before, ctx.section(TeaSettings).minutes) == (4, 7)


async def test_unloading_runs_the_last_first(tmp_path: Path) -> None:
    ctx, ran = FakeContext(tmp_path), list[str]()

    async def later() -> None:
        ran.append("later")

    ctx.on_unload(lambda: ran.append("first"))
    ctx.on_unload(later)
    await ctx.unload()
    await ctx.unload()

    assert ran == ["later", "first"]


def test_a_missing_service_is_refused_by_name() -> None:
    services = FakeServices(VAULT.by(FakeVault()))
    newer: ServiceKey[Any] = ServiceKey("vault", 2)

    assert services.get(STORE) is None
    assert services.get(newer) is None
    with pytest.raises(MissingServiceError, match="store@1"):
        services.need(STORE)
    services.withdraw(VAULT)
    assert services.get(VAULT) is None


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = FakeClock()
    before = clock.now()
    clock.advance(days=1, minutes=2)

    assert clock.now() - before == timedelta(days=1, minutes=2)
    assert clock.now().tzinfo is not None
    with pytest.raises(ValueError, match="aware"):
        FakeClock(before.replace(tzinfo=None))


async def test_fake_settings_change_only_what_may_change() -> None:
    settings = FakeSettings(TeaSettings())

    with pytest.raises(MisuseError, match="cannot change"):
        await settings.change("tea.minutes", 5)
    with pytest.raises(MisuseError, match="no setting"):
        await settings.change("tea.cups", 5)
    settings.section(TimeSettings)
    await settings.change("time.zone", "Asia/Tokyo")
    with pytest.raises(MisuseError, match="wrong"):
        await settings.change("time.zone", 7)

    assert settings.section(TimeSettings).zone == "Asia/Tokyo"
    rows = {row.key: (row.value, row.source) for row in settings.rows()}
    assert rows == {"tea.minutes": (4, "default"), "time.zone": ("Asia/Tokyo", "file")}
