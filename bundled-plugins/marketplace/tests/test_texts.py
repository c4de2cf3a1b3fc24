"""YAML is read as little as items need, and a skill's origin is written into its front matter."""

from __future__ import annotations

import pytest

from atlas_marketplace.skill_folder import marked
from atlas_marketplace.strict_yaml import YamlError, front_matter, load


def test_a_commit_of_digits_alone_is_text() -> None:
    text = (
        "sha: 0123456789012345678901234567890123456789\nshort: 0123456\nat: 2026-07-01\nyes: on\nport: 80\nok: true\n"
    )

    assert load(text) == {
        "sha": "0123456789012345678901234567890123456789",
        "short": "0123456",
        "at": "2026-07-01",
        "yes": "on",
        "port": 80,
        "ok": True,
    }


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system [x]",
        "a: !x y",
        "a: &b c\nd: *b",
        "a: 1\na: 2",
        "1: 2",
        "a: [",
        "[" * 5000,
        "a: " + "x" * 70_000,
    ],
)
def test_anything_else_of_yaml_is_refused(text: str) -> None:
    with pytest.raises(YamlError) as refusal:
        load(text)
    assert str(refusal.value).isprintable()


def test_a_description_with_a_colon_is_taken_as_it_is_meant() -> None:
    front, body = front_matter("---\nname: x\ndescription: Use when: it's late.\n---\nBody\n")

    assert front == {"name": "x", "description": "Use when: it's late."}
    assert body == "Body\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Just text.\n", "---\nmetadata:\n  origin: marketplace\n---\nJust text.\n"),
        ("---\nname: x\n---\nb\n", "---\nname: x\nmetadata:\n  origin: marketplace\n---\nb\n"),
        (
            "---\nmetadata:\n    origin: agent\n    requires: {}\nname: x\n---\nb\n",
            "---\nmetadata:\n    origin: marketplace\n    requires: {}\nname: x\n---\nb\n",
        ),
        (
            "---\nmetadata: {origin: agent}\nname: x\n---\nb\n",
            "---\nname: x\nmetadata:\n  origin: marketplace\n---\nb\n",
        ),
    ],
)
def test_the_origin_of_a_skill_is_the_marketplace_whatever_it_says(before: str, after: str) -> None:
    assert marked(before) == after
    assert front_matter(marked(before))[0]["metadata"]["origin"] == "marketplace"


def test_what_is_wrong_is_said_with_its_line_and_no_drawing() -> None:
    with pytest.raises(YamlError) as refusal:
        load("name: tips\nwhat: a: b\n")

    assert str(refusal.value) == "It is no YAML that is taken: mapping values are not allowed here, in line 2."
