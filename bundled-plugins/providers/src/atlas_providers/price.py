"""What a call costs: what the provider reported, else its price list, else nothing for a local model, else unknown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from atlas_sdk.records import Cost, Usage

PER_MILLION = 1_000_000


@dataclass(frozen=True)
class LongContext:
    """What a list asks for the whole of a request with more than ``above_tokens`` of input."""

    above_tokens: int
    input_factor: float
    output_factor: float


@dataclass(frozen=True)
class Price:
    """A provider's list, in US dollars per million tokens. None is a figure that is not known.

    ``last_day`` is the last day the list is known to hold.
    """

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    cache_write: float | None = None
    long: LongContext | None = None
    last_day: date | None = None


UNKNOWN_PRICE = Price()


def cost_of(price: Price, usage: Usage, *, today: date, local: bool = False, reported: float | None = None) -> Cost:
    """Return a call's cost and who says so. A kind of token whose price is not known makes the whole unknown."""
    if reported is not None:
        return Cost(dollars=reported, source="reported")
    if local:
        return Cost(dollars=0.0, source="free")
    if price.last_day is not None and today > price.last_day:
        return Cost()
    factors = (1.0, 1.0)
    if price.long is not None and usage.input_tokens > price.long.above_tokens:
        factors = (price.long.input_factor, price.long.output_factor)
    fresh = usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens
    dollars = 0.0
    for tokens, each, factor in (
        (fresh, price.input, factors[0]),
        (usage.cached_tokens, price.cached, factors[0]),
        (usage.cache_write_tokens, price.cache_write if price.cache_write is not None else price.input, factors[0]),
        (usage.output_tokens, price.output, factors[1]),
    ):
        if tokens and each is None:
            return Cost()
        dollars += tokens * (each or 0.0) * factor / PER_MILLION
    if usage.input_tokens + usage.output_tokens == 0:
        return Cost()
    return Cost(dollars=dollars, source="list")
