"""The method ``review.wait``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from atlas_sdk.methods import Caller, Method

if TYPE_CHECKING:
    from .reviews import Reviews

MOST_SECONDS = 600.0


class ReviewWait(BaseModel):
    """Which conversation's review, after which turn (empty for any), and how long to wait for its end."""

    model_config = ConfigDict(extra="forbid")

    conversation: str
    turn: str = ""
    seconds: float = Field(default=0.0, ge=0.0, le=MOST_SECONDS)


class ReviewRuns(BaseModel):
    """Whether a review of the conversation is under way still."""

    running: bool


def methods(reviews: Reviews) -> list[Method]:
    """Return the methods."""

    async def wait(params: ReviewWait, caller: Caller) -> ReviewRuns:
        return ReviewRuns(running=await reviews.wait(params.conversation, params.turn, params.seconds))

    said = "Wait for the background review of a conversation, and say whether one is under way still."
    return [Method("review.wait", ReviewWait, ReviewRuns, wait, said)]
