"""Rereads a conversation after a turn and keeps what it taught; tidies the skills that this made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.methods import Method
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided


@hookimpl
def atlas_schema() -> list[Schema]:
    from .tables import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from .reviews import REVIEWS, Reviews

    return [REVIEWS.by(Reviews(ctx))]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .budget import BudgetHook
    from .guard import GuardHook
    from .reviews import REVIEWS

    reviews = ctx.services.need(REVIEWS)
    return [reviews, reviews.curator, GuardHook(reviews), BudgetHook(reviews)]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .reviews import REVIEWS

    reviews = ctx.services.need(REVIEWS)
    return [reviews.work, reviews.curator.work]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods
    from .reviews import REVIEWS

    return methods(ctx.services.need(REVIEWS))
