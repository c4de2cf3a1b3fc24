"""The fakes keep the promises of what they stand for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.testing.conformance.store import check_store
from atlas_sdk.testing.fake_store import FakeStore
from atlas_sdk.testing.fake_tables import FakeDisk

pytestmark = pytest.mark.anyio


@pytest.fixture
def make_store() -> Callable[[Path], FakeStore]:
    """Open a FakeStore over a folder; the second one over it finds what the first has kept."""
    disks: dict[Path, FakeDisk] = defaultdict(FakeDisk)
    return lambda folder: FakeStore(folder, disk=disks[folder])


@pytest.mark.parametrize("promise", check_store.promises, ids=str)
async def test_the_fake_store_keeps_the_promise(promise: Any, make_store: Callable[[Path], FakeStore]) -> None:
    await promise(make_store)
