"""Conformance suites: what a contract promises, one named check a promise.

A suite is run whole by calling it, ``await check_vault(make_vault)``, and promise by promise with pytest:

    @pytest.mark.parametrize("promise", check_vault.promises, ids=str)
    async def test_my_vault_keeps_its_promises(promise):
        await promise(make_vault)
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, ParamSpec, TypeVar

import anyio

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

PROMISE_SECONDS = 10.0
"""How long one check may take. Every one ends in well under a second; an implementation that hangs is named."""


class BrokenPromiseError(AssertionError):
    """An implementation does not do what its contract promises; the message names the promise."""


class Promise(Generic[P, S]):
    """One promise of a contract. Its name is a sentence, and its docstring says what is demanded."""

    def __init__(
        self, of: str, prepare: Callable[P, AbstractAsyncContextManager[S]], check: Callable[[S], Awaitable[None]]
    ) -> None:
        self._of = of
        self._prepare = prepare
        self._check = check
        self.name = getattr(check, "__name__", "promise")
        self.demands = inspect.getdoc(check) or ""

    def __str__(self) -> str:
        return self.name

    async def __call__(self, *arguments: P.args, **named: P.kwargs) -> None:
        """Check the promise on a fresh subject. Raises BrokenPromiseError."""
        sentence = self.name.replace("_", " ")
        try:
            with anyio.fail_after(PROMISE_SECONDS):
                async with self._prepare(*arguments, **named) as subject:
                    await self._check(subject)
        except Exception as error:
            why = str(error) or type(error).__name__
            raise BrokenPromiseError(f"This {self._of} breaks a promise: {sentence}. {self.demands}\n{why}") from error


class Suite(Generic[P, S]):
    """All promises of one contract. Each is checked on a fresh subject, whatever became of the one before."""

    def __init__(self, of: str, prepare: Callable[P, AbstractAsyncContextManager[S]]) -> None:
        self._of = of
        self._prepare = prepare
        self._promises: list[Promise[P, S]] = []
        self.__doc__ = prepare.__doc__
        self.__wrapped__ = prepare  # so that the signature shown is that of the arguments it takes

    @property
    def promises(self) -> tuple[Promise[P, S], ...]:
        """The promises, in the order in which the contract names them."""
        return tuple(self._promises)

    def promise(self, check: Callable[[S], Awaitable[None]]) -> Callable[[S], Awaitable[None]]:
        """Add a promise to the suite."""
        self._promises.append(Promise(self._of, self._prepare, check))
        return check

    async def __call__(self, *arguments: P.args, **named: P.kwargs) -> None:
        """Check every promise, then raise for all that are broken together."""
        broken: list[BrokenPromiseError] = []
        for promise in self._promises:
            try:
                await promise(*arguments, **named)
            except BrokenPromiseError as error:
                broken.append(error)
        if len(broken) == 1:
            raise broken[0]
        if broken:
            said = "\n\n".join(str(error) for error in broken)
            raise BrokenPromiseError(f"{len(broken)} promises are broken.\n\n{said}") from broken[0]


def suite(of: str) -> Callable[[Callable[P, AbstractAsyncContextManager[S]]], Suite[P, S]]:
    """Make a suite out of the function that prepares what its promises look at."""

    def make(prepare: Callable[P, AbstractAsyncContextManager[S]]) -> Suite[P, S]:
        return Suite(of, prepare)

    return make


async def made(value: T | Awaitable[T]) -> T:
    """Return what a maker made: an object, or one that is awaited first."""
    if inspect.isawaitable(value):
        return await value
    return value
