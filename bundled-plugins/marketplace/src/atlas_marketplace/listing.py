"""The list of the marketplace: read from its repository or a folder, and kept for when it cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, MisuseError, RefusedError
from atlas_sdk.folder_files import is_file, is_folder
from atlas_sdk.homes import replace_file
from atlas_sdk.services.installer import INSTALLER, Fetched

from .item import Item, is_repository, read_item, to_json
from .settings import MarketplaceSettings
from .strict_yaml import YamlError

KEPT_FOR = timedelta(hours=1)
"""How old a list may be before it is read again; a folder is always read."""
ITEM_BYTES = 64_000
MOST_ITEMS = 10_000
README_BYTES = 256_000
_SETTING = "Set repository under [marketplace] in config.toml, or ATLAS_MARKETPLACE_REPOSITORY."


@dataclass(frozen=True)
class Listing:
    """The items by name, and when they were read. ``stale`` is why they could not be read again, empty when they were.

    ``broken`` are the files that are no items, each with the reason.
    """

    items: dict[str, Item]
    read_at: datetime
    stale: str = ""
    broken: dict[str, str] = field(default_factory=dict)
    fresh: bool = False
    """Whether it was read for this very question."""


class Repository:
    """Where the marketplace is: what it lists, and the code of its items at their commits."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    @property
    def settings(self) -> MarketplaceSettings:
        return self._ctx.section(MarketplaceSettings)

    @property
    def folder(self) -> Path | None:
        """The marketplace's folder, or None where it is a repository elsewhere."""
        name = self.settings.repository
        is_path = name.startswith((".", "/", "~", "\\")) or re.match(r"[A-Za-z]:[\\/]", name)
        return Path(name).expanduser() if is_path else None

    async def read(self) -> tuple[dict[str, Item], dict[str, str]]:
        """Read every item. Raises AtlasError when the marketplace cannot be read."""
        folder = self.folder
        if folder is not None:
            return await anyio.to_thread.run_sync(items_of, folder)
        settings = self.settings
        if not is_repository(settings.repository):
            raise MisuseError(
                f"The marketplace {settings.repository[:80]!r} is neither owner/name on GitHub nor a folder's path.",
                hint=_SETTING,
            )
        url = _filled(settings.archive_url, repo=settings.repository, ref=settings.branch)
        async with self._ctx.services.need(INSTALLER).unpacked(url) as fetched:
            return await anyio.to_thread.run_sync(items_of, fetched.folder)

    @asynccontextmanager
    async def code(self, item: Item) -> AsyncIterator[Fetched]:
        """Give the folder of an item's code at its commit, for the length of the block.

        Raises RefusedError when the archive says that it is of another commit.
        """
        async with self._archive(item.repo, item.sha) as fetched:
            if fetched.commit and fetched.commit != item.sha:
                raise RefusedError(
                    f"What came is the commit {fetched.commit[:12]} of {item.repo}, and not {item.sha[:12]}.",
                    hint="Nothing was installed. Tell the marketplace.",
                )
            yield Fetched(fetched.folder / item.path, fetched.commit)

    @asynccontextmanager
    async def _archive(self, repo: str, sha: str) -> AsyncIterator[Fetched]:
        installer = self._ctx.services.need(INSTALLER)
        beside = self.folder / "archives" / repo / f"{sha}.tar.gz" if self.folder is not None else None
        if beside is None or not is_file(beside):
            async with installer.unpacked(_filled(self.settings.archive_url, repo=repo, ref=sha)) as fetched:
                yield fetched
            return
        async with installer.unpacked(beside) as fetched:
            yield fetched

    async def text(self, item: Item, file: str) -> str:
        """Return one file of an item's code at its commit. Raises AtlasError when there is none."""
        path = f"{item.path.strip('/')}/{file}".lstrip("/")
        if self.folder is not None and is_file(self.folder / "archives" / item.repo / f"{item.sha}.tar.gz"):
            async with self.code(item) as fetched:
                try:
                    data = await anyio.Path(fetched.folder / file).read_bytes()
                except OSError as error:
                    raise MisuseError(f"There is no {path} in {item.repo}.") from error
        else:
            url = _filled(self.settings.raw_url, repo=item.repo, ref=item.sha, path=path)
            data = await self._ctx.services.need(INSTALLER).read(url, most_bytes=README_BYTES)
        return data[:README_BYTES].decode("utf-8", "replace")


class Listings:
    """The list as it was last read, and what reads it again."""

    def __init__(self, ctx: PluginContext, repository: Repository) -> None:
        self._ctx = ctx
        self._repository = repository
        self._file = ctx.data_folder / "list.json"

    async def get(self, *, refresh: bool) -> Listing:
        """Return the list: read now, or the last one with the reason. Raises AtlasError where there is none at all."""
        kept = await anyio.to_thread.run_sync(self._kept)
        now = self._ctx.clock.now()
        if kept is not None and not refresh and self._repository.folder is None and now - kept.read_at < KEPT_FOR:
            return kept
        try:
            items, broken = await self._repository.read()
        except AtlasError as error:
            if kept is None:
                raise
            return Listing(kept.items, kept.read_at, str(error), kept.broken)
        listing = Listing(items, now, "", broken, fresh=True)
        await anyio.to_thread.run_sync(self._keep, listing)
        return listing

    @property
    def _source(self) -> str:
        settings = self._repository.settings
        return f"{settings.repository}@{settings.branch} {settings.archive_url}"

    def _keep(self, listing: Listing) -> None:
        kept = {
            "source": self._source,
            "read_at": listing.read_at.astimezone(UTC).isoformat(),
            "items": [{**to_json(item), "faults": item.faults} for item in listing.items.values()],
            "broken": listing.broken,
        }
        replace_file(self._file, json.dumps(kept, ensure_ascii=False))

    def _kept(self) -> Listing | None:
        """Return the last list of this very marketplace; one that cannot be read is none."""
        try:
            kept = json.loads(self._file.read_text("utf-8"))
            if kept["source"] != self._source:
                return None
            items = [Item.model_validate(one) for one in kept["items"]]
            return Listing(
                {item.name: item for item in items}, datetime.fromisoformat(kept["read_at"]), "", kept["broken"]
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None


def items_of(folder: Path) -> tuple[dict[str, Item], dict[str, str]]:
    """Read the items of a marketplace's folder. One that is broken stops no other."""
    if folder.name == "items" and not is_folder(folder / "items"):
        folder = folder.parent  # an archive of nothing but items
    files = sorted((folder / "items").glob("*.yaml")) if is_folder(folder / "items") else None
    if files is None:
        raise MisuseError(f"There is no marketplace in {folder}: it has no folder items.", hint=_SETTING)
    if len(files) > MOST_ITEMS:
        raise RefusedError(f"The marketplace lists over {MOST_ITEMS:,} items.")
    items: dict[str, Item] = {}
    broken: dict[str, str] = {}
    for file in files:
        try:
            items[file.stem] = read_item(text_of(file), file=file.stem)
        except YamlError as error:
            broken[file.name] = error.message
    return items, broken


def text_of(file: Path) -> str:
    """Return an item's file as text. Raises YamlError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(ITEM_BYTES + 1)
        if len(data) > ITEM_BYTES:
            raise YamlError(f"It has over {ITEM_BYTES:,} bytes.")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise YamlError("It is not UTF-8 text.") from None
    except OSError as error:
        raise YamlError(f"It cannot be read: {error.strerror}.") from error


def _filled(template: str, **values: str) -> str:
    """Fill an address; a branch or a path in it is never more than a path."""
    from urllib.parse import quote

    for name, value in values.items():
        template = template.replace(f"{{{name}}}", quote(value, safe="/"))
    return template
