"""Fetching what an address names into a room: a folder, and the commit it is of."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import anyio.to_thread

from atlas_sdk.archives import copy_folder, unpack
from atlas_sdk.errors import AtlasError, NotFoundError, RefusedError
from atlas_sdk.folder_files import is_folder
from atlas_sdk.services.installer import Fetched

from . import download
from .address import Address, is_loopback
from .git import Git
from .plugin_folder import is_plugin

GITHUB_ARCHIVE = "https://codeload.github.com/{repo}/tar.gz/{ref}"
GITHUB_GIT = "https://github.com/{repo}.git"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
LEFT_OUT = (".git", ".hg", ".svn", "__pycache__", ".venv", "node_modules", ".DS_Store", ".mypy_cache", ".pytest_cache")
"""What lies in an author's folder and is not part of the plugin."""


async def fetch(address: Address, room: Path) -> Fetched:
    """Fetch a repository, an archive or a folder. Raises AtlasError with the reason."""
    match address.kind:
        case "folder":
            found = room / "fetched" / Path(address.place).name
            found.parent.mkdir()
            await anyio.to_thread.run_sync(lambda: copy_folder(Path(address.place), found, leave_out=LEFT_OUT))
            return Fetched(found)
        case "archive":
            if "://" not in address.place:
                return await archive_in(Path(address.place), room)
            return await archive_at(address.place, room)
        case "github":
            return await _github(address, room)
        case "git":
            return await _git(address.place, address.ref, room)
        case _:
            raise RefusedError(f"{address.place} is a package and no folder.")


async def archive_at(url: str, room: Path) -> Fetched:
    """Fetch an archive and unpack it."""
    await download.save(url, room / "archive")
    return await archive_in(room / "archive", room)


async def _github(address: Address, room: Path) -> Fetched:
    url = GITHUB_ARCHIVE.format(repo=address.place, ref=address.ref or "HEAD")
    try:
        return await archive_at(url, room)
    except NotFoundError:
        # A private repository has no archive for strangers; git may know a way in.
        try:
            return await _git(GITHUB_GIT.format(repo=address.place), address.ref, room)
        except AtlasError as error:
            what = f"{address.ref} of {address.place}" if address.ref else address.place
            raise NotFoundError(
                f"GitHub has no {what} that anybody may read.",
                hint="Check the spelling. A private one is reached by ssh: git@github.com:owner/repo.git.",
            ) from error
    except AtlasError as error:
        if error.code != "unreachable":
            raise
        said = f"{address.place} is looked for on GitHub. {error.message}"
        raise AtlasError(said, hint="Check the connection. A folder is named by its path: ./name.") from error


async def _git(place: str, ref: str, room: Path) -> Fetched:
    parts = urlsplit(place) if "://" in place else None
    more = "file" if parts and parts.scheme == "file" else "http" if parts and is_loopback(parts.hostname or "") else ""
    archive = room / "archive.git.tar.gz"
    commit = await Git(room / "repository", also=more).fetch(place, ref, archive)
    found = await archive_in(archive, room, wrapped=False)
    return Fetched(found.folder, commit)


async def archive_in(archive: Path, room: Path, *, wrapped: bool = True) -> Fetched:
    """Unpack an archive. ``wrapped`` ones may have one folder around all of it, which hosts add and is taken off."""
    target = room / "fetched"
    unpacked = await anyio.to_thread.run_sync(unpack, archive, target)
    commit = unpacked.comment if _COMMIT.fullmatch(unpacked.comment) else ""
    inner = list(target.iterdir())
    if wrapped and len(inner) == 1 and is_folder(inner[0]) and not is_plugin(target):
        return Fetched(inner[0], commit)
    return Fetched(target, commit)
