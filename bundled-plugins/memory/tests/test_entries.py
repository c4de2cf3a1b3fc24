"""Operations on entries: what is found, what is refused, and what is said back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_memory.entries import Applied, Operation, apply, parse, render, size, usage
from atlas_sdk.tools import ToolError

LIMIT = 200
TEA = "Likes “green” tea — hot."
CATS = "Has two cats."


def applied(*operations: Operation, to: tuple[str, ...] = (TEA, CATS), limit: int = LIMIT) -> Applied:
    return apply(to, operations, limit, file="memory/MEMORY.md")


def test_entries_are_counted_as_the_prompt_says() -> None:
    entries = (
        "Product designer; works remotely, in UTC-3.",
        "Prefers short answers, the conclusion first; technical terms explained in plain words.",
    )

    assert usage(entries, 1375) == "9% — 132/1,375 chars"


@pytest.mark.parametrize("piece", [CATS, "two cats", 'Likes "green" tea - hot.', "tea -  hot"])
def test_an_entry_is_found_equal_by_a_piece_and_evened_out(piece: str) -> None:
    result = applied(Operation("remove", old_text=piece))

    assert len(result.entries) == 1


def test_an_equal_entry_comes_before_one_that_holds_it() -> None:
    result = applied(Operation("remove", old_text="Tea."), to=("Tea. And cake.", "Tea."))

    assert result.entries == ("Tea. And cake.",)


def test_a_piece_of_two_entries_is_ambiguous() -> None:
    with pytest.raises(ToolError, match="2 entries hold"):
        applied(Operation("replace", "x", "a"))


def test_a_miss_names_the_closest_in_its_first_line() -> None:
    with pytest.raises(ToolError, match=r"The closest are: Has two cats\."):
        applied(Operation("remove", old_text="two dogs"))


def test_a_miss_names_nothing_that_only_the_call_itself_would_add() -> None:
    with pytest.raises(ToolError) as refused:
        applied(Operation("add", "Has two dogs and a parrot."), Operation("remove", old_text="two parrots"))

    assert "dogs" not in str(refused.value)
    assert CATS in str(refused.value)


def test_what_only_the_call_itself_would_add_is_called_so_where_it_makes_a_piece_ambiguous() -> None:
    with pytest.raises(ToolError, match=r"- Has two dogs\. \(of this call, not saved\)$"):
        applied(Operation("add", "Has two dogs."), Operation("remove", old_text="Has two"))


def test_all_or_nothing() -> None:
    with pytest.raises(ToolError, match="Operation 2"):
        applied(Operation("add", "New."), Operation("remove", old_text="nowhere"))


def test_a_full_memory_shows_its_entries_and_one_call_makes_room() -> None:
    long = "y" * 150
    with pytest.raises(ToolError, match="Has two cats"):
        applied(Operation("add", "z" * 170))
    result = applied(Operation("remove", old_text=TEA), Operation("add", long))

    assert result.entries == (CATS, long)
    assert [(one.operation, one.text) for one in result.overwritten] == [(1, TEA)]


def test_a_file_over_its_limit_may_shrink() -> None:
    result = applied(Operation("remove", old_text="a" * 90), to=("a" * 90, "b" * 90, "c" * 90))

    assert len(result.entries) == 2


def test_an_entry_that_is_there_changes_nothing() -> None:
    assert not applied(Operation("add", f" {CATS} ")).changes


def test_a_replace_with_what_is_there_keeps_it_once() -> None:
    result = applied(Operation("replace", CATS, "tea"))

    assert result.entries == (CATS,)
    assert result.overwritten[0].text == TEA


@pytest.mark.parametrize("content", ["", "  ", "a\n§\nb", "§"])
def test_content_that_is_no_entry_is_refused(content: str) -> None:
    with pytest.raises(ToolError):
        applied(Operation("add", content))


ENTRY = st.text("ab§ \n", min_size=1, max_size=12).filter(lambda text: text.strip() and parse(text) == (text.strip(),))


@given(st.lists(ENTRY, max_size=6))
def test_what_is_rendered_is_read_back(entries: list[str]) -> None:
    kept = tuple(entry.strip() for entry in entries)

    assert parse(render(kept)) == kept
    assert size(kept) <= len(render(kept))


def test_what_fills_a_file_to_the_last_sign_fits() -> None:
    room = LIMIT - size((TEA, CATS, ""))

    assert applied(Operation("add", "x" * room)).changes
    with pytest.raises(ToolError, match="it would take 201 of 200"):
        applied(Operation("add", "x" * (room + 1)))


def test_a_file_that_is_too_full_may_be_made_less_full() -> None:
    over = (TEA, CATS, "x" * LIMIT)

    assert applied(Operation("remove", old_text=CATS), to=over).entries == (TEA, "x" * LIMIT)
    with pytest.raises(ToolError, match="it would take"):
        applied(Operation("replace", "Has two cats and a dog.", CATS), to=over)
