"""What a reviewer may answer: operations on what it was shown, or nothing; anything else is refused whole."""

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
        json.dumps([{**ADD, "op": "delete"}]),
        json.dumps([{**ADD, "category": "secret"}]),
        json.dumps([{**ADD, "extra": 1}]),
        json.dumps([{**ADD, "value": 7}]),
        json.dumps([{**ADD, "value": ""}]),
        json.dumps([{**ADD, "confidence": 2}]),
        json.dumps([{**ARCHIVE, "id": "fact-2"}]),
        json.dumps([ADD, {**REPLACE, "id": "fact-2"}]),
        json.dumps([REPLACE, ARCHIVE]),
        json.dumps([ADD] * 21),
        '[{"op": "archive", "id": "fact-1", "id": "fact-1"}]',
        "```json\n[]\n```\n```json\n[]\n```",
    ],
)
def test_anything_else_is_refused_whole(text: str) -> None:
    with pytest.raises(RefusedReplyError, match="refused whole"):
        parse(text, SHOWN)
