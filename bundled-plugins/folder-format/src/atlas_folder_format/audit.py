"""A plugin folder's context, in which the reading of secrets is noted."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from atlas_sdk.audit import Audit
from atlas_sdk.context import Clock, PluginContext
from atlas_sdk.services import Services
from atlas_sdk.settings import SettingsSection
from atlas_sdk.values import Json

S = TypeVar("S", bound=SettingsSection)


class AuditedContext:
    """A plugin's ``ctx`` whose reading of secrets is noted. Everything else is the context's own.

    With ``services`` it is for what Atlas does on the plugin's behalf, such as asking the model: a plugin itself has
    those alone that its manifest names.
    """

    def __init__(self, ctx: PluginContext, *, services: Services | None = None) -> None:
        self._ctx = ctx
        self._services = services
        self._audit = Audit(ctx.home, ctx.name, ctx.clock)

    @property
    def audit(self) -> Audit:
        return self._audit

    @property
    def name(self) -> str:
        return self._ctx.name

    @property
    def home(self) -> Path:
        return self._ctx.home

    @property
    def folder(self) -> Path:
        return self._ctx.folder

    @property
    def data_folder(self) -> Path:
        return self._ctx.data_folder

    @property
    def logger(self) -> logging.Logger:
        return self._ctx.logger

    @property
    def clock(self) -> Clock:
        return self._ctx.clock

    @property
    def services(self) -> Services:
        return self._services or self._ctx.services

    def section(self, kind: type[S]) -> S:
        return self._ctx.section(kind)

    def setting(self, name: str) -> Json:
        return self._ctx.setting(name)

    async def secret(self, name: str) -> str | None:
        value = await self._ctx.secret(name)
        self._audit.note("secret", name, "read" if value is not None else "not there")
        return value

    def on_unload(self, stop: Callable[[], Awaitable[None] | None]) -> None:
        self._ctx.on_unload(stop)
