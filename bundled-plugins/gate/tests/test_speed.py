"""The gate answers before anybody notices, whatever the line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from atlas_gate.corpus import corpus_world
from atlas_gate.judge import judge

CORPUS = Path(__file__).parents[3] / "tests" / "corpora" / "gate.jsonl"
# Three times what is measured, for a machine that is busy with something else.
SLACK = 3


def _seconds(command: str) -> tuple[float, int, str]:
    world = corpus_world({})
    start = time.perf_counter()
    judgement = judge(command, world)
    return time.perf_counter() - start, len(judgement.parts), judgement.verdict.word


def test_ninety_nine_of_a_hundred_cases_take_less_than_20_ms():
    cases = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    times = []
    for case in cases:
        world = corpus_world(case)
        start = time.perf_counter()
        judge(case["command"], world)
        times.append(time.perf_counter() - start)

    assert sorted(times)[int(len(times) * 0.99)] < 0.020


@pytest.mark.slow  # each line holds ten thousand parts or a megabyte
@pytest.mark.parametrize(
    "line",
    [
        "; ".join(["ls -la"] * 10_000),
        "\n".join(f"git add file{number}.txt" for number in range(10_000)),
        " | ".join(f"grep x{number}" for number in range(10_000)),
        "; ".join(f'echo "a {number} $x"' for number in range(10_000)),
        "echo " + "a" * 1_000_000,
        "echo " + "word " * 200_000,
        'echo "' + "a b; " * 200_000 + '"',
        "cat <<EOF > x\n" + "rm -rf / $x\n" * 80_000 + "EOF",
        "echo " + "\\a" * 200_000,
        'echo "' + "$x" * 100_000 + '"',
        "; ".join(f"ln -s a{number} b{number}" for number in range(10_000)),
        "\n".join(f"[ -f a{number} ] && cp a{number} b" for number in range(5_000)),
        "\n".join(f"cat a{number} >> out 2>&1" for number in range(10_000)),
    ],
    ids=lambda line: f"{line[:24]!r}",
)
def test_a_long_line_is_read_to_its_end_in_half_a_second(line):
    seconds, _, verdict = _seconds(line + "\nrm -rf /")

    assert verdict == "block"
    assert seconds < 0.5 * SLACK


@pytest.mark.parametrize(
    "line",
    [
        "echo {1..20000}{1..20000}",
        "for a in {1..100}; do for b in {1..100}; do for c in {1..100}; do ls $a$b$c; done; done; done",
        "f(){ f $1x; f $1y; }; f a",
        "((" * 20 + "ls" + ") )" * 20,
        "echo " + "$((" * 20 + "ls" + ") )" * 20,
        "x=a; " + "x=$x$x; " * 40 + "echo $x",
        "psql -c '" + "copy " * 20_000 + "program'",
        "expect -c '" + "{*}[list " * 20_000 + "'",
        "fzf --bind '" + "execute(" * 20_000 + "'",
        "latex '" + "\\write18 {" * 20_000 + "'",
        "perl -e '" + "fork while(1){ " * 20_000 + "'",
        "tar " + "-I " * 20_000,
    ],
    ids=lambda line: f"{line[:24]!r}",
)
def test_a_line_that_multiplies_ends_soon_and_is_never_let_through_unread(line):
    seconds, _, _ = _seconds(line)

    assert seconds < 1.5 * SLACK
