"""The report: sums over the model calls on record. What is not known is said, and never becomes a number."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, timedelta, tzinfo

from pydantic import BaseModel, ConfigDict, Field

from atlas_sdk.context import PluginContext
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import ModelCall
from atlas_sdk.sections import TimeSettings
from atlas_sdk.services.settings import SETTINGS
from atlas_sdk.services.store import STORE

NOBODY = "no conversation"
"""Whose calls those of plugins are that no conversation asked for."""
SOURCES = ("reported", "list", "free", "unknown")


class UsageReport(BaseModel):
    """How many days back, today included."""

    model_config = ConfigDict(extra="forbid")
    days: int = Field(default=30, ge=1, le=3660)


class Sum(BaseModel):
    """Calls, tokens and dollars of one day, model, purpose or agent.

    ``dollars`` sums what is known; ``unknown_calls`` had no price. ``sources`` counts calls by who said the cost.
    """

    name: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    dollars: float
    unknown_calls: int
    sources: dict[str, int]


class PurposeSum(Sum):
    """The sum of one purpose. ``by_agent`` tells it by agent, and is empty where one alone asked."""

    by_agent: tuple[Sum, ...] = ()


class Report(BaseModel):
    """The sums of the days asked for, and of all of them together."""

    days: int
    total: Sum
    by_day: tuple[Sum, ...]
    by_model: tuple[Sum, ...]
    by_purpose: tuple[PurposeSum, ...]
    by_agent: tuple[Sum, ...]


@dataclass
class _Counter:
    name: str
    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    dollars: float = 0.0
    sources: dict[str, int] = field(default_factory=dict)

    def add(self, call: ModelCall) -> None:
        self.calls += 1
        self.input_tokens += call.usage.input_tokens
        self.cached_tokens += call.usage.cached_tokens
        self.output_tokens += call.usage.output_tokens
        source = call.cost.source if call.cost.dollars is not None else "unknown"
        self.dollars += call.cost.dollars or 0.0
        self.sources[source] = self.sources.get(source, 0) + 1

    def sum(self) -> Sum:
        return Sum(
            name=self.name,
            calls=self.calls,
            input_tokens=self.input_tokens,
            cached_tokens=self.cached_tokens,
            output_tokens=self.output_tokens,
            dollars=round(self.dollars, 6),
            unknown_calls=self.sources.get("unknown", 0),
            sources=self.sources,
        )


def summed(calls: Iterable[tuple[ModelCall, str]], *, days: int, zone: tzinfo | None) -> Report:
    """Return the report on calls, each with the agent it was for; a day is the wall's in ``zone``."""
    total = _Counter("total")
    by_day: dict[str, _Counter] = {}
    by_model: dict[str, _Counter] = {}
    by_purpose: dict[str, _Counter] = {}
    by_agent: dict[str, _Counter] = {}
    agents: dict[str, dict[str, _Counter]] = {}
    for call, agent in calls:
        if call.state in ("open", "failed") and not call.usage.input_tokens:
            continue  # it reached no model, and nobody charges for it; one cut short is charged, who knows how much
        day = call.started_at.astimezone(zone).date().isoformat()
        model = f"{call.provider}/{call.model}"
        for counters, name in ((by_day, day), (by_model, model), (by_purpose, call.purpose), (by_agent, agent)):
            counters.setdefault(name, _Counter(name)).add(call)
        agents.setdefault(call.purpose, {}).setdefault(agent, _Counter(agent)).add(call)
        total.add(call)
    return Report(
        days=days,
        total=total.sum(),
        by_day=tuple(by_day[name].sum() for name in sorted(by_day, reverse=True)),
        by_model=_ordered(by_model),
        by_purpose=tuple(_of_purpose(one, agents[one.name]) for one in _ordered(by_purpose)),
        by_agent=_ordered(by_agent),
    )


def _of_purpose(sum: Sum, agents: dict[str, _Counter]) -> PurposeSum:
    return PurposeSum(**dict(sum), by_agent=_ordered(agents) if len(agents) > 1 else ())


def _ordered(counters: dict[str, _Counter]) -> tuple[Sum, ...]:
    return tuple(counter.sum() for counter in sorted(counters.values(), key=lambda one: (-one.dollars, -one.calls)))


def methods(ctx: PluginContext) -> list[Method]:
    """Return ``usage.report``."""

    async def report(params: UsageReport, caller: Caller) -> BaseModel:
        zone = _zone(ctx)
        today = ctx.clock.now().astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
        since = (today - timedelta(days=params.days - 1)).astimezone(UTC)
        rows = await ctx.services.need(STORE).read(
            lambda reading: reading.rows(
                "SELECT model_call.data, coalesce(conversation.agent, '') AS agent FROM model_call "
                "LEFT JOIN conversation ON conversation.id = model_call.conversation "
                "WHERE model_call.started_at >= :since ORDER BY model_call.id",
                since=since.isoformat(timespec="microseconds"),
            )
        )
        calls = ((ModelCall.model_validate(json.loads(row["data"])), row["agent"] or NOBODY) for row in rows)
        return summed(calls, days=params.days, zone=zone)

    return [Method("usage.report", UsageReport, Report, report, "Return what the model calls cost.")]


def _zone(ctx: PluginContext) -> tzinfo | None:
    return ctx.services.need(SETTINGS).section(TimeSettings).tzinfo()
