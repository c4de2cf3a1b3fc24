"""The vault keeps every promise of a vault."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_sdk.testing.conformance import check_vault
from atlas_sdk.testing.fakes import FakeContext
from atlas_vault.vault import AgeVault


@pytest.mark.anyio
@pytest.mark.parametrize("promise", check_vault.promises, ids=str)
async def test_the_vault_keeps_the_promise(promise: Any) -> None:
    await promise(lambda folder: AgeVault(FakeContext(folder)))
