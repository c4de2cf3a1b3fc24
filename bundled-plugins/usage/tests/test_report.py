"""The report of what was spent: sums that add up, days of the wall, and what is not known said as such."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from atlas_sdk.records import Cost, ModelCall, Usage
from atlas_sdk.sections import TimeSettings
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.conformance.store_bench import model_call
from atlas_sdk.testing.fakes import FakeContext
from atlas_usage.report import Report, methods, summed

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LISBON, TOKYO = ZoneInfo("Europe/Lisbon"), ZoneInfo("Asia/Tokyo")


def spent(dollars: float | None = 0.5, source: Any = "list", at: datetime = NOON, **more: Any) -> ModelCall:
    """Return a call that cost so much."""
    usage = Usage(input_tokens=100, cached_tokens=40, output_tokens=10)
    values: dict[str, Any] = {"state": "done", "usage": usage, **more}
    return model_call(cost=Cost(dollars=dollars, source=source), started_at=at, **values)


def billed(calls: Iterable[ModelCall], *, agent: str = "main", days: int = 30, zone: Any = UTC) -> Report:
    """Return the report on one agent's calls."""
    return summed(((call, agent) for call in calls), days=days, zone=zone)


def names(rows: Any) -> list[str]:
    return [row.name for row in rows]


# --- sums ----------------------------------------------------------------------------------------


def test_the_sums_of_days_models_and_purposes_are_the_total() -> None:
    calls = [
        spent(0.25, at=NOON + timedelta(days=n % 3), model=f"m{n % 2}", purpose=["turn", "title"][n % 2])
        for n in range(7)
    ]
    report = summed(((call, f"a{n % 3}") for n, call in enumerate(calls)), days=30, zone=UTC)

    assert report.total.calls == 7
    assert report.total.dollars == 1.75
    assert (report.total.input_tokens, report.total.cached_tokens, report.total.output_tokens) == (700, 280, 70)
    for rows in (report.by_day, report.by_model, report.by_purpose, report.by_agent):
        assert sum(row.calls for row in rows) == 7
        assert sum(row.dollars for row in rows) == pytest.approx(1.75)
        assert sum(row.input_tokens for row in rows) == 700


def test_a_purpose_tells_its_agents_where_more_than_one_asked() -> None:
    calls = [
        (spent(0.1, purpose="background_review"), "main"),
        (spent(0.2, purpose="background_review"), "finance"),
        (spent(0.5), "main"),
    ]
    turns, reviews = summed(calls, days=30, zone=UTC).by_purpose

    assert [(one.name, one.dollars) for one in reviews.by_agent] == [("finance", 0.2), ("main", 0.1)]
    assert (turns.name, turns.by_agent) == ("turn", ())


def test_days_come_newest_first_and_the_rest_by_cost() -> None:
    calls = [spent(0.1, model="cheap"), spent(0.9, model="dear", at=NOON + timedelta(days=1))]
    report = billed(calls, days=30, zone=UTC)

    assert names(report.by_day) == ["2026-03-03", "2026-03-02"]
    assert names(report.by_model) == ["p/dear", "p/cheap"]


def test_many_small_amounts_add_up_to_the_cent() -> None:
    report = billed([spent(0.001) for _ in range(1000)], days=30, zone=UTC)

    assert report.total.dollars == 1.0


def test_no_calls_are_no_rows() -> None:
    report = billed([], days=7, zone=UTC)

    assert (report.total.calls, report.total.dollars, report.by_day) == (0, 0.0, ())


# --- days ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "zone", "day"),
    [
        (datetime(2026, 3, 2, 14, 59, tzinfo=UTC), TOKYO, "2026-03-02"),
        (datetime(2026, 3, 2, 15, 0, tzinfo=UTC), TOKYO, "2026-03-03"),
        (datetime(2026, 3, 2, 23, 59, tzinfo=UTC), LISBON, "2026-03-02"),
        (datetime(2026, 7, 2, 22, 59, tzinfo=UTC), LISBON, "2026-07-02"),
        (datetime(2026, 7, 2, 23, 0, tzinfo=UTC), LISBON, "2026-07-03"),  # summer time
        (datetime(2026, 3, 29, 0, 30, tzinfo=UTC), LISBON, "2026-03-29"),  # the clock goes forward that night
    ],
)
def test_a_day_is_that_of_the_wall(at: datetime, zone: ZoneInfo, day: str) -> None:
    assert names(billed([spent(at=at)], days=30, zone=zone).by_day) == [day]


# --- what is not known ---------------------------------------------------------------------------


def test_an_unknown_cost_is_counted_and_never_becomes_a_number() -> None:
    report = billed([spent(0.5), spent(None, "unknown"), spent(None, "unknown")], days=30, zone=UTC)

    assert report.total.dollars == 0.5
    assert report.total.unknown_calls == 2
    assert report.total.sources == {"list": 1, "unknown": 2}


def test_an_amount_nobody_gave_is_unknown_whoever_is_said_to_have_given_it() -> None:
    report = billed([spent(None, "list")], days=30, zone=UTC)

    assert report.total.unknown_calls == 1


def test_a_free_call_is_known_and_costs_nothing() -> None:
    report = billed([spent(0.0, "free")], days=30, zone=UTC)

    assert (report.total.dollars, report.total.unknown_calls, report.total.sources) == (0.0, 0, {"free": 1})


@pytest.mark.parametrize("state", ["failed", "open"])
def test_a_call_that_reached_no_model_is_not_charged(state: str) -> None:
    report = billed([spent(None, "unknown", state=state, usage=Usage())], days=30, zone=UTC)

    assert report.total.calls == 0


@pytest.mark.parametrize("state", ["stopped", "interrupted"])
def test_a_call_cut_short_is_counted_with_an_unknown_cost(state: str) -> None:
    """The model had begun to answer, and its provider charges for that without saying how much."""
    report = billed([spent(None, "unknown", state=state, usage=Usage())], days=30, zone=UTC)

    assert (report.total.calls, report.total.unknown_calls, report.total.dollars) == (1, 1, 0.0)


def test_a_failure_that_reported_tokens_is_counted() -> None:
    report = billed([spent(0.5, state="failed")], days=30, zone=UTC)

    assert (report.total.calls, report.total.dollars) == (1, 0.5)


# --- the method ----------------------------------------------------------------------------------


async def report(ctx: FakeContext, zone: str, days: int = 1) -> Report:
    ctx.put_section(TimeSettings(zone=zone))
    (method,) = methods(ctx)
    found = await method.run(method.params(days=days), None)  # type: ignore[arg-type]  # it looks at no caller
    assert isinstance(found, Report)
    return found


@pytest.mark.anyio
async def test_today_begins_at_midnight_of_the_zone(atlas_context: FakeContext) -> None:
    """At 01:30 in Tokyo, today is an hour and a half old, whatever the day in UTC."""
    midnight = datetime(2026, 3, 3, tzinfo=TOKYO)
    atlas_context.clock.set(midnight + timedelta(minutes=90))
    early, late = spent(at=midnight - timedelta(microseconds=1)), spent(at=midnight)
    await atlas_context.services.need(STORE).commit([early, late])

    assert names((await report(atlas_context, "Asia/Tokyo", 1)).by_day) == ["2026-03-03"]
    assert (await report(atlas_context, "Asia/Tokyo", 1)).total.calls == 1
    assert (await report(atlas_context, "Asia/Tokyo", 2)).total.calls == 2


@pytest.mark.anyio
async def test_days_count_back_over_a_change_of_the_clock(atlas_context: FakeContext) -> None:
    """The first of the days begins at its own midnight, also when the clock was changed since."""
    atlas_context.clock.set(datetime(2026, 3, 30, 12, tzinfo=LISBON))
    first = datetime(2026, 3, 28, tzinfo=LISBON)
    await atlas_context.services.need(STORE).commit([spent(at=first), spent(at=first - timedelta(microseconds=1))])

    assert names((await report(atlas_context, "Europe/Lisbon", 3)).by_day) == ["2026-03-28"]


@pytest.mark.anyio
async def test_the_report_reads_what_the_kernel_wrote(atlas_app: Any) -> None:
    """Through a whole home: a turn's call is in the report, with who said its cost."""
    from atlas_sdk.messages import Sender, TextPart
    from atlas_sdk.services.conversations import CONVERSATIONS, ConversationDraft

    async with atlas_app("store", "usage", "sample") as app:
        conversations = app.services.need(CONVERSATIONS)
        made = await conversations.create(ConversationDraft())
        await conversations.send(made.id, [TextPart(text="Hello.")], sender=Sender(kind="person"))
        await conversations.wait(made.id)
        method = app.methods()["usage.report"]
        found = await method.run(method.params(days=1), None)

    assert found.total.calls == 1
    assert found.total.sources == {"free": 1}
    assert names(found.by_model) == ["sample/sample"]
    assert names(found.by_agent) == ["main"]
