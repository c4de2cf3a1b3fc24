"""Where the tools do not go."""

from __future__ import annotations

import os
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from atlas_files.places import Places, system_folders
from atlas_sdk.tools import ToolError

pytestmark = pytest.mark.anyio


def ways_to_the_vault(desk: Any) -> list[str]:
    (desk.folder / "file-link").symlink_to(desk.home / "secrets" / "vault.json")
    (desk.folder / "folder-link").symlink_to(desk.home / "secrets")
    (desk.folder / "home-link").symlink_to(desk.home)
    os.link(desk.home / "secrets" / "vault.json", desk.folder / "hard")
    return [
        str(desk.home / "secrets" / "vault.json"),
        str(desk.home / "SECRETS" / "vault.json"),
        "../atlas/secrets/vault.json",
        "../atlas/./plugins/../secrets/vault.json",
        "file-link",
        "folder-link/vault.json",
        "home-link/secrets/vault.json",
        "hard",
    ]


async def test_no_way_leads_to_the_vault(desk: Any) -> None:
    for path in ways_to_the_vault(desk):
        for tool, more in [
            ("read_file", {}),
            ("write_file", {"content": "x"}),
            ("edit_file", {"old_string": "hunter2", "new_string": "x"}),
            ("find_files", {"pattern": "hunter"}),
        ]:
            with pytest.raises(ToolError, match="keys"):
                await desk.call(tool, path=path, **more)
    assert (desk.home / "secrets" / "vault.json").read_text() == "hunter2"
    assert desk.host.effects == []


async def test_a_new_file_does_not_come_to_be_in_the_vault(desk: Any) -> None:
    (desk.folder / "out").symlink_to(desk.home / "secrets")

    for path in ("out/new", "out/deep/new", str(desk.home / "run" / "server.json")):
        with pytest.raises(ToolError, match="keys"):
            await desk.call("write_file", path=path, content="x")


async def test_a_search_passes_the_vault_by(desk: Any, tmp_path: Path) -> None:
    ways_to_the_vault(desk)
    (desk.folder / "mine.txt").write_text("hunter2")

    for arguments in ({}, {"output_mode": "count"}, {"output_mode": "files_only"}, {"target": "files"}):
        pattern = "*" if "target" in arguments else "hunter"
        text = await desk.call("find_files", pattern=pattern, path=str(tmp_path), **arguments)
        assert "mine.txt" in text
        assert "vault.json" not in text
        assert "hard" not in text


async def test_the_vaults_of_other_homes_are_out_of_reach_too(tmp_path: Path) -> None:
    root = tmp_path / ".atlas"
    for home in (root, root / "homes" / "work", root / "homes" / "other"):
        (home / "secrets").mkdir(parents=True)
        (home / "plugin-data").mkdir()
    places = Places(root / "homes" / "work", ())

    for home in (root, root / "homes" / "other"):
        with pytest.raises(ToolError):
            places.check_read(home / "secrets" / "vault.json")
        with pytest.raises(ToolError):
            places.check_write(home / "config.toml")


@pytest.mark.parametrize(
    "name",
    ["config.toml", "mcp.json", "models.toml", "plugins/x/a.py", "plugin-data/plugins.json", "atlas.db", "atlas.db-wal",
     "Config.TOML", "ATLAS.DB", "backups/x"],
)  # fmt: skip
async def test_what_is_atlas_own_is_not_written(desk: Any, name: str) -> None:
    with pytest.raises(ToolError, match="belongs to Atlas"):
        await desk.call("write_file", path=str(desk.home / name), content="x")


async def test_notes_in_the_home_are_written(desk: Any) -> None:
    await desk.call("write_file", path=str(desk.home / "notes" / "atlas.db"), content="x")

    assert (desk.home / "notes" / "atlas.db").read_text() == "x"


@pytest.mark.skipif(os.name != "posix", reason="folders of POSIX")
async def test_the_systems_folders_are_not_written(desk: Any) -> None:
    (desk.folder / "etc").symlink_to("/etc")

    for path in ("/etc/passwd", "etc/new", "/usr/local/x", "/bin/sh", "/proc/sys/x", "/dev/null"):
        with pytest.raises(ToolError, match=r"of the system|process"):
            await desk.call("write_file", path=path, content="x")


def test_windows_names_its_own_system_folders() -> None:
    found = system_folders("win32", {"SystemRoot": r"C:\Windows"})

    assert [PureWindowsPath(str(path)) for path in found] == [PureWindowsPath(r"C:\Windows")]
