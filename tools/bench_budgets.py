"""Fail when Atlas has become slower or larger than its budget: a quick part of the bench, for ``tools/check``.

Times are held as ratios to a bare interpreter run in turn with them, so that a slow or busy machine passes. A budget
is about twice what a quiet machine shows; one that is passed is measured once more before it counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from bench_figure import Bench, Figure
from bench_home import home
from bench_install import install
from bench_plugins import COUNT, fifty
from bench_request import first_request
from bench_start import top_help, up_ms, version
from bench_turns import call_ms

RUNS, RUNS_AGAIN = 5, 11

RATIOS = {"atlas version": 2.5, "atlas --help": 16.0, "server up": 90.0, "turn": 3.0, "tool call": 0.9}
"""How many bare interpreters each may take. Twice of what was measured in November 2026 on two processors."""

AMOUNTS = {"first request": 16_000, "packages of others": 60, f"what {COUNT} plugins add": 25}
"""What may not be passed on any machine. Ours are not counted: each plugin is a package, and one more is no loss."""


def server_up(bench: Bench) -> Iterator[Figure]:
    with home() as made:
        yield bench.timed("server up", lambda: up_ms(made))


def turn(bench: Bench) -> Iterator[Figure]:
    with home() as made, made.server() as server:
        id = server.conversation()
        yield bench.timed("turn", lambda: server.turn(id))
        yield bench.timed("tool call", lambda: call_ms(server, id))


TIMES: tuple[Callable[[Bench], Iterator[Figure]], ...] = (version, top_help, server_up, turn)


def main() -> int:
    """Measure and compare; the exit code is 1 where a budget is passed twice."""
    over = []
    for row in TIMES:
        passed = _passed(row, RUNS)
        if passed and (again := _passed(row, RUNS_AGAIN)):
            over += [said for name, said in again.items() if name in passed]
    amounts = {figure.name.strip(): figure for row in (first_request, install, fifty) for figure in row(Bench(RUNS))}
    for name, limit in AMOUNTS.items():
        if amounts[name].median > limit:
            over.append(f"{name}: {amounts[name].median:,.0f} {amounts[name].unit} of {limit:,}.")
    if over:
        print("\n".join(over))
        print("What it was made of: tools/bench start turns request install. How to read it: docs/guides/bench.md.")
        return 1
    print(f"{len(RATIOS) + len(AMOUNTS)} budgets hold.")
    return 0


def _passed(row: Callable[[Bench], Iterator[Figure]], runs: int) -> dict[str, str]:
    """Measure a row and return a sentence for each figure that is over its budget."""
    found = {}
    for figure in row(Bench(runs)):
        ratio, limit = figure.ratio or 0.0, RATIOS[figure.name]
        if ratio > limit:
            found[figure.name] = f"{figure.name}: {figure.median:,.1f} ms, {ratio:.2f} bare interpreters of {limit}."
    return found


if __name__ == "__main__":
    sys.exit(main())
