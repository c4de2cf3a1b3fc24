"""The conformance suites: they pass what keeps its contract, and name the promise that something else breaks."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.channels import ChannelHost, Inbound, Prompt
from atlas_sdk.errors import AtlasError
from atlas_sdk.executors import (
    Called,
    Capabilities,
    Detection,
    ExecutorError,
    ExecutorHost,
    ExecutorSpec,
    Finished,
    Permission,
    Returned,
    Said,
    Started,
    Transcript,
)
from atlas_sdk.messages import TextPart
from atlas_sdk.providers import ModelInfo, ModelReply
from atlas_sdk.records import Cost
from atlas_sdk.services.gate import GateRequest, Verdict
from atlas_sdk.services.questions import Answer
from atlas_sdk.testing.conformance import (
    check_channel,
    check_executor,
    check_gate,
    check_provider,
    check_questions,
    check_reader,
    check_store,
    check_tool,
    check_vault,
)
from atlas_sdk.testing.fakes import (
    FakeEffect,
    FakeFileChannel,
    FakeGate,
    FakeProvider,
    FakeQuestions,
    FakeStore,
    FakeVault,
)
from atlas_sdk.testing.model_script import say
from atlas_sdk.testing.suite import BrokenPromiseError, suite
from atlas_sdk.tools import Tool, ToolError, ToolHost, ToolResult
from atlas_sdk.values import Json

pytestmark = pytest.mark.anyio


async def broken_by(check: Callable[[], Awaitable[None]]) -> str:
    """Return what a suite says of something that breaks a promise."""
    with pytest.raises(BrokenPromiseError) as broken:
        await check()
    return str(broken.value)


# --- the suites themselves -----------------------------------------------------------------------


@suite("kettle")
@asynccontextmanager
async def check_kettle(kettle: Mapping[str, int], *, cups: int = 1) -> AsyncIterator[tuple[Mapping[str, int], int]]:
    """Check a kettle."""
    yield kettle, cups


@check_kettle.promise
async def it_boils(bench: tuple[Mapping[str, int], int]) -> None:
    """Water is at 100 degrees."""
    assert bench[0]["degrees"] == 100, "It is lukewarm."


@check_kettle.promise
async def it_fills_every_cup(bench: tuple[Mapping[str, int], int]) -> None:
    """Of those on the table."""
    assert bench[0]["cups"] >= bench[1]


async def test_a_suite_passes_what_keeps_its_promises() -> None:
    await check_kettle({"degrees": 100, "cups": 3}, cups=2)


async def test_a_failure_names_the_promise_what_it_demands_and_what_was_found() -> None:
    said = await broken_by(lambda: check_kettle({"degrees": 60, "cups": 3}))

    assert "This kettle breaks a promise: it boils. Water is at 100 degrees." in said
    assert "It is lukewarm." in said


async def test_every_broken_promise_is_named_and_not_the_first_alone() -> None:
    said = await broken_by(lambda: check_kettle({}, cups=2))

    assert said.startswith("2 promises are broken.")
    assert "it boils" in said
    assert "it fills every cup" in said


async def test_a_promise_is_checked_by_itself() -> None:
    boils, fills = check_kettle.promises

    assert [str(promise) for promise in check_kettle.promises] == ["it_boils", "it_fills_every_cup"]
    await fills({"degrees": 60, "cups": 3})
    with pytest.raises(BrokenPromiseError):
        await boils({"degrees": 60, "cups": 3})


@pytest.mark.parametrize(
    "found",
    [
        check_channel,
        check_executor,
        check_gate,
        check_provider,
        check_questions,
        check_reader,
        check_store,
        check_tool,
        check_vault,
    ],
)
def test_every_suite_says_what_it_takes_and_what_each_promise_demands(found: Any) -> None:
    assert found.__doc__
    assert len(found.promises) >= 5
    for promise in found.promises:
        assert promise.demands.endswith("."), promise.name
        assert len({one.name for one in found.promises}) == len(found.promises)


# --- tools ---------------------------------------------------------------------------------------

GREETING: dict[str, Any] = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "times": {"type": "integer"}, "file": {"type": "string"}},
    "required": ["to"],
    "additionalProperties": False,
}
TO_ADA: Mapping[str, Json] = {"to": "Ada", "times": 2}


async def greet(arguments: Mapping[str, Json], host: ToolHost) -> str:
    await anyio.lowlevel.checkpoint()
    return f"Hello {arguments['to']}."


async def write_greeting(arguments: Mapping[str, Json], host: ToolHost) -> ToolResult:
    path = host.folder / "greeting.txt"
    async with host.effect("file", str(path)):
        await anyio.Path(path).write_text(arguments["to"])
    return ToolResult.of("Written.")


GREETER = Tool("greet", "Greet somebody.", GREETING, greet, read_only=True)
WRITER = Tool("write_greeting", "Write a greeting.", GREETING, write_greeting, paths=("file",))


@pytest.mark.parametrize("tool", [GREETER, WRITER], ids=lambda tool: tool.name)
async def test_a_tool_that_keeps_its_promises_passes(tool: Tool) -> None:
    await check_tool(tool, TO_ADA)


async def answers_a_number(arguments: Mapping[str, Json], host: ToolHost) -> Any:
    return 7


async def fails(arguments: Mapping[str, Json], host: ToolHost) -> str:
    raise ToolError("Nobody is there.")


async def answers_half_a_character(arguments: Mapping[str, Json], host: ToolHost) -> str:
    return b"caf\xe9".decode(errors="surrogateescape")


async def changes_its_arguments(arguments: Any, host: ToolHost) -> str:
    arguments["to"] = "nobody"
    return "Done."


async def never_closes_its_effect(arguments: Mapping[str, Json], host: Any) -> str:
    host.effects.append(FakeEffect("host", "example.com"))
    return "Done."


async def blocks_everybody(arguments: Mapping[str, Json], host: ToolHost) -> str:
    await anyio.lowlevel.checkpoint()
    time.sleep(1.05)  # noqa: ASYNC251  # the fault that the suite is to find
    return "Done."


@pytest.mark.parametrize(
    ("tool", "promise"),
    [
        (replace(GREETER, name="say hello"), "its name is one that models take"),
        (replace(GREETER, description=" "), "it says what it is for"),
        (replace(GREETER, parameters={"type": "string"}), "its schema is an object schema"),
        (replace(GREETER, parameters={**GREETING, "required": ["whom"]}), "its schema is an object schema"),
        (replace(GREETER, command="comand"), "what the gate looks at is in the schema"),
        (replace(GREETER, parameters={**GREETING, "required": ["file"]}), "the arguments given fit the schema"),
        (replace(GREETER, run=answers_a_number), "it answers with text or a result"),
        (replace(GREETER, run=fails), "it answers with text or a result"),
        (replace(GREETER, run=answers_half_a_character), "what it answers can be kept"),
        (replace(WRITER, read_only=True), "a read only tool writes no file"),
        (replace(GREETER, run=changes_its_arguments), "it leaves its arguments alone"),
        (replace(GREETER, run=never_closes_its_effect), "it closes every effect"),
    ],
)
async def test_a_tool_that_breaks_a_promise_is_named_by_it(tool: Tool, promise: str) -> None:
    assert promise in await broken_by(lambda: check_tool(tool, dict(TO_ADA)))


async def test_a_schema_that_checks_nothing_is_found() -> None:
    """A reference leads fastjsonschema away from what stands beside it."""
    loose = {**GREETING, "$ref": "#/$defs/anything", "$defs": {"anything": {}}}

    assert "wrong arguments never reach it" in await broken_by(
        lambda: check_tool(replace(GREETER, parameters=loose), TO_ADA)
    )


@pytest.mark.slow  # the fault is to hold the loop for over a second
async def test_a_tool_that_holds_the_event_loop_is_found() -> None:
    (cancelling,) = [one for one in check_tool.promises if one.name == "cancelling_it_returns_within_a_second"]

    assert "seconds" in await broken_by(lambda: cancelling(replace(GREETER, run=blocks_everybody), TO_ADA))


# --- providers -----------------------------------------------------------------------------------


class AddsASpace(FakeProvider):
    """Streams what is not in the reply."""

    async def stream(self, request: Any, emit: Any) -> ModelReply:
        reply = await super().stream(request, emit)
        return replace(reply, parts=(TextPart(text="Hello. ", trust="agent"),))


class InventsACost(FakeProvider):
    """Says what nobody knows."""

    async def stream(self, request: Any, emit: Any) -> ModelReply:
        return replace(await super().stream(request, emit), cost=Cost(dollars=0.0, source="unknown"))


class RaisesWhenAsked(FakeProvider):
    """Raises where the contract says never."""

    async def ready(self) -> bool:
        raise OSError("no route to host")


class RaisesAnything(FakeProvider):
    """Fails in words of its library."""

    async def stream(self, request: Any, emit: Any) -> ModelReply:
        raise KeyError("choices")


def hello() -> list[Any]:
    return [say("Hel", "lo.", keep=True)]


@pytest.mark.parametrize(
    ("provider", "promise"),
    [
        (lambda: AddsASpace(hello()), "its deltas are the replys text"),
        (lambda: FakeProvider([say("\ud83d", "\ude00", keep=True)]), "what it says can be kept"),
        (lambda: InventsACost(hello()), "it says what it spent"),
        (lambda: RaisesWhenAsked(hello()), "asking whether it is ready never raises"),
        (lambda: FakeProvider(hello(), models=(ModelInfo("a"), ModelInfo("b"))), "exactly one model is the default"),
        (lambda: FakeProvider(hello(), id="my provider"), "it has an id and a name"),
    ],
)
async def test_a_provider_that_breaks_a_promise_is_named_by_it(provider: Any, promise: str) -> None:
    assert promise in await broken_by(lambda: check_provider(provider))


async def test_a_failure_that_is_no_provider_error_is_found() -> None:
    said = await broken_by(
        lambda: check_provider(lambda: FakeProvider(hello()), make_failing=lambda: RaisesAnything(hello()))
    )

    assert "a failure is a provider error" in said


# --- stores, vaults, questions, gates ------------------------------------------------------------


class ForgetsTheEvents(FakeStore):
    """Numbers from 1 in every commit."""

    async def commit(self, records: Any = (), events: Any = ()) -> Any:
        told = await super().commit(records, events)
        return tuple(event.model_copy(update={"number": 1}) for event in told)


class LosesAHalf(FakeStore):
    """Writes each record by itself, so that half a commit may be there."""

    async def commit(self, records: Any = (), events: Any = ()) -> Any:
        for record in records:
            await super().commit([record])
        return await super().commit([], events)


async def test_a_store_that_breaks_its_promises_is_named_by_them() -> None:
    assert "events are numbered per home" in await broken_by(lambda: check_store(ForgetsTheEvents))
    said = await broken_by(lambda: check_store(LosesAHalf))

    assert "a commit is all or nothing" in said
    assert "what was acknowledged is there after a restart" in said


class StripsValues(FakeVault):
    """Takes spaces off a value."""

    async def set(self, name: str, value: str) -> None:
        await super().set(name, value.strip())


async def test_a_vault_that_changes_values_is_found() -> None:
    assert "a value comes back as it was set" in await broken_by(lambda: check_vault(lambda folder: StripsValues()))


class LastAnswerWins(FakeQuestions):
    """Takes a second answer, too."""

    async def answer(self, id: str, answer: Answer) -> bool:
        waiting = self._waiting.get(id)
        if waiting is not None:
            waiting.answer = None
        return await super().answer(id, answer)


async def test_questions_that_take_a_second_answer_are_found() -> None:
    assert "the first answer takes it" in await broken_by(lambda: check_questions(LastAnswerWins))


class IgnoresHooks(FakeGate):
    """Lets through what an interceptor wanted asked."""

    async def judge(self, request: GateRequest) -> Verdict:
        return await super().judge(replace(request, asks=""))


async def test_a_gate_that_lets_a_hooks_question_through_is_found() -> None:
    said = await broken_by(
        lambda: check_gate(lambda folder: IgnoresHooks(lambda one: "ask" if one.untrusted else "allow"))
    )

    assert "an interceptors reason is never let through" in said


# --- readers -------------------------------------------------------------------------------------


class TextReader:
    """Reads plain text."""

    kind = "text"

    async def read(self, path: Path, media_type: str) -> str:
        return await anyio.Path(path).read_text("utf-8")


class RenamingReader(TextReader):
    """Takes the file away."""

    async def read(self, path: Path, media_type: str) -> str:
        text = await super().read(path, media_type)
        await anyio.Path(path).write_text(text + " (read)")
        return text


async def test_a_reader_that_keeps_its_promises_passes(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Grüße")

    await check_reader(TextReader(), path, "text/plain")
    assert "leaves the file as it was" in await broken_by(lambda: check_reader(RenamingReader(), path, "text/plain"))


# --- channels ------------------------------------------------------------------------------------

POST_CHARS = 4000


class PostOffice:
    """A chat service on paper: what was sent to each address, and what is on its way to Atlas."""

    def __init__(self) -> None:
        self.sent: dict[str, list[str]] = {}
        self.letters, self.inbox = anyio.create_memory_object_stream[Inbound](100)
        self.count = 0

    def close(self) -> None:
        self.letters.close()
        self.inbox.close()


class Postcards:
    """A channel by post."""

    name = "postcards"

    def __init__(self, office: PostOffice) -> None:
        self.office = office

    async def run(self, host: ChannelHost) -> None:
        while True:
            await host.receive(await self.office.inbox.receive())

    async def send(self, chat: str, text: str) -> None:
        await anyio.lowlevel.checkpoint()
        if chat == "nowhere":
            raise AtlasError("There is no such address.", hint="Write to another.")
        cards = [text[at : at + POST_CHARS] for at in range(0, len(text), POST_CHARS)]
        self.office.sent.setdefault(chat, []).extend(cards)

    async def working(self, chat: str, busy: bool) -> None:
        await anyio.lowlevel.checkpoint()

    async def ask(self, chat: str, prompt: Prompt) -> None:
        await self.send(chat, f"{prompt.text} ({' / '.join(prompt.choices)})")

    async def settle(self, chat: str, prompt: str, said: str) -> None:
        await anyio.lowlevel.checkpoint()


class CutsCards(Postcards):
    """Sends what fits on one card."""

    async def send(self, chat: str, text: str) -> None:
        await super().send(chat, text[:POST_CHARS])


class SwallowsFailures(Postcards):
    """Says nothing of a card that came back."""

    async def send(self, chat: str, text: str) -> None:
        if chat != "nowhere":
            await super().send(chat, text)


class KeyedPostcards(Postcards):
    """Knows a card by its number, carries parcels, and says how much fits on a card."""

    limit_chars = POST_CHARS

    def __init__(self, office: PostOffice) -> None:
        super().__init__(office)
        self.keys: set[str] = set()

    async def send_once(self, chat: str, text: str, key: str) -> None:
        if key not in self.keys:
            self.keys.add(key)
            await self.send(chat, text)

    async def send_file(self, chat: str, path: Path, media_type: str) -> None:
        await self.send(chat, f"A parcel: {path.name}")


class ForgetsKeys(KeyedPostcards):
    """Sends every card it is given."""

    async def send_once(self, chat: str, text: str, key: str) -> None:
        await self.send(chat, text)


class LosesNames(KeyedPostcards):
    """Sends parcels without a name."""

    async def send_file(self, chat: str, path: Path, media_type: str) -> None:
        await self.send(chat, "A parcel.")


async def write(channel: Any, chat: str, text: str) -> None:
    office = channel.office
    office.count += 1
    await office.letters.send(Inbound(chat, "ada", "Ada", text, id=str(office.count)))


def sent(channel: Any, chat: str) -> list[str]:
    return list(channel.office.sent.get(chat, []))


@pytest.mark.parametrize(
    ("kind", "promise"),
    [
        (Postcards, ""),
        (KeyedPostcards, ""),
        (CutsCards, "what is sent arrives"),
        (SwallowsFailures, "what is not delivered is an error"),
        (ForgetsKeys, "what is sent again under its key arrives once"),
        (LosesNames, "a file arrives under its name"),
    ],
)
async def test_a_channel_keeps_its_promises_or_is_named_by_one(kind: type[Postcards], promise: str) -> None:
    offices: list[PostOffice] = []

    def make() -> Postcards:
        offices.append(PostOffice())
        return kind(offices[-1])

    def check() -> Awaitable[None]:
        return check_channel(make, write=write, sent=sent, nowhere="nowhere")

    if promise:
        assert promise in await broken_by(check)
    else:
        await check()
    for office in offices:
        office.close()


async def test_the_fake_channel_keeps_the_promises_of_a_real_one() -> None:
    async def write_there(channel: Any, chat: str, text: str) -> None:
        channel.write(text, chat=chat)

    def shown_in(channel: Any, chat: str) -> list[str]:
        return list(channel.chat(chat).shown)

    await check_channel(FakeFileChannel, write=write_there, sent=shown_in)


# --- executors -----------------------------------------------------------------------------------


class Parrot:
    """A harness that repeats what it is told; told ``for ever`` it never ends."""

    name = "parrot"
    title = "Parrot"
    says_finished = 1

    async def detect(self) -> Detection:
        return Detection(installed=True, version="1")

    def capabilities(self) -> Capabilities:
        return Capabilities(sessions=True, permissions=True)

    async def start(self, spec: ExecutorSpec, host: ExecutorHost) -> Any:
        if spec.resume:
            raise ExecutorError(f"There is no session {spec.resume!r}.")
        return ParrotInstance(host, self.says_finished)

    async def transcript(self, session: str, folder: Path) -> Transcript:
        raise ExecutorError(f"There is no session {session!r}.")


class ParrotInstance:
    """One parrot."""

    def __init__(self, host: ExecutorHost, says_finished: int) -> None:
        self.host = host
        self.stopped = anyio.Event()
        self.says_finished = says_finished
        self.started = False

    async def prompt(self, text: str) -> None:
        if not self.started:
            self.host.event(Started("session-1"))
            self.started = True
        self.host.event(Called("1", "beak", {"open": True}))
        verdict = await self.host.approve(Permission("beak", "Open the beak?"))
        self.host.event(Returned("1", "open" if verdict.allow else verdict.reason, is_error=not verdict.allow))
        if text == "for ever":
            await self.stopped.wait()
        self.host.event(Said(text))
        for _ in range(self.says_finished):
            self.host.event(Finished("stopped" if self.stopped.is_set() else "done"))

    async def stop(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.stopped.set()


class SaysItTwice(Parrot):
    """Reports the end of a turn two times."""

    says_finished = 2


async def test_an_executor_that_keeps_its_promises_passes() -> None:
    await check_executor(Parrot, endless="for ever")


async def test_an_executor_that_breaks_a_promise_is_named_by_it() -> None:
    said = await broken_by(lambda: check_executor(SaysItTwice))

    assert "a turn is reported to its end" in said
