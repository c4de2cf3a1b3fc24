"""The SQLite store keeps every promise of a store."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_sdk.testing.conformance.store import check_store
from atlas_store.store import SqliteStore


@pytest.mark.anyio
@pytest.mark.parametrize("promise", check_store.promises, ids=str)
async def test_the_sqlite_store_keeps_the_promise(promise: Any) -> None:
    await promise(SqliteStore)
