"""Calls into a channel: whatever it raises is its own failure, and stops nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from atlas_sdk.errors import AtlasError


async def attempt(call: Callable[..., Awaitable[Any]], *arguments: Any) -> Exception | None:
    """Await a call and return what it raised, or None. Cancellation passes."""
    try:
        await call(*arguments)
    except Exception as error:  # noqa: BLE001  # a channel of anybody's may raise anything
        return error
    return None


def sentence(error: BaseException) -> str:
    """Return an error as one sentence."""
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        return sentence(error.exceptions[0])
    if isinstance(error, AtlasError):
        return str(error)
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
