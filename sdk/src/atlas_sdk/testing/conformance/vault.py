"""What a vault promises: values come back as they were set, names never give them away, a restart finds them."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import anyio

from ...errors import AtlasError
from ...services.vault import VaultService
from ..suite import made, suite
from .raising import raises

MakeVault: TypeAlias = Callable[[Path], VaultService | Awaitable[VaultService]]
VALUES = (
    "v",
    "Grüße 猫",
    " spaces around ",
    "line\r\nline\n",
    "-----BEGIN KEY-----\nabc==\n-----END KEY-----\n",
    "x" * 100_000,
)


@dataclass
class VaultBench:
    """A vault over a folder, and what opens the next one."""

    vault: VaultService
    open: Callable[[], Awaitable[VaultService]]


@suite("vault")
@asynccontextmanager
async def check_vault(make_vault: MakeVault) -> AsyncIterator[VaultBench]:
    """Check a VaultService.

    ``make_vault`` opens a vault over a folder. It is called with a new folder for every promise, and again with
    the same one for what the next start must find.
    """
    with tempfile.TemporaryDirectory(prefix="atlas-", ignore_cleanup_errors=True) as folder:

        async def open_vault() -> VaultService:
            return await made(make_vault(Path(folder)))

        yield VaultBench(await open_vault(), open_vault)


@check_vault.promise
async def an_empty_vault_is_empty(bench: VaultBench) -> None:
    """Nothing to return, to list, to delete or to complain about, and no key is needed to say so."""
    assert await bench.vault.get("OPENAI_API_KEY") is None
    assert await bench.vault.entries() == ()
    assert await bench.vault.values() == ()
    assert await bench.vault.check() == ()
    assert await bench.vault.delete("OPENAI_API_KEY") is False


@check_vault.promise
async def a_value_comes_back_as_it_was_set(bench: VaultBench) -> None:
    """Of every script, with its spaces and line ends, short or of a hundred thousand characters."""
    for value in VALUES:
        await bench.vault.set("NAME", value)
        assert await bench.vault.get("NAME") == value


@check_vault.promise
async def a_value_is_replaced(bench: VaultBench) -> None:
    """Under one name there is one value, the last."""
    await bench.vault.set("A", "old-value")
    await bench.vault.set("A", "new-value")

    assert await bench.vault.get("A") == "new-value"
    assert await bench.vault.values() == ("new-value",)


@check_vault.promise
async def a_value_is_deleted_once(bench: VaultBench) -> None:
    """True, then False; the others stay."""
    await bench.vault.set("A", "value-a")
    await bench.vault.set("B", "value-b")

    assert await bench.vault.delete("A") is True
    assert await bench.vault.delete("A") is False
    assert await bench.vault.get("A") is None
    assert await bench.vault.get("B") == "value-b"


@check_vault.promise
async def entries_are_names_and_dates(bench: VaultBench) -> None:
    """By name, with an aware time, and never a value."""
    await bench.vault.set("B", "value-b")
    await bench.vault.set("A", "value-a")

    entries = await bench.vault.entries()

    assert [entry.name for entry in entries] == ["A", "B"]
    assert all(entry.set_at.tzinfo is not None for entry in entries)
    assert "value-" not in repr(entries)


@check_vault.promise
async def every_value_is_known_to_the_masker(bench: VaultBench) -> None:
    """``values`` returns them all, and a sound vault has nothing that does not open."""
    await bench.vault.set("A", "value-a")
    await bench.vault.set("B", "value-b")

    assert sorted(await bench.vault.values()) == ["value-a", "value-b"]
    assert await bench.vault.check() == ()


@check_vault.promise
async def a_restart_finds_what_was_set(bench: VaultBench) -> None:
    """A value is on disk when ``set`` returns, and gone from it when ``delete`` does."""
    await bench.vault.set("A", "value-a")
    await bench.vault.set("B", "value-b")
    await bench.vault.delete("B")

    again = await bench.open()

    assert await again.get("A") == "value-a"
    assert [entry.name for entry in await again.entries()] == ["A"]


@check_vault.promise
async def sets_at_once_lose_nothing(bench: VaultBench) -> None:
    """Twenty values set together are all there."""
    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(bench.vault.set, f"NAME_{number:02}", f"value-{number}")

    assert [entry.name for entry in await bench.vault.entries()] == [f"NAME_{number:02}" for number in range(20)]
    assert await bench.vault.get("NAME_07") == "value-7"


@check_vault.promise
async def what_cannot_be_a_secret_is_refused(bench: VaultBench) -> None:
    """An empty name, one that is a path, and an empty value raise AtlasError and change nothing."""
    await bench.vault.set("A", "value-a")

    for name, value in (("", "x"), ("../A", "x"), ("A B", "x"), ("A", "")):
        with raises(AtlasError) as refusal:
            await bench.vault.set(name, value)
        assert "value-a" not in str(refusal.error)

    assert [entry.name for entry in await bench.vault.entries()] == ["A"]
    assert await bench.vault.get("A") == "value-a"
