"""What waits for a client that does not read: little, whatever its size."""

from __future__ import annotations

import anyio
import pytest

from atlas_gateway.outbox import OUTBOUND_CHARS, Outbox

pytestmark = pytest.mark.anyio


async def test_frames_come_out_in_order() -> None:
    box = Outbox()
    for number in range(3):
        await box.send(str(number))
    box.close()

    assert [frame async for frame in box.frames()] == ["0", "1", "2"]
    box.drop()


async def test_a_full_box_takes_no_more_until_something_was_sent() -> None:
    box = Outbox()
    large = "x" * (OUTBOUND_CHARS // 2)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(box.send, large)
        await anyio.wait_all_tasks_blocked()
        frames = box.frames()
        assert len(await anext(frames)) == len(large)
        with anyio.fail_after(1):
            assert [len(await anext(frames)) for _ in range(2)] == [len(large)] * 2
        await frames.aclose()
        box.drop()


async def test_one_frame_larger_than_the_box_passes_alone() -> None:
    box = Outbox()
    with anyio.fail_after(1):
        await box.send("x" * (OUTBOUND_CHARS + 1))
    box.drop()


async def test_dropping_wakes_whoever_waits() -> None:
    box = Outbox()
    await box.send("x" * OUTBOUND_CHARS)

    async def waits() -> None:
        with pytest.raises((anyio.ClosedResourceError, anyio.BrokenResourceError)):
            await box.send("more")

    with anyio.fail_after(1):
        async with anyio.create_task_group() as group:
            group.start_soon(waits)
            await anyio.wait_all_tasks_blocked()
            box.drop()
