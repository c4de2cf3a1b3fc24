"""Reads attachments into text before the model sees them, each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.hooks import Hook
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services.attachments import ATTACHMENTS

    from .attachments import Attachments

    return [ATTACHMENTS.by(Attachments(ctx))]


@hookimpl
def atlas_schema() -> list[Schema]:
    from .notes import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_hooks(ctx: PluginContext) -> list[Hook]:
    from .notes import Notes

    return [Notes(ctx)]
