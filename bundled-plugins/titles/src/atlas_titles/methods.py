"""The methods ``title.stay`` and ``title.leave``, for a command that runs the home itself and stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from atlas_sdk.methods import Caller, Method

if TYPE_CHECKING:
    from .titles import Titles

MOST_SECONDS = 60.0


class TitleStay(BaseModel):
    """Nothing to say."""

    model_config = ConfigDict(extra="forbid")


class TitleLeave(BaseModel):
    """The turn whose title is waited for, empty for those under way alone, and for how long."""

    model_config = ConfigDict(extra="forbid")

    turn: str = ""
    seconds: float = Field(default=0.0, ge=0.0, le=MOST_SECONDS)


class TitleState(BaseModel):
    """Whether a title is under way still."""

    running: bool


def methods(titles: Titles) -> list[Method]:
    """Return the methods."""

    async def stay(params: TitleStay, caller: Caller) -> TitleState:
        titles.stay()
        return TitleState(running=False)

    async def leave(params: TitleLeave, caller: Caller) -> TitleState:
        return TitleState(running=await titles.leave(params.turn, params.seconds))

    staying = "Have a home that is open for one command give titles: the command stays open until a person leaves it."
    leaving = "Begin no more titles, wait for those under way, and say whether one still is."
    return [
        Method("title.stay", TitleStay, TitleState, stay, staying),
        Method("title.leave", TitleLeave, TitleState, leave, leaving),
    ]
