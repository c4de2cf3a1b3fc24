"""Keeps keys and tokens, each one encrypted with age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.checks import Check
    from atlas_sdk.context import PluginContext
    from atlas_sdk.methods import Method
    from atlas_sdk.services import Provided
    from atlas_sdk.settings import SettingsSection


@hookimpl
def atlas_settings() -> list[type[SettingsSection]]:
    from .settings import VaultSettings

    return [VaultSettings]


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services.vault import VAULT

    from .vault import AgeVault

    return [VAULT.by(AgeVault(ctx))]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods

    return methods(ctx)


@hookimpl
def atlas_checks(ctx: PluginContext) -> list[Check]:
    from .checks import checks

    return checks(ctx)
