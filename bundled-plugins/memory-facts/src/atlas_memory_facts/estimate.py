"""What a review would cost, about, before it is asked for: its material is read, and no model is asked."""

from __future__ import annotations

from dataclasses import dataclass

from atlas_sdk.errors import AtlasError
from atlas_sdk.providers import ModelInfo
from atlas_sdk.records import Conversation
from atlas_sdk.services.models import MODELS

from .rendering import tokens
from .review import Reviewer
from .review_prompt import SYSTEM, prompt
from .system import Facts

REPLY_TOKENS = 300
"""A handful of operations; most reviews find nothing to save and take ten."""
_MILLION = 1_000_000


@dataclass(frozen=True)
class Estimate:
    """About what one review takes. ``dollars`` is None where the model's price is not known."""

    tokens: int
    dollars: float | None


async def estimated(system: Facts, conversation: Conversation) -> Estimate:
    """Return about what reviewing a conversation would take."""
    material = await Reviewer(system).material(conversation)
    count = tokens(SYSTEM) + tokens(prompt(material.batch.messages, list(material.known.values())))
    try:
        models = system.ctx.services.need(MODELS)
        _, model = await models.choose(conversation.provider, conversation.model)
    except AtlasError:  # the review itself says what is wrong
        return Estimate(count, None)
    return Estimate(count, _dollars(model, count))


def _dollars(model: ModelInfo, count: int) -> float | None:
    if model.input_price is None or model.output_price is None:
        return None
    return (count * model.input_price + REPLY_TOKENS * model.output_price) / _MILLION
