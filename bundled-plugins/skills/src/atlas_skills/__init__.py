"""How to do one kind of task: listed for the model, loaded when it is used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.commands import SlashCommand
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.instructions import Section
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.methods import Method
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided
    from atlas_sdk.tools import Tool


@hookimpl
def atlas_schema() -> list[Schema]:
    from .tables import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from .library import LIBRARY, Library

    return [LIBRARY.by(Library(ctx))]


@hookimpl
def atlas_startup(ctx: PluginContext) -> list[Callable[[], Awaitable[object]]]:
    from .library import LIBRARY

    return [ctx.services.need(LIBRARY).start]


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .library import LIBRARY
    from .manage import skill_manage
    from .use_skill import use_skill

    library = ctx.services.need(LIBRARY)
    loads = [use_skill(library)] if library.listed() or library.of_bots() else []
    return [*loads, skill_manage(library)]


@hookimpl
def atlas_commands(ctx: PluginContext) -> list[SlashCommand]:
    from .library import LIBRARY
    from .use_skill import retired_command, slash_command

    library = ctx.services.need(LIBRARY)
    gone = [retired_command(library, name) for name in library.retired()]
    return [slash_command(library, skill) for skill in library.invocable()] + gone


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .latecomers import Latecomers
    from .library import LIBRARY

    library = ctx.services.need(LIBRARY)
    return [Latecomers(ctx, library), library.usage]


@hookimpl
def atlas_instructions(ctx: PluginContext) -> list[Section]:
    from .sections import how_to

    return [how_to()]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .library import LIBRARY
    from .methods import methods

    return methods(ctx.services.need(LIBRARY))


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from .forgetting import SkillsForgetter
    from .library import LIBRARY

    return [SkillsForgetter(ctx.services.need(LIBRARY))]
