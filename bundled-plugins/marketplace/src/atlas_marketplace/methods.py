"""The wire's side: ``marketplace.list``, ``show``, ``install``, ``update``, ``remove`` and ``check``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.messages import Frozen
from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.home import HOME
from atlas_sdk.services.vault import VAULT

from .checked import Checked
from .item import Item, Kind, SecretNeed, State
from .records import Retired
from .service import MARKET

if TYPE_CHECKING:
    from .market import Came, Done, Market


class ListParams(BaseModel):
    """Which kind, and whether to read the marketplace now."""

    model_config = ConfigDict(extra="forbid")
    kind: Kind | None = None
    refresh: bool = False


class Row(Frozen):
    """An item as lists show it. ``why`` says why it cannot be installed, or why it was retired."""

    name: str
    kind: str
    title: str
    summary: str
    author: str
    version: str
    official: bool
    state: State
    retired: bool = False
    why: str = ""


class Shipped(Frozen):
    """A plugin that came with Atlas."""

    name: str
    description: str


class Rows(Frozen):
    """The list. ``stale`` is why it could not be read now, empty when it was; ``broken`` are files, each with a why."""

    source: str
    read_at: datetime
    stale: str
    items: tuple[Row, ...]
    broken: dict[str, str]
    shipped: tuple[Shipped, ...]


class Named(BaseModel):
    """An item."""

    model_config = ConfigDict(extra="forbid")
    name: str


class InstallParams(Named):
    """An item. With ``give_keys`` the user agreed that it gets keys which are stored already."""

    give_keys: bool = False


class Secret(Frozen):
    """A secret an item reads, and whether it is in the vault."""

    name: str
    description: str
    url: str
    stored: bool


class Page(Frozen):
    """An item's page."""

    row: Row
    license: str
    repo: str
    sha: str
    path: str
    image: str
    server: dict[str, object] | None
    secrets: tuple[Secret, ...]
    readme: str
    readme_missing: str


class UpdateParams(BaseModel):
    """An item; ``force`` also where it was changed here. ``give_keys`` as when it is installed."""

    model_config = ConfigDict(extra="forbid")
    name: str
    force: bool = False
    give_keys: bool = False


class Installed(Frozen):
    """What came. ``changed`` is false where nothing had to."""

    name: str
    kind: str
    version: str
    changed: bool
    brought: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Removed(Frozen):
    """What is gone, and what became of it."""

    name: str
    said: str


class CheckParams(BaseModel):
    """Item files by their whole paths; none means every one in ``root``."""

    model_config = ConfigDict(extra="forbid")
    items: tuple[str, ...] = ()
    root: str
    load: bool = False


class CheckRows(Frozen):
    """One row a file."""

    items: tuple[Checked, ...]


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""

    async def list_(params: ListParams, caller: Caller) -> Rows:
        market = ctx.services.need(MARKET)
        listing = await market.listing(refresh=params.refresh)
        came = await market.came()
        retired = await market.retired()
        rows = [
            await _row(market, name, listing.items.get(name), came.get(name), retired.get(name))
            for name in sorted({*listing.items, *came, *retired})
        ]
        shipped = [
            Shipped(name=one.name, description=one.description)
            for one in ctx.services.need(HOME).manifests()
            if one.source == "bundled" and params.kind in (None, "plugin")
        ]
        return Rows(
            source=market.repository.settings.repository,
            read_at=listing.read_at,
            stale=listing.stale,
            items=tuple(row for row in rows if params.kind in (None, row.kind)),
            broken=listing.broken,
            shipped=tuple(sorted(shipped, key=lambda one: one.name)),
        )

    async def show(params: Named, caller: Caller) -> Page:
        market = ctx.services.need(MARKET)
        item = await market.named(params.name)
        came = (await market.came()).get(params.name)
        readme, missing = await _readme(market, item)
        stored = await _stored(ctx)
        return Page(
            row=await _row(market, item.name, item, came, None),
            license=item.license,
            repo=item.repo,
            sha=item.sha,
            path=item.path,
            image=item.image,
            server=item.server,
            secrets=tuple(_secret(secret, stored) for secret in item.secrets),
            readme=readme,
            readme_missing=missing,
        )

    async def install(params: InstallParams, caller: Caller) -> Installed:
        market = ctx.services.need(MARKET)
        return _installed(await market.install(params.name, give_keys=params.give_keys))

    async def update(params: UpdateParams, caller: Caller) -> Installed:
        market = ctx.services.need(MARKET)
        done = await market.update(params.name, force=params.force, give_keys=params.give_keys)
        if done is None:
            item = await market.named(params.name)
            return Installed(name=item.name, kind=item.kind, version=item.version, changed=False)
        return _installed(done)

    async def remove(params: Named, caller: Caller) -> Removed:
        market = ctx.services.need(MARKET)
        return Removed(name=params.name, said=await market.remove(params.name))

    async def check_(params: CheckParams, caller: Caller) -> CheckRows:
        from .check import check

        market = ctx.services.need(MARKET)
        files = [Path(one) for one in params.items]
        found = await check(market, files, root=Path(params.root), load=params.load)
        return CheckRows(items=tuple(found))

    return [
        Method(
            "marketplace.list",
            ListParams,
            Rows,
            list_,
            "List what the marketplace offers, and what came from it.",
            inside="open",
        ),
        Method(
            "marketplace.show", Named, Page, show, "An item's page: its README, and what it needs here.", inside="open"
        ),
        Method("marketplace.install", InstallParams, Installed, install, "Install an item; a plugin arrives off."),
        Method("marketplace.update", UpdateParams, Installed, update, "Bring an item to the marketplace's version."),
        Method("marketplace.remove", Named, Removed, remove, "Take away an item that came from the marketplace."),
        Method(
            "marketplace.check",
            CheckParams,
            CheckRows,
            check_,
            "Check item files, and their code at its commit.",
            inside="open",
        ),
    ]


async def _row(market: Market, name: str, item: Item | None, came: Came | None, stopped: Retired | None) -> Row:
    state = await market.state(item, came)
    if item is None:
        kind = came.kind if came is not None else stopped.kind if stopped is not None else ""
        why = stopped.why if stopped is not None else "The marketplace lists it no more."
        return Row(
            name=name, kind=kind, title=name, summary="", author="", version=came.version if came else "",
            official=False, state=state, retired=bool(stopped), why=why,
        )  # fmt: skip
    owner = market.repository.settings.repository.partition("/")[0]
    return Row(
        name=name,
        kind=item.kind,
        title=item.title or name,
        summary=item.summary,
        author=item.author,
        version=item.version,
        official=market.repository.folder is None and item.repo.partition("/")[0] == owner,
        state=state,
        retired=bool(item.retired),
        why=item.retired or " ".join(item.faults),
    )


async def _readme(market: Market, item: Item) -> tuple[str, str]:
    """Return an item's README at its commit, and why there is none."""
    if not item.repo or item.faults:
        return "", "It has no README here." if not item.faults else "Its code is not looked at."
    try:
        return await market.repository.text(item, "README.md"), ""
    except AtlasError as error:
        if item.kind != "skill":
            return "", error.message
    try:
        return await market.repository.text(item, "SKILL.md"), ""
    except AtlasError as error:
        return "", error.message


async def _stored(ctx: PluginContext) -> set[str]:
    vault = ctx.services.get(VAULT)
    return {entry.name for entry in await vault.entries()} if vault is not None else set()


def _secret(secret: SecretNeed, stored: set[str]) -> Secret:
    return Secret(name=secret.name, description=secret.description, url=secret.url, stored=secret.name in stored)


def _installed(done: Done) -> Installed:
    return Installed(
        name=done.item.name,
        kind=done.item.kind,
        version=done.item.version,
        changed=True,
        brought=tuple(done.brought),
        notes=tuple(done.notes),
    )
