"""The fixtures that the pytest plugin offers."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """Run async tests on trio, as Atlas does. Where trio is not installed they run on asyncio.

    Mark a test with ``pytest.mark.anyio``, or a whole module with ``pytestmark``.
    """
    return "trio" if find_spec("trio") is not None else "asyncio"
