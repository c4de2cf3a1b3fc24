"""What the agent remembers: its soul, your profile and its notes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.checks import Check
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.instructions import Section
    from atlas_sdk.memory import Forgetter, MemorySystem
    from atlas_sdk.methods import Method
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided
    from atlas_sdk.settings import SettingsSection
    from atlas_sdk.tools import Tool


@hookimpl
def atlas_settings() -> list[type[SettingsSection]]:
    from .settings import MemorySettings

    return [MemorySettings]


@hookimpl
def atlas_schema() -> list[Schema]:
    from .tables import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from .slot import SLOT, Slot

    return [SLOT.by(Slot(ctx))]


@hookimpl
def atlas_startup(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .slot import SLOT

    return [ctx.services.need(SLOT).start]


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .slot import SLOT
    from .told_saves import ToldSaves

    slot = ctx.services.need(SLOT)
    return [slot.compare_later, ToldSaves(slot).after_a_crash]


@hookimpl
def atlas_memories(ctx: PluginContext) -> list[MemorySystem]:
    from .slot import SLOT

    return [ctx.services.need(SLOT).notes]


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .slot import SLOT
    from .tool import memory_tool

    slot = ctx.services.need(SLOT)
    return [memory_tool(slot)] if slot.system == slot.notes.name else []


@hookimpl
def atlas_instructions(ctx: PluginContext) -> list[Section]:
    from .sections import sections
    from .slot import SLOT

    return sections(ctx.services.need(SLOT))


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .discreet import Discreet
    from .last_word import LastWord
    from .outgoing import Outgoing
    from .self_check import SelfCheck
    from .slot import SLOT
    from .told_saves import ToldSaves

    slot = ctx.services.need(SLOT)
    return [LastWord(slot), Outgoing(slot), Discreet(slot), SelfCheck(slot), ToldSaves(slot)]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods
    from .slot import SLOT

    return methods(ctx.services.need(SLOT))


@hookimpl
def atlas_checks(ctx: PluginContext) -> list[Check]:
    from .checks import checks
    from .slot import SLOT

    return checks(ctx.services.need(SLOT))


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from .forgetting import SetAside
    from .redaction import Backups, Conversations, Instructions
    from .slot import SLOT

    return [SetAside(ctx.services.need(SLOT)), Conversations(ctx), Instructions(ctx), Backups(ctx)]
