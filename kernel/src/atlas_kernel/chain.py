"""Interceptors composed into one call, the outermost first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

Go = TypeVar("Go", bound=Callable[..., Awaitable[Any]])


def chained(interceptors: Sequence[object], method: str, innermost: Go) -> Go:
    """Wrap ``innermost`` in each interceptor's ``method``, which is given the arguments and then the next to call."""
    go: Any = innermost
    for interceptor in reversed(interceptors):

        def around(outer: Any, inner: Any) -> Any:
            async def call(*arguments: Any) -> Any:
                return await outer(*arguments, inner)

            return call

        go = around(getattr(interceptor, method), go)
    result: Go = go
    return result
