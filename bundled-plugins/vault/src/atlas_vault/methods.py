"""The methods ``secret.…``. No value ever goes out."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, SecretStr

from atlas_sdk.context import PluginContext
from atlas_sdk.methods import Caller, Method
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


class Done(BaseModel):
    """Whether anything was done."""

    done: bool


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""

    async def set_(params: SecretSet, caller: Caller) -> BaseModel:
        await ctx.services.need(VAULT).set(params.name, params.value.get_secret_value())
        return Nothing()

    async def list_(params: Nothing, caller: Caller) -> BaseModel:
        return Secrets(secrets=await ctx.services.need(VAULT).entries())

    async def delete(params: SecretName, caller: Caller) -> BaseModel:
        return Done(done=await ctx.services.need(VAULT).delete(params.name))

    async def check(params: Nothing, caller: Caller) -> BaseModel:
        vault = ctx.services.need(VAULT)
        return Checked(failed=await vault.check(), count=len(await vault.entries()))

    return [
        Method("secret.set", SecretSet, Nothing, set_, "Store a secret."),
        Method("secret.list", Nothing, Secrets, list_, "List the secrets' names and dates."),
        Method("secret.delete", SecretName, Done, delete, "Remove a secret."),
        Method("secret.check", Nothing, Checked, check, "Open every secret and name those that do not open."),
    ]
