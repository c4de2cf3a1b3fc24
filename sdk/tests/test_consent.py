"""Consent holds for what was agreed to and for less, and for no more."""

from __future__ import annotations

from dataclasses import replace

from atlas_sdk.consent import declared, digest, is_agreed
from atlas_sdk.manifest import Manifest

AGREED = Manifest("kit", version="1.0.0", source="folder", tools=("a", "b"), network=("x.example",), llm=True)


def agreed(manifest: Manifest, to: Manifest = AGREED) -> bool:
    return is_agreed(manifest, digest(to), declared(to))


def test_the_same_and_less_are_agreed_to() -> None:
    assert agreed(AGREED)
    assert agreed(replace(AGREED, tools=("b",)))
    assert agreed(replace(AGREED, network=(), llm=False))


def test_more_is_not_agreed_to() -> None:
    assert not agreed(replace(AGREED, tools=("a", "c")))
    assert not agreed(replace(AGREED, notify=True))
    assert not agreed(replace(AGREED, network=("x.example", "y.example"), tools=()))


def test_what_runs_by_itself_is_agreed_to_as_it_was_or_gone() -> None:
    running = replace(AGREED, adds=(("hook_commands", ("date", "ls")),), fingerprint="of both")

    assert agreed(replace(running, tools=()), running)
    assert agreed(AGREED, running)
    assert not agreed(replace(running, adds=(("hook_commands", ("date",)),), fingerprint="of one"), running)
    assert not agreed(replace(running, fingerprint="of others"), running)


def test_nothing_is_agreed_to_without_a_consent() -> None:
    assert not is_agreed(Manifest("kit", version="1.0.0", source="folder"), "", {})
    assert not is_agreed(replace(AGREED, tools=("a",)), digest(AGREED), None)
