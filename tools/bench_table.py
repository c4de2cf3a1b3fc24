"""The bench's command: choose groups, measure them, and print the table as it grows, or as JSON.

Add a row by adding a function to the ``ROWS`` of its group's module: it takes a ``Bench`` and yields ``Figure``s.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
from typing import Any

from bench_figure import Bench, Figure

GROUPS = {
    "start": "a command, a turn alone and through a server, the server itself",
    "plugins": "what fifty plugins add to a start",
    "turns": "what Atlas adds to a turn, a tool call, a token",
    "memory": "what a server holds and does: idle, after 60 calls, after 500 turns",
    "fanout": "one event to 1, 100 and 1,000 clients",
    "store": "the database at 100,000 messages; with --large also at 1,000,000",
    "request": "the bytes of a first request, block by block",
    "install": "packages and their size",
}
NAME, CELL = 50, 10


def main() -> int:
    """Measure; the exit code is 1 where a row failed."""
    listed = "\n".join(f"  {name:<10}{about}" for name, about in GROUPS.items())
    parser = argparse.ArgumentParser(
        prog="tools/bench",
        description="Measure what a user waits for and what Atlas takes, beside a bare interpreter.",
        epilog=f"groups:\n{listed}\n\ndocs/guides/bench.md says how to read the table.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("groups", nargs="*", metavar="group", help="only these, in this order (all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--runs", type=int, default=7, help="how often each time is taken (7)")
    parser.add_argument("--large", action="store_true", help="also fill a database with 1,000,000 messages")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be 1 or more")
    if unknown := sorted(set(options.groups) - set(GROUPS)):
        parser.error(f"there is no group {unknown[0]}; there are {', '.join(GROUPS)}")
    bench = Bench(options.runs, options.large, lambda said: print(said, file=sys.stderr, flush=True))
    rows: list[dict[str, Any]] = []
    failed = False
    if not options.json:
        print(_line("", "runs", "median", "lowest", "highest", "bare", "ratio", "target"))
    for group in options.groups or GROUPS:
        for row in importlib.import_module(f"bench_{group}").ROWS:
            try:
                for figure in row(bench):
                    rows.append({"group": group, **figure.as_json()})
                    if not options.json:
                        _print(figure)
            except (subprocess.SubprocessError, OSError, AssertionError) as error:
                failed = True
                rows.append({"group": group, "name": row.__name__, "failed": _sentence(error)})
                if not options.json:
                    print(f"{row.__name__}: failed, {_sentence(error)}", flush=True)
    if options.json:
        print(json.dumps({**_machine(), "runs": options.runs, "rows": rows}, indent=2))
    return 1 if failed else 0


def _print(figure: Figure) -> None:
    found = figure.as_json()
    digits = 0 if figure.unit in ("bytes", "packages", "files") else 1 if figure.median >= 10 else 2
    shown = [f"{found[name]:,.{digits}f}" for name in ("median", "lowest", "highest")]
    ratio = found.get("ratio")
    beside = ["", ""]
    if ratio is not None:
        beside = [f"{found['bare_ms']:.1f}", f"{ratio:.1f}×" if ratio >= 1 else f"{ratio:.2f}×"]
    print(_line(figure.name, str(found["runs"]), *shown, *beside, figure.target, unit=figure.unit), flush=True)


def _line(name: str, runs: str, *cells: str, unit: str = "") -> str:
    return (f"{name:<{NAME}}{runs:>5}" + "".join(f"{cell:>{CELL}}" for cell in cells) + f"  {unit}").rstrip()


def _machine() -> dict[str, Any]:
    found: dict[str, Any] = {"system": platform.system(), "machine": platform.machine(), "processors": os.cpu_count()}
    found["python"] = platform.python_version()
    if hasattr(os, "getloadavg"):
        found["load"] = round(os.getloadavg()[0], 2)
    return found


def _sentence(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or b"").decode(errors="replace").strip().splitlines()
        return f"exit {error.returncode}: {said[-1] if said else 'no message'}"
    return str(error) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
