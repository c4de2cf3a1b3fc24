"""The commands `atlas gate check` and `atlas gate explain`, over plain text streams."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TextIO

from atlas_gate.corpus import check_lines
from atlas_gate.judge import judge
from atlas_gate.world import World


def check(source: Iterable[str], output: TextIO) -> int:
    """Answer each case of a corpus on a line of its own. The exit code is always that of a done task."""
    for answer in check_lines(source):
        output.write(json.dumps(answer, ensure_ascii=False) + "\n")
        output.flush()
    return 0


def explain(command: str, world: World, output: TextIO) -> int:
    """Say what would happen to a command, which rule decided, and every part it was read into."""
    judgement = judge(command, world)
    output.write(f"{judgement.verdict.word}: {judgement.why}\nRule: {judgement.rule}\n")
    for number, part in enumerate(judgement.parts, start=1):
        inside = f"   in {' › '.join(part.origin)}" if part.origin else ""
        output.write(f"{number}. {part.shown()}{inside}\n")
    for script in judgement.scripts:
        output.write(f"Script: {script.path} (sha256 {script.sha256})\n")
    if judgement.always is not None:
        output.write(f"Always would save: {judgement.always}\n")
    return 0
