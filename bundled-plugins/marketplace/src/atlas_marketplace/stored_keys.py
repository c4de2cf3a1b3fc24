"""The keys a server of the marketplace would get the moment it is installed, since the vault holds them already.

Fails closed: a vault that cannot be asked installs nothing that reads a key.
"""

from __future__ import annotations

from collections.abc import Mapping

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import NeedsConsentError, RefusedError
from atlas_sdk.providers import ChecksKeys
from atlas_sdk.services.home import HOME
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.vault import VAULT
from atlas_sdk.values import Json

from .item import Item
from .server_entry import names_read, receiver

GIVES_KEYS = "gives_stored_keys"
"""The code of the error that asks."""


async def check(ctx: PluginContext, item: Item, *, before: Json, is_agreed: bool) -> None:
    """Raise NeedsConsentError for a key that is stored and would go to who has not had it; ``before`` is the old entry.

    Raises RefusedError for one that is somebody else's, whoever agrees.
    """
    server = item.server or {}
    names = names_read(server)
    if not names:
        return
    owners = _owners(ctx)
    for name in sorted(names & owners.keys()):
        raise RefusedError(
            f"{item.name} is not installed. It would read {name}, the key of {owners[name]}, and send it to "
            f"{receiver(server)}.",
            hint="A server has keys of its own, with names of their own.",
        )
    vault = ctx.services.get(VAULT)
    stored = {entry.name for entry in await vault.entries()} if vault is not None else set()
    asked = names & stored
    if isinstance(before, Mapping) and receiver(before) == receiver(server):
        asked -= names_read(before)
    if asked and not is_agreed:
        said = ", ".join(sorted(asked))
        them = "it" if len(asked) == 1 else "them"
        raise NeedsConsentError(
            f"{item.name} reads {said}, which the vault holds already, and {receiver(server)} would get {them}.",
            hint="Agree with --yes, if that is whose it is.",
            code=GIVES_KEYS,
        )


def _owners(ctx: PluginContext) -> dict[str, str]:
    """Return whose each key is that a plugin or a model provider reads, on or not."""
    home, models = ctx.services.get(HOME), ctx.services.get(MODELS)
    manifests = home.manifests() if home is not None else ()
    owners = {secret.name: f"the plugin {one.name}" for one in manifests for secret in one.secrets}
    for id, provider in models.providers.items() if models is not None else ():
        if isinstance(provider, ChecksKeys) and provider.key_name:
            owners[provider.key_name] = f"the model provider {id}"
    return owners
