"""What a conformance suite says of something that breaks a promise."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from atlas_sdk.testing.suite import BrokenPromiseError


async def broken_by(check: Callable[[], Awaitable[None]]) -> str:
    """Return what a suite says of something that breaks a promise."""
    with pytest.raises(BrokenPromiseError) as broken:
        await check()
    return str(broken.value)
