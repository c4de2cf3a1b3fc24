"""The methods ``secret.…``. No value ever goes out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, SecretStr

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, NeedsConsentError
from atlas_sdk.events import SECRET, SettingChanged
from atlas_sdk.methods import Caller, Method
from atlas_sdk.providers import ChecksKeys
from atlas_sdk.services.events import EVENTS
from atlas_sdk.services.log import LOG
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.vault import VAULT, SecretEntry


class Nothing(BaseModel):
    """No params, or an empty result."""

    model_config = ConfigDict(extra="forbid")


class SecretName(Nothing):
    """Names a secret."""

    name: str


class SecretSet(SecretName):
    """A secret and its value."""

    value: SecretStr


class Secrets(BaseModel):
    """The secrets' names and when each was set."""

    secrets: tuple[SecretEntry, ...]


class Checked(BaseModel):
    """The secrets that did not open."""

    failed: tuple[str, ...]
    count: int


class Kept(BaseModel):
    """A secret was kept. ``said`` is what the provider it opens answered, empty where it opens none."""

    said: str = ""


class Done(BaseModel):
    """Whether anything was done."""

    done: bool


async def asked_of_provider(ctx: PluginContext, name: str, value: str) -> str:
    """Ask the model provider a key is for whether the key opens it, at no cost, and return what it said.

    Raises NeedsConsentError when the provider refuses the key, which is then not kept. One that cannot be asked
    at the moment refuses nothing.
    """
    models = ctx.services.get(MODELS)
    for provider in models.providers.values() if models is not None else ():
        if isinstance(provider, ChecksKeys) and provider.key_name == name:
            log = ctx.services.get(LOG)
            if log is not None:
                log.add(value)
            found = await provider.check_key(value)
            if found.state == "refused":
                raise NeedsConsentError(f"{name} was not kept. {found.said}", code="key_refused")
            return found.said
    return ""


async def _announced(ctx: PluginContext, name: str) -> None:
    """Tell what waits for a secret. It is in the vault already, so that nothing of this makes storing it fail."""
    events = ctx.services.get(EVENTS)
    if events is not None:
        try:
            await events.announce(SettingChanged(key=f"{SECRET}{name}", value=None))
        except AtlasError as error:
            ctx.logger.warning("A secret changed, and nobody could be told: %s", error)


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""

    async def set_(params: SecretSet, caller: Caller) -> BaseModel:
        value = params.value.get_secret_value()
        said = await asked_of_provider(ctx, params.name, value)
        await ctx.services.need(VAULT).set(params.name, value)
        await _announced(ctx, params.name)
        return Kept(said=said)

    async def list_(params: Nothing, caller: Caller) -> BaseModel:
        return Secrets(secrets=await ctx.services.need(VAULT).entries())

    async def delete(params: SecretName, caller: Caller) -> BaseModel:
        done = await ctx.services.need(VAULT).delete(params.name)
        if done:
            await _announced(ctx, params.name)
        return Done(done=done)

    async def check(params: Nothing, caller: Caller) -> BaseModel:
        vault = ctx.services.need(VAULT)
        return Checked(failed=await vault.check(), count=len(await vault.entries()))

    return [
        Method("secret.set", SecretSet, Kept, set_, "Store a secret."),
        Method("secret.list", Nothing, Secrets, list_, "List the secrets' names and dates."),
        Method("secret.delete", SecretName, Done, delete, "Remove a secret."),
        Method("secret.check", Nothing, Checked, check, "Open every secret and name those that do not open."),
    ]
