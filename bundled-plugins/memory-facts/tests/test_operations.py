"""What a reviewer may answer: operations on what it was shown, or nothing; what is none is refused alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from atlas_memory_facts.facts import Fact, Source
from atlas_memory_facts.operations import Add, Archive, Plan, RefusedReplyError, Replace, parse
from atlas_memory_facts.scopes import Scope, Whose

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WHOSE = Whose("", "owner", Scope("owner", "owner"))
SHOWN = {"fact-1": Fact("fact-1", WHOSE, "goal", "k", "v", 1, "user_md", Source("a", "b", "c"), NOW, NOW)}
ADD = {"op": "add", "category": "identity", "key": "city", "value": "Lives in Porto."}
REPLACE = {"op": "replace", "id": "fact-1", "value": "Lives in Lisbon."}
ARCHIVE = {"op": "archive", "id": "fact-1"}


@pytest.mark.parametrize(
    "text", ["Nothing to save.", " nothing to save \n", "`Nothing to save.`", "[]", '{"operations": []}']
)
def test_there_may_be_nothing_to_save(text: str) -> None:
    assert parse(text, SHOWN) == Plan()


@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "```\n{}\n```"])
def test_operations_are_read_bare_or_in_one_fence(form: str) -> None:
    text = form.format(json.dumps({"operations": [ADD, REPLACE]}))

    assert parse(text, SHOWN).operations == (
        Add(op="add", category="identity", key="city", value="Lives in Porto.", confidence=0.8),
        Replace(op="replace", id="fact-1", value="Lives in Lisbon."),
    )
    assert parse(json.dumps([ARCHIVE]), SHOWN).operations == (Archive(op="archive", id="fact-1"),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sure! Here are the operations: []",
        "[] I hope that helps.",
        "Nothing to save. But the user likes tea.",
        "null",
        '"text"',
        json.dumps({"operations": [ADD], "notes": "x"}),
        json.dumps({"operations": 7}),
        '{"operations": [], "operations": []}',
        json.dumps([{**ADD, "op": "delete"}]),
        json.dumps(["add", 7]),
        "```json\n[]\n```\n```json\n[]\n```",
        "[" * 100_000,
    ],
)
def test_what_holds_no_operation_at_all_is_refused_whole(text: str) -> None:
    with pytest.raises(RefusedReplyError, match="refused whole"):
        parse(text, SHOWN)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({**ADD, "op": "delete"}, "it has no op of add, replace, archive."),
        ("add", "it is no object."),
        ({**ADD, "extra": 1}, "extra is not known."),
        ({**ADD, "value": 7}, "value takes text, not 7."),
        ({**ADD, "confidence": 2}, "confidence is wrong: should be less than or equal to 1."),
        ({"op": "replace", "id": "fact-1"}, "value is missing."),
        ({**ARCHIVE, "id": "fact-2"}, "there is no fact 'fact-2' among those that it was shown."),
    ],
)
def test_one_that_cannot_be_done_is_refused_alone(bad: object, why: str) -> None:
    plan = parse(json.dumps([ADD, bad, ARCHIVE]), SHOWN)

    assert [one.op for one in plan.operations] == ["add", "archive"]
    assert plan.refused == (f"Operation 2: {why}",)


def test_one_that_names_a_key_twice_is_refused_alone() -> None:
    plan = parse(f'[{json.dumps(ADD)}, {{"op": "archive", "id": "fact-1", "id": "fact-1"}}]', SHOWN)

    assert [one.op for one in plan.operations] == ["add"]
    assert plan.refused == ("Operation 2: a key stands twice in it.",)


def test_of_two_for_one_fact_none_is_done() -> None:
    plan = parse(json.dumps([REPLACE, ADD, ARCHIVE]), SHOWN)

    assert [one.op for one in plan.operations] == ["add"]
    assert [one[:13] for one in plan.refused] == ["Operation 1: ", "Operation 3: "]


def test_those_beyond_twenty_are_refused() -> None:
    plan = parse(json.dumps([ADD] * 22), SHOWN)

    assert len(plan.operations) == 20
    assert plan.refused[0] == "Operation 21: it is one too many, since at most 20 are done at once."
    assert len(plan.refused) == 2
