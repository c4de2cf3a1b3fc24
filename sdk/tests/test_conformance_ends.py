"""The conformance suites of what reaches the world: readers, channels and executors."""

from __future__ import annotations

from collections.abc import Awaitable
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
from atlas_sdk.testing.conformance import check_channel, check_executor, check_reader
from atlas_sdk.testing.fakes import FakeFileChannel

from .broken import broken_by

pytestmark = pytest.mark.anyio


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
