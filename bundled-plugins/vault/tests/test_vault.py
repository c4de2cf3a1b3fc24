"""The vault's files: whose they are, what is in them, and what happens to a broken one."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pyrage
import pytest

from atlas_sdk.errors import AtlasError, StorageError
from atlas_sdk.homes import Home
from atlas_sdk.services.log import LOG
from atlas_sdk.services.vault import VAULT
from atlas_sdk.testing.fakes import FakeContext
from atlas_vault.settings import VaultSettings
from atlas_vault.vault import AgeVault, VaultError

pytestmark = pytest.mark.anyio
SECRET = "sk-this-value-must-never-be-seen"
POSIX = pytest.mark.skipif(os.name != "posix", reason="the system has no such modes")

OpenApp = Callable[..., AbstractAsyncContextManager[Any]]


class KeptLog:
    """The LOG service, keeping what it was told to hide."""

    def __init__(self) -> None:
        self.hidden: list[str] = []

    def add(self, value: str) -> None:
        self.hidden.append(value)

    def mask_known(self, text: str) -> str:
        return text

    def mask(self, text: str) -> str:
        return text


@pytest.fixture
def ctx(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path, name="vault")


@pytest.fixture
def folder(ctx: FakeContext) -> Path:
    return ctx.home / "secrets"


def own_key() -> str:
    return str(pyrage.x25519.Identity.generate())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- the files -----------------------------------------------------------------------------------


@POSIX
async def test_the_files_are_their_owners_alone(ctx: FakeContext, folder: Path) -> None:
    await AgeVault(ctx).set("A", SECRET)

    modes = {path.name: path.stat().st_mode & 0o777 for path in (folder, *(folder / name for name in names(folder)))}

    assert modes == {"secrets": 0o700, "vault.json": 0o600, "vault.key": 0o600}


async def test_looking_into_an_empty_vault_makes_no_file(ctx: FakeContext) -> None:
    await AgeVault(ctx).entries()
    await AgeVault(ctx).get("A")

    assert names(ctx.home) == []


async def test_each_value_is_a_ciphertext_of_its_own(ctx: FakeContext, folder: Path) -> None:
    vault = AgeVault(ctx)
    await vault.set("A", SECRET)
    first = json.loads((folder / "vault.json").read_text())["secrets"]["A"]["age"]
    await vault.set("B", SECRET)
    kept = json.loads((folder / "vault.json").read_text())["secrets"]

    assert kept["A"]["age"] == first  # setting one value does not touch another
    assert kept["A"]["age"] != kept["B"]["age"]
    assert base64.b64decode(first).startswith(b"age-encryption.org/v1\n")


async def test_a_value_the_disk_has_no_room_for_leaves_the_old_one(
    ctx: FakeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = AgeVault(ctx)
    await vault.set("A", "old-value")

    def no_room(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(StorageError, match="No space left"):
        await vault.set("A", "new-value")
    monkeypatch.undo()

    assert await AgeVault(ctx).get("A") == "old-value"
    assert names(ctx.home / "secrets") == ["vault.json", "vault.key"]


@POSIX
async def test_doctor_names_a_file_that_others_can_read(ctx: FakeContext, folder: Path) -> None:
    from atlas_vault.checks import checks

    ctx.services.offer(VAULT.by(AgeVault(ctx)))
    await ctx.services.need(VAULT).set("A", SECRET)
    modes, opens = checks(ctx)
    before = await modes.run()
    (folder / "vault.key").chmod(0o644)

    assert (before.state, (await opens.run()).state) == ("ok", "ok")
    found = await modes.run()
    assert found.state == "failed"
    assert "chmod go-rwx" in found.said


# --- the key -------------------------------------------------------------------------------------


async def test_a_missing_key_is_said_and_nothing_is_changed(ctx: FakeContext, folder: Path) -> None:
    await AgeVault(ctx).set("A", SECRET)
    (folder / "vault.key").unlink()
    before = (folder / "vault.json").read_bytes()
    vault = AgeVault(ctx)

    for attempt in (vault.get("A"), vault.set("B", "other-value"), vault.values(), vault.check()):
        with pytest.raises(VaultError, match="missing") as refusal:
            await attempt
        assert refusal.value.code == "vault_no_key"

    assert (folder / "vault.json").read_bytes() == before
    assert not (folder / "vault.key").exists()
    assert [entry.name for entry in await vault.entries()] == ["A"]


async def test_a_foreign_key_opens_nothing_and_each_name_is_said(ctx: FakeContext, folder: Path) -> None:
    vault = AgeVault(ctx)
    await vault.set("A", SECRET)
    await vault.set("B", "other-value")
    (folder / "vault.key").write_text(own_key() + "\n")

    with pytest.raises(VaultError, match="does not open A") as refusal:
        await vault.get("A")

    assert refusal.value.code == "vault_key_wrong"
    assert await vault.check() == ("A", "B")
    with pytest.raises(VaultError, match="does not open A"):
        await vault.set("C", "under another key")
    assert await vault.check() == ("A", "B")


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "hello", "AGE-SECRET-KEY-1XYZ", "\x00"])
async def test_what_is_no_key_is_refused_without_showing_it(ctx: FakeContext, folder: Path, text: str) -> None:
    vault = AgeVault(ctx)
    await vault.set("A", SECRET)
    (folder / "vault.key").write_text(text)

    with pytest.raises(AtlasError) as refusal:
        await vault.get("A")

    assert "no vault key" in str(refusal.value)
    assert "XYZ" not in str(refusal.value)


async def test_a_key_that_cannot_be_read_is_said(ctx: FakeContext, folder: Path) -> None:
    vault = AgeVault(ctx)
    await vault.set("A", SECRET)
    (folder / "vault.key").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(AtlasError, match="cannot be read"):
        await vault.get("A")


async def test_the_key_of_the_environment_is_used_and_written_nowhere(ctx: FakeContext, folder: Path) -> None:
    key = own_key()
    ctx.put_section(VaultSettings(key=key))
    await AgeVault(ctx).set("A", SECRET)

    assert await AgeVault(ctx).get("A") == SECRET
    assert names(folder) == ["vault.json"]
    ctx.put_section(VaultSettings())
    with pytest.raises(VaultError, match="missing"):
        await AgeVault(ctx).get("A")


async def test_the_key_of_a_file_is_used(ctx: FakeContext, tmp_path: Path, folder: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.write_text(f"# created: 2026-03-02\n{own_key()}\n")
    ctx.put_section(VaultSettings(key_file=str(mounted)))
    await AgeVault(ctx).set("A", SECRET)

    assert await AgeVault(ctx).get("A") == SECRET
    assert names(folder) == ["vault.json"]


async def test_a_key_file_that_is_not_there_is_said(ctx: FakeContext, tmp_path: Path) -> None:
    ctx.put_section(VaultSettings(key_file=str(tmp_path / "nowhere")))

    with pytest.raises(VaultError, match="nowhere") as refusal:
        await AgeVault(ctx).set("A", SECRET)

    assert refusal.value.code == "vault_no_key"
    assert not (ctx.home / "secrets").exists()


# --- a file that is damaged ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        '{"format": 1}',
        '{"format": 1, "secrets": []}',
        '{"format": 1, "secrets": {"A": {}}}',
        '{"format": 1, "secrets": {"A": {"age": "%%%", "set_at": "2026-03-02T00:00:00+00:00"}}}',
        '{"format": 1, "secrets": {"A": {"age": "AAAA", "set_at": "yesterday"}}}',
        '{"format": 1, "secrets": {"A": null}}',
        '{"format": 1, "secrets": {"A": {"age": 1, "set_at": "2026-03-02T00:00:00+00:00"}}}',
        '{"format": 2, "secrets": {}}',
        "\ud800".encode("utf-8", "surrogatepass"),
        b"\xff\xfe\x00\x01",
    ],
)
async def test_a_damaged_file_is_said_and_never_overwritten(ctx: FakeContext, folder: Path, text: str | bytes) -> None:
    await AgeVault(ctx).set("A", SECRET)
    path = folder / "vault.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = path.read_bytes()
    vault = AgeVault(ctx)

    for attempt in (vault.get("A"), vault.set("B", "other-value"), vault.delete("A"), vault.entries(), vault.check()):
        with pytest.raises(VaultError) as refusal:
            await attempt
        assert refusal.value.hint

    assert path.read_bytes() == before


async def test_a_ciphertext_that_was_cut_is_named(ctx: FakeContext, folder: Path) -> None:
    vault = AgeVault(ctx)
    await vault.set("A", SECRET)
    await vault.set("B", "other-value")
    kept = json.loads((folder / "vault.json").read_text())
    kept["secrets"]["A"]["age"] = base64.b64encode(base64.b64decode(kept["secrets"]["A"]["age"])[:-7]).decode()
    (folder / "vault.json").write_text(json.dumps(kept))

    assert await vault.check() == ("A",)
    assert await vault.get("B") == "other-value"


# --- where values never are ----------------------------------------------------------------------


async def test_a_value_is_hidden_from_the_log_when_it_is_set_and_when_it_is_read(ctx: FakeContext) -> None:
    log = KeptLog()
    ctx.services.offer(LOG.by(log))
    await AgeVault(ctx).set("A", SECRET)
    await AgeVault(ctx).get("A")

    assert log.hidden == [SECRET, SECRET]


async def test_a_value_is_hidden_before_it_can_fail_to_be_kept(ctx: FakeContext, tmp_path: Path) -> None:
    log = KeptLog()
    ctx.services.offer(LOG.by(log))
    ctx.put_section(VaultSettings(key_file=str(tmp_path / "nowhere")))

    with pytest.raises(VaultError):
        await AgeVault(ctx).set("A", SECRET)
    assert log.hidden == [SECRET]


async def test_a_value_is_in_no_file_of_the_home(atlas_app: OpenApp, atlas_home: Home) -> None:
    """Neither as it is nor in base64 or hex, after it was set, read, said to the log and part of a failure."""
    async with atlas_app("store", "vault", "gateway", config='[log]\nlevel = "DEBUG"\n') as app:
        methods = app.methods()
        set_ = methods["secret.set"]
        await set_.run(set_.params(name="A", value=SECRET), None)
        await app.services.need(VAULT).get("A")
        import logging

        logging.getLogger("atlas.plugin.test").error("It said %s and %s", SECRET, base64.b64encode(SECRET.encode()))
        shown = (await methods["secret.list"].run(methods["secret.list"].params(), None)).model_dump_json()

    assert SECRET not in shown
    log = (atlas_home.folder / "logs" / "atlas.log").read_text()
    assert "It said" in log
    forms = [SECRET.encode(), base64.b64encode(SECRET.encode()).rstrip(b"="), SECRET.encode().hex().encode()]
    forms += [SECRET.encode().hex().upper().encode(), SECRET[::-1].encode()]
    for path in atlas_home.folder.rglob("*"):
        if path.is_file():
            assert not [form for form in forms if form in path.read_bytes()], path


async def test_the_keys_variable_leaves_the_environment(atlas_app: OpenApp) -> None:
    """So that no command the agent runs inherits it."""
    key = own_key()
    environ = {"ATLAS_VAULT_KEY": key, "PATH": "/bin"}
    async with atlas_app("vault", environ=environ) as app:
        await app.services.need(VAULT).set("A", SECRET)

    assert environ == {"PATH": "/bin"}
    async with atlas_app("vault", environ={"ATLAS_VAULT_KEY": key}) as app:
        assert await app.services.need(VAULT).get("A") == SECRET


async def test_the_key_files_variable_is_obeyed(atlas_app: OpenApp, tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.write_text(own_key())
    async with atlas_app("vault", environ={"ATLAS_VAULT_KEY_FILE": str(mounted)}) as app:
        await app.services.need(VAULT).set("A", SECRET)
        assert await app.services.need(VAULT).get("A") == SECRET
        assert not (app.folder / "secrets" / "vault.key").exists()


async def test_a_key_in_the_settings_file_is_refused(atlas_app: OpenApp) -> None:
    with pytest.raises(AtlasError, match="does not belong in a file") as refusal:
        async with atlas_app("vault", config=f'[vault]\nkey = "{own_key()}"\n'):
            pass

    assert "AGE-SECRET" not in str(refusal.value)
