"""Every hook is documented where it is declared: an author reads its docstring and nothing else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from atlas_sdk import hookspecs

DEMANDS: dict[str, re.Pattern[str]] = {
    "when it is called": re.compile(r"\bCalled\b"),
    "what to return": re.compile(r"\b[Rr]eturn"),
    "how answers combine": re.compile(
        r"\bjoined\b|\bcompose\b|\bsorted\b|\b[Oo]ne owner\b|\b[Aa]t most one\b|\b[Tt]he first\b|\bsecond\b|\beach\b"
    ),
    "what happens when it raises": re.compile(r"\braises?\b|\bfails?\b|\bbroken\b"),
    "an example": re.compile(r"^\s+@hookimpl\n\s+def atlas_\w+\(.*\):\n\s+return \[", re.MULTILINE),
}
_RAISES = frozenset({"what happens when it raises"})
_COMBINE = frozenset({"how answers combine"})
LACKING: dict[str, frozenset[str]] = {}
"""What is still to be written. It only ever gets shorter: an entry that is done must go."""
HOOKS: dict[str, Callable[..., Any]] = {
    name: function for name, function in inspect.getmembers(hookspecs, inspect.isfunction) if name.startswith("atlas_")
}
EXAMPLE_LINES = 5


def lacking(documentation: str) -> frozenset[str]:
    return frozenset(demand for demand, pattern in DEMANDS.items() if not pattern.search(documentation))


def test_there_are_hooks() -> None:
    assert len(HOOKS) >= 15


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_a_hooks_docstring_answers_all_that_an_author_asks(name: str) -> None:
    found = lacking(inspect.getdoc(HOOKS[name]) or "")

    assert found == LACKING.get(name, frozenset())


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_a_hooks_example_is_of_that_hook_and_short(name: str) -> None:
    documentation = inspect.getdoc(HOOKS[name]) or ""
    example = [line for line in documentation.split("@hookimpl", 1)[-1].splitlines() if line.strip()]

    assert f"def {name}(" in "\n".join(example)
    assert len(example) < EXAMPLE_LINES


@pytest.mark.parametrize("name", sorted(HOOKS))
def test_a_hook_takes_the_context_alone_and_returns_a_list(name: str) -> None:
    signature = inspect.signature(HOOKS[name])

    assert list(signature.parameters) == ["ctx"]
    assert str(signature.return_annotation).startswith("list[")
    assert not inspect.iscoroutinefunction(HOOKS[name])


def test_a_docstring_that_says_nothing_lacks_everything() -> None:
    """The check can fail."""
    assert lacking("Add things.") == frozenset(DEMANDS)
