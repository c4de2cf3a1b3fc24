"""SQLite store: conversations, messages, the ledger and the tables of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.services.store import STORE

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.services import Provided


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from .store import SqliteStore

    store = SqliteStore(ctx.home)
    return [STORE.by(store)]
