"""Front matter as people write it."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_sdk.front_matter import FrontMatterError, first_line, read_document, split

READ: list[tuple[str, dict[str, Any]]] = [
    ("name: a", {"name": "a"}),
    ("description: Use when: the build fails, e.g. http://x", {"description": "Use when: the build fails, e.g. http://x"}),
    ('description: "Says \\"hi\\":\\tnow\\u0021"', {"description": 'Says "hi":\tnow!'}),
    ("description: 'it''s'  # why", {"description": "it's"}),
    ("description: plain # with a comment", {"description": "plain"}),
    ("description: C# is no comment", {"description": "C# is no comment"}),
    ("description: one\n  and two\nname: b", {"description": "one and two", "name": "b"}),
    ("description: >-\n  one\n  two\n\n  three\nname: b", {"description": "one two\n\nthree", "name": "b"}),
    ("description: |\n  one\n    two\nname: b", {"description": "one\n  two", "name": "b"}),
    ('description: "over\n  two lines"', {"description": "over two lines"}),
    ("description:\n  below it", {"description": "below it"}),
    ("tools: [Read, 'Write', \"Bash(git:*)\"]", {"tools": ["Read", "Write", "Bash(git:*)"]}),
    ("tools:\n  - Read\n  - Bash(git add:*)\nname: b", {"tools": ["Read", "Bash(git add:*)"], "name": "b"}),
    ("tools:\n- Read\n- Write", {"tools": ["Read", "Write"]}),
    ('tools:\n  [\n    "Read",\n    "Write",\n  ]\nname: b', {"tools": ["Read", "Write"], "name": "b"}),
    ("tools: Read, Grep", {"tools": "Read, Grep"}),
    ("metadata:\n  origin: agent\n  more:\n    deep: true\nname: b",
     {"metadata": {"origin": "agent", "more": {"deep": True}}, "name": "b"}),
    ("metadata: {origin: agent, pinned: true}", {"metadata": {"origin": "agent", "pinned": True}}),
    ("hooks:\n  - name: a\n    run: b\n  - name: c", {"hooks": [{"name": "a", "run": "b"}, {"name": "c"}]}),
    ("disable-model-invocation: true", {"disable-model-invocation": True}),
    ("name: a\n\n# a comment\nmodel:", {"name": "a", "model": ""}),
    ("argument-hint: [file] [--fast]", {"argument-hint": "[file] [--fast]"}),
    ("\"quoted key\": 'x'", {"quoted key": "x"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), READ)
def test_front_matter_is_read(text: str, wanted: dict[str, Any]) -> None:
    assert split(f"---\n{text}\n---\nBody.\n") == (wanted, "Body.")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nname: a\n", "does not end"),
        ("---\njust words\n---\n", "Line 2"),
        ("---\nname: a\n    b: c\n  d: e\nf: g\n- h\n---\n", "Line 6"),
        ('---\nname: "a\n---\n', "not closed"),
        ("---\n" + "\n".join("  " * depth + "a:" for depth in range(60)) + "\n---\n", "too deep"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_line(text: str, why: str) -> None:
    with pytest.raises(FrontMatterError, match=why):
        split(text)


def test_a_file_without_front_matter_is_all_body() -> None:
    assert split("# Review\n\n---\nLook at it.\n") == ({}, "# Review\n\n---\nLook at it.")
    assert split("") == ({}, "")
    assert split("\ufeff---\r\nname: a\r\n---\r\nBody.") == ({"name": "a"}, "Body.")


LINES = st.lists(st.text(alphabet="ab:-|>[]{}'\"# \t,\\\u732b", max_size=12), max_size=8)


@given(lines=LINES)
def test_whatever_stands_there_it_is_read_or_refused(lines: list[str]) -> None:
    text = "\n".join(["---", *lines, "---", "Body."])
    try:
        front, body = split(text)
    except FrontMatterError:
        return

    assert isinstance(front, dict)
    assert body.endswith("Body.")


@given(value=st.text(alphabet="ab \u732b!?()*", min_size=1).filter(lambda text: text.strip()))
def test_what_is_quoted_is_kept_as_it_is(value: str) -> None:
    assert split(f'---\ndescription: "{value}"\n---\nx')[0] == {"description": value}


ROUGH: list[tuple[str, dict[str, Any]]] = [
    (
        "description: first\nsaid: [a, Bash(b, c), 'd, e']",
        {"description": "first", "said": ["a", "Bash(b, c)", "d, e"]},
    ),
    ('description: "a\nname: b', {"description": '"a', "name": "b"}),
    ("description: one\ngoes on at the margin\nname: b", {"description": "one goes on at the margin", "name": "b"}),
    ("description: one\n    - two\n  three: four\nname: b", {"description": "one - two three: four", "name": "b"}),
    ("just words\nname: b", {"name": "b"}),
    ("name: a\nname: b", {"name": "a"}),
    ("tools:\n" + "\n".join("  " * depth + "a:" for depth in range(1, 60)) + "\nname: b", {"tools": ..., "name": "b"}),
]


@pytest.mark.parametrize(("text", "wanted"), ROUGH)
def test_of_a_strangers_file_what_can_be_read_is_taken(text: str, wanted: dict[str, Any]) -> None:
    document = read_document(f"\n---\r\n{text}\n---\nBody.\n")

    assert (document.body, document.has_front_matter) == ("Body.", True)
    assert {name: value if wanted.get(name) is not ... else ... for name, value in document.fields.items()} == wanted


@pytest.mark.parametrize(("text", "wanted"), READ)
def test_a_strangers_file_in_good_order_is_read_as_ones_own(text: str, wanted: dict[str, Any]) -> None:
    assert read_document(f"---\n{text}\n---\nBody.").fields == wanted


def test_a_field_is_told_as_text_and_as_names() -> None:
    document = read_document("---\ntools: Read, Bash(a, b)\nagain: [Read, true]\nnot: {a: b}\n---\n# Title\n")

    assert document.names("tools") == ("Read", "Bash(a, b)")
    assert (document.names("again"), document.names("none")) == (("Read", "true"), None)
    assert (document.text("again"), document.text("not")) == ("Read, true", "")
    assert first_line(document.body) == "Title"


@pytest.mark.parametrize("text", ["---\nname: a\n", "---", "", "\ufeff\n# Title\n---\n"])
def test_what_is_no_front_matter_is_body(text: str) -> None:
    assert read_document(text).body == text.strip("\ufeff \n")


@given(lines=LINES)
def test_a_strangers_file_is_always_read(lines: list[str]) -> None:
    document = read_document("\n".join(["---", *lines, "---", "Body."]))

    assert document.body.endswith("Body.")


@pytest.mark.parametrize(
    "front",
    [
        "a" + " " * 900_000 + "x",
        'a: "' + "x\n  " * 200_000,
        "a: '" + "x\n  " * 200_000,
        "a: [" + "x\n  " * 200_000,
        'a: "' + "\\\n  " * 200_000,
        "tools: " + "a'" * 400_000,
        "tools: [" + "a'," * 300_000 + "]",
        "a:\n" + "- x\n" * 200_000,
        "a: |\n" + "  x\n" * 200_000,
        "a: " + "] " * 400_000,
    ],
    ids=lambda text: f"{text[:9]!r}",
)
def test_a_megabyte_is_read_as_fast_as_its_length_asks(front: str) -> None:
    """Each line was looked at from its beginning again and again, which took minutes and more."""
    start = time.thread_time()
    read_document(f"---\n{front}\n---\nBody.").names("tools")

    assert time.thread_time() - start < 6.0
