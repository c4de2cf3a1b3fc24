"""Which message taught an operation, and which facts are of one thing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from atlas_memory_facts.operations import Add, Archive, Replace
from atlas_memory_facts.teller import is_alike, told_at
from atlas_sdk.messages import Message, Sender, TextPart

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def said(*texts: str) -> tuple[tuple[Message, str], ...]:
    """Return messages, an hour apart."""
    return tuple(
        (
            Message(
                id=str(number), conversation="c", parent=None, role="user", sender=Sender(kind="person", id="owner"),
                parts=(TextPart(text=text),), created_at=NOON + timedelta(hours=number),
            ),
            text,
        )
        for number, text in enumerate(texts)
    )  # fmt: skip


def told(one: Add | Replace | Archive, *texts: str, kept: str = "") -> int:
    """Return the number of the message."""
    return int((told_at(one, said(*texts), kept) - NOON).total_seconds() // 3600)


def replace(value: str, message: int | None = None) -> Replace:
    return Replace(op="replace", id="fact-1", value=value, message=message)


def test_the_message_that_is_named_taught_it() -> None:
    assert told(replace("Lives in Lisbon.", 1), "I live in Lisbon.", "Lisbon is sunny.") == 0


def test_one_that_there_is_not_is_not_named() -> None:
    assert told(replace("Lives in Lisbon.", 7), "I live in Lisbon.", "Hello.") == 0


@pytest.mark.parametrize(
    ("value", "kept", "texts"),
    [
        ("Lives in Lisbon.", "Lives in Porto.", ("I live in Lisbon.", "Hello again.")),
        ("Lives in Lisbon.", "Lives in Porto.", ("Lisbon is my home.", "Where can I live cheaply?")),
        ("Has 3 cats.", "Has 2 cats.", ("We have 3 now.", "The cats sleep.")),
        ("Mora em Lisboa.", "Mora no Porto.", ("Agora moro em Lisboa.", "Bom dia.")),
        ("住在里斯本。", "住在波尔图。", ("我住在里斯本。", "你好。")),
    ],
)
def test_else_it_was_the_newest_that_has_its_new_words(value: str, kept: str, texts: tuple[str, ...]) -> None:
    assert told(replace(value), *texts, kept=kept) == 0


def test_what_is_archived_was_told_where_it_was_spoken_of() -> None:
    archive = Archive(op="archive", id="fact-1")

    assert told(archive, "I run no more marathons.", "Hello.", kept="Wants to run a marathon.") == 0


def test_where_nothing_tells_any_could_have_taught_it() -> None:
    assert told(replace("Lives in Lisbon."), "Moro na capital.", "Bom dia.") == 1


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Lives in Lisbon.", "Lives in Porto.", True),
        ("Works at Acme.", "works at Initech", True),
        ("Likes tea.", "Likes coffee.", False),
        ("Prefers metric units.", "Prefers short answers.", False),
        ("Has a cat called Miso.", "Has a dog.", False),
        ("Runs.", "Lives in Porto.", False),
    ],
)
def test_values_are_of_one_thing_that_differ_at_their_end(one: str, other: str, alike: bool) -> None:
    assert is_alike(one, other) is alike
    assert is_alike(other, one) is alike
