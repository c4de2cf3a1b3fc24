"""Telling a cancellation from an error that looks like one."""

from __future__ import annotations

import math

import anyio


def cancellation(error: BaseException) -> BaseException | None:
    """Return what of an error has to pass whoever catches it, or None where nothing has to.

    That is the cancellation of a scope around the caller, who is in a task. A plugin may raise the very same exception
    while nothing is cancelled, which would end the whole program.
    """
    kind = anyio.get_cancelled_exc_class()
    found = error.subgroup(kind) if isinstance(error, BaseExceptionGroup) else error
    is_one = isinstance(found, BaseExceptionGroup | kind)
    return found if is_one and anyio.current_effective_deadline() == -math.inf else None
