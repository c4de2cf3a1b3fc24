"""Meaning: which messages are near a question, whatever words they use. Provided by a plugin with a model."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from ..messages import Frozen
from . import ServiceKey


class Near(Frozen):
    """A message and how much nearer it is than messages are on average, in standard deviations."""

    message: str
    likeness: float


class MeaningService(Protocol):
    """Finds messages by meaning. It is a help and never needed: without it, words are searched alone."""

    async def nearest(
        self, text: str, *, limit: int = 200, conversations: Collection[str] | None = None
    ) -> tuple[Near, ...]:
        """Return the messages nearest to a text, the nearest first, of these conversations where given.

        What is not indexed yet is not among them. Returns nothing where the model is not there.
        """


MEANING: ServiceKey[MeaningService] = ServiceKey("meaning", 1)
