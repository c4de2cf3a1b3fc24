"""The service PROVIDERS: providers that another plugin's manifest describes."""

from __future__ import annotations

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError, SettingsError
from atlas_sdk.manifest_file import MANIFEST
from atlas_sdk.providers import Provider
from atlas_sdk.values import Json

from .models_file import described_endpoint
from .roster import open_provider


class DescribedProviders:
    """Opens them, each on the context of the plugin it is of."""

    def open(self, id: str, entry: Json, ctx: PluginContext) -> Provider:
        """Return the provider. It is closed when its plugin is turned off."""
        try:
            endpoint = described_endpoint(id, entry, ctx.folder / MANIFEST)
        except SettingsError as error:  # a wrong file of settings stops Atlas; a wrong plugin is only off
            raise MisuseError(error.message, hint=error.hint) from error
        provider = open_provider(endpoint, ctx)
        ctx.on_unload(provider.close)
        return provider
