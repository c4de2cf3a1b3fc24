"""A world to judge in, made for each case from the files and settings it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from atlas_gate.corpus import corpus_world
from atlas_gate.judge import Judgement, judge

Judge = Callable[..., Judgement]


@pytest.fixture(scope="session")
def judged() -> Judge:
    """Judge a command as robin in `work/app`, with files, globs, a shell and a mode."""

    def run(
        command: str,
        *,
        files: Mapping[str, str] | None = None,
        shell: str = "bash",
        mode: str = "ask",
        **trust: Sequence[str],
    ) -> Judgement:
        case: dict[str, Any] = {"shell": shell, "mode": mode, "cwd_files": files or {}, "trust": trust}
        return judge(command, corpus_world(case))

    return run
