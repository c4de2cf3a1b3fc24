"""Talk to Atlas from chat apps: who may, on which conversation, each message once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.checks import Check
    from atlas_sdk.context import PluginContext
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.methods import Method
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services.channels import CHANNELS
    from atlas_sdk.services.pairing import PAIRING

    from .channels import Channels

    channels = Channels(ctx)
    return [CHANNELS.by(channels), PAIRING.by(channels.pairing)]


@hookimpl
def atlas_schema() -> list[Schema]:
    from .schema import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods

    return methods(ctx)


@hookimpl
def atlas_background(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .channels import own

    channels = own(ctx)
    return [channels.run] if channels is not None else []


@hookimpl
def atlas_checks(ctx: PluginContext) -> list[Check]:
    from atlas_sdk.checks import Check

    from .channels import own

    channels = own(ctx)
    return [Check("channels.run", "Channels run", channels.check)] if channels is not None else []


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from atlas_sdk.forgetting import Rows

    out = "atlas pairing forget CHANNEL USER takes somebody out, and their chats with them."
    return [
        Rows(ctx.services, "channels_outbox", "data", where="what was sent to chats"),
        *(Rows(ctx.services, one, "name", "person", where="who is let in", stays=out) for one in _PEOPLE),
    ]


_PEOPLE = ("channels_person", "channels_code")
