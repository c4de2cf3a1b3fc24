"""Find what was said in past conversations, message by message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.checks import Check
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.instructions import Section
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.methods import Method
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided
    from atlas_sdk.tools import Tool

    from .index import Index

SEARCH_FIRST = (
    "When the user speaks of something said before that you do not know, search past conversations with "
    "conversation_search before you ask them to say it again."
)


@hookimpl
def atlas_schema() -> list[Schema]:
    from .tables import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services.recall import RECALL

    from .index import Index

    return [RECALL.by(Index(ctx))]


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .conversation_search import conversation_search
    from .recall import Recall

    return [conversation_search(ctx, Recall(ctx, _index(ctx)))]


@hookimpl
def atlas_instructions() -> list[Section]:
    from atlas_sdk.instructions import Section

    return [Section(360, "recall", lambda _: SEARCH_FIRST)]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods
    from .recall import Recall

    return methods(ctx, Recall(ctx, _index(ctx)))


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .awake import Awake

    return [Awake(_index(ctx))]


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from .forgetting import SearchIndex

    return [SearchIndex(ctx, _index(ctx))]


@hookimpl
def atlas_checks(ctx: PluginContext) -> list[Check]:
    from .awake import check

    return [check(ctx)]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    return [_index(ctx).run]


def _index(ctx: PluginContext) -> Index:
    """Return the home's one index, which is the service."""
    from atlas_sdk.services.recall import RECALL

    found: Index = ctx.services.need(RECALL)  # type: ignore[assignment]  # the service of this plugin is its Index
    return found
