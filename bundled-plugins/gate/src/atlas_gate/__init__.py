"""The approval gate: what runs, what asks you, and what never runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.methods import Method
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided
    from atlas_sdk.settings import SettingsSection


@hookimpl
def atlas_settings() -> list[type[SettingsSection]]:
    from atlas_gate.settings import TrustSettings

    return [TrustSettings]


@hookimpl
def atlas_schema() -> list[Schema]:
    from atlas_gate.grants import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_gate.gate import Gate
    from atlas_sdk.services.gate import GATE

    return [GATE.by(Gate(ctx))]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from atlas_gate.methods import methods

    return methods(ctx)


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from atlas_sdk.forgetting import Rows

    # A permission is bound to a digest of the command, so it goes with its words: the command asks again.
    return [Rows(ctx.services, "gate_grant", "said", "rule", where="permissions you gave", whole=True)]
