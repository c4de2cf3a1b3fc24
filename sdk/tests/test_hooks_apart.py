"""A hook of somebody else's plugin holds up nobody: it is called in a thread, and waited for a little."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from atlas_sdk import hooks_apart
from atlas_sdk.errors import MisuseError
from atlas_sdk.hooks_apart import HooksApart, apart
from atlas_sdk.hookspecs import hookimpl

CTX: Any = object()


def first(hooks: HooksApart) -> Callable[[], Any]:
    return hooks.first(CTX)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks_apart, "FIRST_SECONDS", 0.1)
    monkeypatch.setattr(hooks_apart, "ONCE_SECONDS", 0.1)
    monkeypatch.setattr(hooks_apart, "AGAIN_SECONDS", 0.1)


def test_a_hook_is_given_its_ctx_in_another_thread_and_answers_anew_each_time() -> None:
    threads: list[int] = []

    def tools(ctx: Any) -> list[Any]:
        threads.append(threading.get_ident())
        return [ctx, len(threads)]

    ask = HooksApart().hook("atlas_tools", tools)

    assert [ask(CTX), ask(CTX)] == [[CTX, 1], [CTX, 2]]
    assert threading.get_ident() not in threads


def test_what_a_hook_raises_is_raised_where_it_is_asked() -> None:
    def raises() -> list[Any]:
        raise SystemExit("enough")

    with pytest.raises(SystemExit, match="enough"):
        HooksApart().hook("atlas_tools", raises)(CTX)


@pytest.mark.parametrize("name", ["atlas_tools", "atlas_services"])
def test_a_hook_that_never_answered_in_its_time_has_failed_for_good(name: str) -> None:
    ended = threading.Event()
    ask = HooksApart().hook(name, lambda: ended.wait(10) and [])
    began = time.monotonic()
    for _ in range(2):
        with pytest.raises(MisuseError, match=r"it took over 0\.1 seconds"):
            ask(CTX)
    ended.set()

    assert time.monotonic() - began < 1


def test_a_hook_that_answered_before_keeps_its_answer_while_it_is_slow() -> None:
    may, calls = threading.Event(), [0]
    may.set()

    def tools() -> list[int]:
        calls[0] += 1
        may.wait(10)
        return [calls[0]]

    ask = HooksApart().hook("atlas_tools", tools)
    said = [ask(CTX)]
    may.clear()
    said += [ask(CTX), ask(CTX)]
    may.set()
    time.sleep(0.05)
    said.append(ask(CTX))

    assert said == [[1], [1], [1], [3]]


@pytest.mark.anyio
async def test_the_start_asks_first_and_says_who_took_too_long() -> None:
    hooks = HooksApart()
    ended = threading.Event()
    quick = hooks.hook("atlas_tools", lambda: ["a"])
    hangs = hooks.hook("atlas_instructions", lambda: ended.wait(10) and [])
    begin = hooks.hook("atlas_startup", list)(CTX)
    await begin[0]()

    assert quick(CTX) == ["a"]
    with pytest.raises(MisuseError, match="it took over"):
        hangs(CTX)
    ended.set()


def test_a_module_s_hooks_are_those_of_another_one() -> None:
    module = ModuleType("mine")

    @hookimpl(specname="atlas_tools", tryfirst=True)
    def its(ctx: Any) -> list[Any]:
        return [ctx]

    @hookimpl
    async def atlas_methods() -> list[Any]:
        return []

    module.its, module.atlas_methods = its, atlas_methods  # type: ignore[attr-defined]
    made: Any = apart(module)

    assert made.its(CTX) == [CTX]
    assert (made.its.atlas_impl["specname"], made.its.atlas_impl["tryfirst"]) == ("atlas_tools", True)
    assert made.atlas_methods is atlas_methods
    assert len(made.atlas_startup(CTX)) == 1
