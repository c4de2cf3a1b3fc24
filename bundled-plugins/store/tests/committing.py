"""A process whose children commit until they are killed: run by ``test_sqlite.py``.

For each round it forks a child, prints ``pid N``, and prints ``ended`` when the child is gone. A child prints
``ack ID NUMBER`` once a commit was acknowledged. Forking saves a second of imports a round.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import trio  # noqa: F401  # loaded before the fork, as is all the store needs

from atlas_sdk.testing.conformance.store_bench import changed, conversation_of
from atlas_store import engine, migrations, sql, tables, writer  # noqa: F401  # likewise
from atlas_store.store import SqliteStore

WRITERS = 6


def say(line: str) -> None:
    """Print a line in one write, so that a line is whole or not there."""
    os.write(1, f"{line}\n".encode())


async def commit_for_ever(folder: Path) -> None:
    """Commit a conversation and its event, over and over, from several tasks."""
    store = SqliteStore(folder)

    async def write() -> None:
        while True:
            one = conversation_of(title="x" * 2000)
            (event,) = await store.commit([one], [changed(one)])
            say(f"ack {one.id} {event.number}")

    async with anyio.create_task_group() as group:
        for _ in range(WRITERS):
            group.start_soon(write)


def main(folder: Path, rounds: int) -> None:
    """Run the rounds."""
    for _ in range(rounds):
        child = os.fork()
        if child == 0:
            anyio.run(commit_for_ever, folder, backend="trio")
        say(f"pid {child}")
        os.waitpid(child, 0)
        say("ended")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
