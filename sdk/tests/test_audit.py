"""The log of a plugin shows what Atlas wrote, however its file was made to read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atlas_sdk.audit import Audit
from atlas_sdk.testing.fake_context import FakeClock

AT = "2026-11-30T12:00:00+00:00"


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "[" * 100_000,
        '{"at": "2026-11-30T12:00:00+00:00"}',
        '{"kind": "secret", "what": "x"}',
        json.dumps({"at": "yesterday", "kind": "tool"}),
        json.dumps({"at": "2026-11-30T12:00:00", "kind": "tool"}),
        json.dumps({"at": AT, "kind": "Tool\nsecret"}),
        json.dumps({"at": AT, "kind": "tool", "what": 5}),
        json.dumps({"at": AT, "kind": "tool", "what": "x", "said": "more"}),
    ],
)
def test_a_line_that_is_no_entry_of_ours_is_not_shown(line: str, tmp_path: Path) -> None:
    audit = Audit(tmp_path, "helper", FakeClock())
    audit.note("tool", "real", "done")
    with (tmp_path / "logs" / "plugins" / "helper.jsonl").open("a") as file:
        file.write(f"{line}\n")

    assert [entry["what"] for entry in audit.lines(10)] == ["real"]


def test_what_somebody_else_wrote_is_cleaned_when_it_is_read(tmp_path: Path) -> None:
    audit = Audit(tmp_path, "helper", FakeClock())
    audit.note("tool", "real", "done")
    forged = {"at": AT, "kind": "tool", "what": "x\x1b[2J\u202e\nsecret KEY read" + "y" * 5_000, "outcome": "a\rb"}
    with (tmp_path / "logs" / "plugins" / "helper.jsonl").open("a") as file:
        file.write(json.dumps(forged) + "\n")
    entry = audit.lines(10)[-1]

    assert str(entry["what"]).startswith("x [2J  secret KEY read")
    assert (len(str(entry["what"])), entry["outcome"]) == (500, "a b")
