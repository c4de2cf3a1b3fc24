"""Bringing in what others made: fetched, checked and put in place whole. Provided by the installer plugin."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from ..messages import Frozen
from ..values import Json
from . import ServiceKey


class Origin(Frozen):
    """Where something installed came from, as it is kept in the home.

    ``address`` is where it is fetched from, ``folder`` the folder inside it, ``ref`` the branch, tag or version asked
    for, ``commit`` the commit (or version) that came, and ``digest`` that of the files as they came. ``packages`` are
    the Python packages that came with it.
    """

    kind: Literal["git", "github", "archive", "folder", "package", "wheel", "marketplace"]
    address: str
    folder: str = ""
    ref: str = ""
    commit: str = ""
    digest: str = ""
    packages: dict[str, str] = Field(default_factory=dict)


class Installed(Frozen):
    """A plugin that was brought in. ``declares`` is what consent is given to, ``digest`` its digest."""

    name: str
    version: str
    description: str
    state: str
    why: str = ""
    declares: Json = None
    digest: str = ""
    grew: bool = False
    """Whether it declares something else than the one it replaced, so that consent is asked again."""
    changed: bool = True
    """Whether what came is something else than what was there."""
    origin: Origin


@dataclass(frozen=True)
class Fetched:
    """A folder of somebody else's, to look at. ``commit`` is the one git says it is of, empty when nobody says."""

    folder: Path
    commit: str = ""


class InstallerService(Protocol):
    """Fetches and installs. One thing is put in place at a time, whole or not at all, also across a kill."""

    async def install(self, address: str, *, ref: str = "", force: bool = False) -> Installed:
        """Fetch a plugin by its address and put it in place; it arrives off. Nothing of it is run.

        With ``force`` it takes the place of one of the same name. Raises AtlasError with the reason.
        """

    async def update(self, name: str) -> Installed:
        """Fetch a plugin again from where it came. It stays on only when it declares what was agreed to."""

    async def remove(self, name: str) -> None:
        """Turn a plugin off and take it away; its data stays. Raises NotFoundError for one not installed so."""

    async def origins(self) -> dict[str, Origin]:
        """Return where each installed plugin came from, by name."""

    async def read(self, url: str, *, most_bytes: int) -> bytes:
        """Return what an ``https`` address answers. Raises AtlasError, also for more bytes and other hosts."""

    def unpacked(self, archive: str | Path) -> AbstractAsyncContextManager[Fetched]:
        """Unpack an archive for the length of the block: of an ``https`` address, or of this computer by its path.

        One folder around all of it is taken off.
        """

    async def take_in(self, folder: Path, origin: Origin, *, force: bool = False, update: bool = False) -> Installed:
        """Put a copy of a plugin's folder in place, as ``install`` does with what it fetched.

        With ``update`` it is a new version of one installed before, and stays on while it declares the same.
        """

    async def put(
        self, folder: Path, target: Path, *, before: Path | None = None, key: str = "", origin: Origin | None = None
    ) -> None:
        """Put a copy of a folder at ``target`` in the home, whole or not at all.

        What was there moves to ``before``, or is deleted where that is None. ``origin`` is kept under ``key``, such as
        ``skills/notes``, with the digest of what was put.
        """

    async def take_away(self, target: Path, *, before: Path, key: str) -> None:
        """Move a folder that was ``put`` to ``before``, and forget its origin."""


INSTALLER: ServiceKey[InstallerService] = ServiceKey("installer", 1)
