"""Loads come one after the other, and nobody waits long for one that hangs."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from atlas_folder_format.lane import PATIENCE_SECONDS, Lane

pytestmark = pytest.mark.anyio


async def test_one_is_in_at_a_time_and_all_have_their_turn_in_order() -> None:
    lane, inside, most, order = Lane(), 0, 0, list[int]()

    async def load(number: int) -> None:
        nonlocal inside, most
        async with lane.one():
            inside += 1
            most = max(most, inside)
            await anyio.lowlevel.checkpoint()
            order.append(number)
            inside -= 1

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(load, number)

    assert most == 1
    assert len(order) == 20


async def test_one_that_hangs_is_passed_by() -> None:
    lane, came = Lane(), list[float]()

    async def hang() -> None:
        async with lane.one():
            await anyio.sleep_forever()

    async def load() -> None:
        async with lane.one():
            came.append(anyio.current_time())

    async with anyio.create_task_group() as group:
        began = anyio.current_time()
        group.start_soon(hang)
        await anyio.wait_all_tasks_blocked()
        for _ in range(3):
            group.start_soon(load)
        with anyio.fail_after(10):
            while len(came) < 3:
                await anyio.sleep(0.01)
        group.cancel_scope.cancel()

    assert came[-1] - began < 3 * PATIENCE_SECONDS


async def test_one_that_gives_up_as_its_turn_comes_passes_it_on() -> None:
    lane, came = Lane(), list[str]()

    async def load(name: str) -> None:
        async with lane.one():
            came.append(name)

    async with anyio.create_task_group() as group:
        async with lane.one():
            given_up = anyio.CancelScope()

            async def give_up() -> None:
                with given_up:
                    await load("given up")

            group.start_soon(give_up)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(load, "next")
            await anyio.wait_all_tasks_blocked()
        given_up.cancel()
        with anyio.fail_after(PATIENCE_SECONDS / 2):
            while "next" not in came:
                await anyio.lowlevel.checkpoint()

    assert came[-1] == "next"
