"""The methods ``pairing.…`` and ``channel.…``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from atlas_sdk.context import PluginContext
from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.channels import CHANNELS, ChannelRow
from atlas_sdk.services.pairing import PAIRING, PairedPerson


class Nothing(BaseModel):
    """No params, or an empty result."""

    model_config = ConfigDict(extra="forbid")


class PairingCode(Nothing):
    """A code that somebody was answered. With ``guest`` they are let in as a guest, not as you."""

    code: str = Field(max_length=100)
    guest: bool = False


class PairingWho(Nothing):
    """Names somebody by their channel's stable id of them."""

    channel: str
    user: str


class People(BaseModel):
    """Those let in, and those waiting with a code."""

    people: tuple[PairedPerson, ...]


class ChannelList(BaseModel):
    """Channels, by name."""

    channels: tuple[ChannelRow, ...]


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""
    services = ctx.services

    async def list_(params: Nothing, caller: Caller) -> BaseModel:
        return People(people=await services.need(PAIRING).list())

    async def approve(params: PairingCode, caller: Caller) -> BaseModel:
        return await services.need(PAIRING).approve(params.code, guest=params.guest)

    async def forget(params: PairingWho, caller: Caller) -> BaseModel:
        await services.need(PAIRING).forget(params.channel, params.user)
        return Nothing()

    async def channels(params: Nothing, caller: Caller) -> BaseModel:
        return ChannelList(channels=await services.need(CHANNELS).list())

    return [
        Method("pairing.list", Nothing, People, list_, "List who may talk through channels, and who waits."),
        Method("pairing.approve", PairingCode, PairedPerson, approve, "Let in whoever holds a code."),
        Method("pairing.forget", PairingWho, Nothing, forget, "Remove somebody from a channel."),
        Method("channel.list", Nothing, ChannelList, channels, "List the channels and how they are.", inside="open"),
    ]
