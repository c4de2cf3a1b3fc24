"""What fifty plugins cost a start: processor time of an opened home with them, in turn with one that has none.

Each is a folder whose ``register`` does nothing, found, agreed to and on.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
from bench_figure import Bench, Figure
from bench_home import Home, home
from setup import program

from atlas_kernel.app import open_app
from atlas_sdk import homes

COUNT = 50
OPEN = """
import os, sys, time
from pathlib import Path
import anyio
from atlas_kernel.app import open_app
from atlas_sdk import homes
async def main():
    async with open_app(homes.Home(Path(sys.argv[1]), "default"), environ=dict(os.environ)):
        print(time.process_time() * 1000)
anyio.run(main, backend="trio")
"""


def fifty(bench: Bench) -> Iterator[Figure]:
    with home() as none, home() as full:
        make(full)
        anyio.run(turn_on, full, backend="trio")
        for made in (none, full):
            opened_ms(made)
        pairs = [(opened_ms(none), opened_ms(full)) for _ in range(bench.runs)]
    yield Figure("home opened, processor", "cpu ms", [before for before, _ in pairs])
    yield Figure(f"  with {COUNT} plugins on", "cpu ms", [after for _, after in pairs])
    least = min(after for _, after in pairs) / min(before for before, _ in pairs)
    yield Figure(f"  what {COUNT} plugins add", "%", [(least - 1) * 100], target="20")


def make(made: Home) -> None:
    """Write the folders."""
    for number in range(COUNT):
        folder = made.folder / "plugins" / f"idle-{number}"
        (folder / ".claude-plugin").mkdir(parents=True)
        (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": folder.name, "atlas": {"api": 14}}))
        (folder / "__init__.py").write_text("def register(ctx):\n    pass\n")


async def turn_on(made: Home) -> None:
    """Agree to each and turn it on."""
    async with open_app(homes.Home(made.folder, "default"), environ=dict(os.environ)) as app:
        for row in await app.plugins.list():
            if row.source == "folder":
                await app.plugins.enable(row.name, consent=row.digest)


def opened_ms(made: Home) -> float:
    """Open the home in a process of its own and return the processor's milliseconds until it was open."""
    command = [program("python"), "-c", OPEN, str(made.folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(made.work), env=made.environ)
    return float(done.stdout.split()[-1])


ROWS = (fifty,)
