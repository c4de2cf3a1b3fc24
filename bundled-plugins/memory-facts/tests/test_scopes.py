"""Scopes, over agents, bots, owners, channels and jobs: nothing of another's is ever shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_memory_facts import facts
from atlas_memory_facts.admission import reviewed, stored
from atlas_memory_facts.categories import CATEGORIES, SHEETS
from atlas_memory_facts.facts import Draft, Fact, Source
from atlas_memory_facts.rendering import sheet_text, snapshot
from atlas_memory_facts.scopes import OWNER, Who, is_within, key_of, may_read, owner_of
from atlas_memory_facts.tables import SCHEMA
from atlas_memory_facts.tools import recalled
from atlas_sdk.records import Conversation, Origin
from atlas_sdk.services.store import Transaction
from atlas_store.store import SqliteStore

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOURCE = Source("one", "review", "one")
WHO = st.builds(
    Who,
    agent=st.sampled_from(["main", "cook", "clerk"]),
    owner=st.sampled_from([OWNER, "guest:telegram:7", "guest:matrix:7", "people of:telegram:1"]),
    conversation=st.sampled_from(["telegram:1", "telegram:2", "matrix:1", "talk", "owner", "main"]),
    job=st.sampled_from(["", "", "backup", "report"]),
)
WRITES = st.lists(st.tuples(WHO, st.sampled_from([*CATEGORIES, "stored"])), min_size=1, max_size=12)


def made(writes: list[tuple[Who, str]]) -> list[tuple[Who, Fact]]:
    """Return the facts that these writes make, each with who wrote it. What is not let in is none."""
    found = []
    for number, (who, category) in enumerate(writes):
        value = f"Fact number{number}x."
        if category == "stored":
            draft = stored(who, f"key {number}", value, source=SOURCE)
        elif category == "directive" and who.owner != OWNER:
            continue
        else:
            draft = reviewed(who, category, f"key {number}", value, confidence=1, source=SOURCE)
        found.append((who, fact(f"fact-{number}", draft)))
    return found


def fact(id: str, draft: Draft) -> Fact:
    at = NOW + timedelta(seconds=int(id.removeprefix("fact-")))
    return Fact(id, draft.whose, draft.category, draft.key, draft.value, 1, draft.target, draft.source, at, at)


def is_anothers(writer: Who, fact: Fact, reader: Who) -> bool:
    """Whether a fact is not the reader's, said by who wrote it and not by the rules under test."""
    match fact.whose.scope.type:
        case "owner":
            return writer.owner != reader.owner
        case "agent":
            return (writer.owner, writer.agent) != (reader.owner, reader.agent)
        case "conversation":
            return (writer.agent, writer.conversation) != (reader.agent, reader.conversation)
        case "job":
            return (writer.agent, writer.job) != (reader.agent, reader.job)


@given(WRITES, WHO)
def test_no_fact_of_anothers_scope_ever_stands_in_a_prompt(writes: list[tuple[Who, str]], reader: Who) -> None:
    there = made(writes)
    text = snapshot(*(sheet_text(sheet, [one for _, one in there], reader) for sheet in SHEETS))

    shown = [(writer, one) for writer, one in there if one.value in text]
    assert [one for writer, one in shown if is_anothers(writer, one, reader)] == []
    assert [one for _, one in shown if one.whose.scope.type == "job" or not one.target] == []


@given(WRITES, WHO, st.sampled_from(["current", "owner", "all"]))
def test_no_fact_of_anothers_scope_is_ever_recalled(writes: list[tuple[Who, str]], reader: Who, within: str) -> None:
    read = [(writer, one) for writer, one in made(writes) if is_within(one.whose, reader, within)]  # type: ignore[arg-type]

    assert [one for writer, one in read if is_anothers(writer, one, reader)] == []
    assert reader.job == "" or all(one.whose.scope.type == "job" for _, one in read)


@given(WRITES)
def test_who_wrote_a_fact_may_read_it(writes: list[tuple[Who, str]]) -> None:
    for writer, one in made(writes):
        in_scope = (one.whose.scope.type == "job") == bool(writer.job)
        assert may_read(one.whose, writer) is in_scope


@given(st.sets(st.sampled_from(["telegram:7", "matrix:7", ""])), st.booleans())
def test_a_conversation_with_a_guest_is_never_the_owners(guests: set[str], with_owner: bool) -> None:
    owner = owner_of("telegram:1", guests, with_owner=with_owner)

    assert (owner == OWNER) is (not guests)


def test_a_guest_who_calls_himself_owner_is_not_the_owner() -> None:
    assert owner_of("telegram:1", ["owner"], with_owner=False) == "guest:owner"


def test_a_chat_is_one_however_often_it_began_anew() -> None:
    def begun(id: str, origin: Origin) -> str:
        return key_of(Conversation(id=id, origin=origin, created_at=NOW, updated_at=NOW))

    chat = Origin(kind="channel", name="telegram", chat="12345")

    assert begun("a", chat) == begun("b", chat) == "telegram:12345"
    assert begun("a", Origin()) == "a"


def test_no_fact_of_anothers_scope_is_found_in_the_database(tmp_path: Path) -> None:
    """The same over rows and the index of words, as the tool asks them."""
    store = SqliteStore(tmp_path)

    async def answers(writes: list[tuple[Who, str]], reader: Who) -> list[tuple[Who, Fact]]:
        drafts = made(writes)

        def work(transaction: Transaction) -> list[Fact]:
            facts.erase(transaction, [one.id for one in facts.live(transaction)])
            for _, one in drafts:
                draft = Draft(one.whose, one.category, one.key, one.value, 1, one.target, one.source)
                facts.put(transaction, draft, NOW)
            return [*recalled(transaction, reader, "all", "fact"), *recalled(transaction, reader, "all", "")]

        writers = {one.value: writer for writer, one in drafts}
        return [(writers[one.value], one) for one in await store.write(work)]

    @settings(max_examples=40, deadline=None)  # a disk that others write to keeps no deadline
    @given(WRITES, WHO)
    def is_kept(writes: list[tuple[Who, str]], reader: Who) -> None:
        found = trio.run(answers, writes, reader)

        assert [one for writer, one in found if is_anothers(writer, one, reader)] == []

    trio.run(store.migrate, "memory-facts", SCHEMA)
    is_kept()
    trio.run(store.close)
