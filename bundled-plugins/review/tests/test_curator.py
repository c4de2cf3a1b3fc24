"""The curator: what it archives, and when."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import pytest

from atlas_review.reviews import REVIEWS
from atlas_sdk.services.skills import SKILLS
from atlas_sdk.testing.fake_context import FakeClock

from .conftest import Model, OpenApp, start, turn

pytestmark = pytest.mark.anyio


def put(app: Any, name: str, origin: str, clock: FakeClock, where: str = "skills") -> None:
    """Put a skill into the home as it is on disk after a review or a person made it."""
    folder = app.home.folder / where / name
    folder.mkdir(parents=True)
    file = folder / "SKILL.md"
    file.write_text(f"---\nname: {name}\ndescription: How to {name}.\n---\nDo it.\n", encoding="utf-8")
    now = clock.now()
    (folder / ".atlas.json").write_text(
        f'{{"origin": "{origin}", "made_at": "{now.isoformat()}", "changed_at": "{now.isoformat()}"}}', encoding="utf-8"
    )
    os.utime(file, (now.timestamp(), now.timestamp()))


async def names(app: Any) -> set[str]:
    return {row.name for row in await app.services.need(SKILLS).list()}


async def test_it_archives_only_what_a_review_made_and_nobody_used(opened: OpenApp, atlas_clock: FakeClock) -> None:
    async with opened() as app:
        curator, skills = app.services.need(REVIEWS).curator, app.services.need(SKILLS)
        for name, origin in (("stale", "review"), ("loaded", "review"), ("mine", "user"), ("its", "agent")):
            put(app, name, origin, atlas_clock)
        put(app, "bots-own", "review", atlas_clock, "bots/finance/skills")
        atlas_clock.advance(hours=3)
        first = await curator.ask()
        atlas_clock.advance(days=29)
        await skills.use("loaded", conversation=await start(app))
        atlas_clock.advance(days=2)
        put(app, "fresh", "review", atlas_clock)
        second = await curator.ask()
        atlas_clock.advance(hours=3)
        third = await curator.ask()
        left = await names(app)
        kept = (app.home.folder / "skills" / ".archive" / "stale" / "SKILL.md").exists()

    assert first == ()
    assert second is not None
    assert set(second) == {"stale", "finance/bots-own"}
    assert third is None
    assert left == {"loaded", "mine", "its", "fresh"}
    assert kept


async def test_it_waits_until_atlas_did_nothing_for_two_hours(
    opened: OpenApp, model: Model, atlas_clock: FakeClock
) -> None:
    async with opened() as app:
        curator = app.services.need(REVIEWS).curator
        atlas_clock.advance(hours=2)
        model.provider.add("Hello.")
        await turn(app, await start(app), "Hello.")
        atlas_clock.advance(minutes=119)
        busy = await curator.ask()
        atlas_clock.advance(minutes=1)
        idle = await curator.ask()

    assert busy is None
    assert idle == ()


async def test_a_pass_is_remembered_over_a_restart(opened: OpenApp, atlas_clock: FakeClock) -> None:
    async with opened() as app:
        atlas_clock.advance(hours=2)
        await app.services.need(REVIEWS).curator.ask()
    async with opened() as app:
        put(app, "stale", "review", FakeClock(atlas_clock.now() - timedelta(days=40)))
        curator = app.services.need(REVIEWS).curator
        atlas_clock.advance(days=6)
        early = await curator.ask()
        atlas_clock.advance(days=1)
        due = await curator.ask()

    assert early is None
    assert due == ("stale",)


async def test_what_is_restored_is_left_alone(opened: OpenApp, atlas_clock: FakeClock) -> None:
    async with opened() as app:
        curator, skills = app.services.need(REVIEWS).curator, app.services.need(SKILLS)
        put(app, "stale", "review", atlas_clock)
        atlas_clock.advance(hours=2)
        await curator.ask()
        atlas_clock.advance(days=31)
        gone = await curator.ask()
        from atlas_sdk.services.home import HOME

        restore = app.services.need(HOME).methods()["skills.restore"]
        await restore.run(restore.params(name="stale"), None)
        atlas_clock.advance(days=8)
        again = await curator.ask()

        assert gone == ("stale",)
        assert again == ()
        assert skills is not None
        assert await names(app) == {"stale"}
