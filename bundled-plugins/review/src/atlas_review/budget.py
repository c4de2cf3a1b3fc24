"""A review's calls of the model: under their own purpose, and only as many as the budget allows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from atlas_sdk.hooks import ModelGo, Stage
from atlas_sdk.messages import TextPart
from atlas_sdk.providers import Emit, ModelReply, ModelRequest

from .review import PURPOSE

if TYPE_CHECKING:
    from .reviews import Reviews

SPENT = "The review's budget is spent. What it wrote until here stays."


class BudgetHook:
    """Stands next to the provider, so that what stands further out takes a review's turn for any other turn."""

    stage: Stage = Stage.LAST

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        review = self._reviews.running.get(request.conversation or "")
        if review is None or request.purpose != "turn":
            return await go(request, emit)
        if not review.may_ask():
            review.spent = True
            return ModelReply((TextPart(text=SPENT, trust="agent", source="atlas"),), "end")
        review.calls += 1
        # Under the conversation's own id, since providers keep their caches by it.
        reply = await go(replace(request, purpose=PURPOSE, conversation=review.conversation), emit)
        review.answered(reply.usage.input_tokens)
        return reply
