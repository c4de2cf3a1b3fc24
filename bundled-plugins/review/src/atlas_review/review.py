"""One review while it runs: what it may use, what it has loaded, and what it has spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlas_sdk.messages import ImagePart, TextPart
from atlas_sdk.records import ModelCall

from .counts import SKILL_TOOL, Due
from .reading import Reading

READS = ("use_skill", "read_file", "find_files")
MOST_CALLS = 16
MOST_TOKENS = 600_000
UNKNOWN_WINDOW_TOKENS = 120_000
PURPOSE = "background_review"


def token_budget(window: int | None) -> int:
    """Return how many input tokens a review may read in all, by the model's window where that is known."""
    return UNKNOWN_WINDOW_TOKENS if window is None else min(window * 3 // 4, MOST_TOKENS)


@dataclass
class Review:
    """A review of ``conversation`` that works in its copy ``id``. The guard and the budget keep it up."""

    id: str
    conversation: str
    due: Due
    memory_tools: tuple[str, ...]
    budget: int
    last_tokens: int = 0
    """What the last request read: the next one reads at least as much."""
    calls: int = 0
    tokens: int = 0
    spent: bool = False
    loaded: set[str] = field(default_factory=set)
    reading: Reading = field(default_factory=Reading)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The tools it may use."""
        return (*READS, SKILL_TOOL, *(self.memory_tools if self.due.memory else ()))

    def answered(self, input_tokens: int) -> None:
        """Take note of what a call read."""
        self.last_tokens = input_tokens
        self.tokens += input_tokens

    def recall(self, call: ModelCall) -> None:
        """Take note of a call that was made before Atlas ended: the budget is one for all of a review."""
        self.calls += 1
        if call.state == "done":
            self.answered(call.usage.input_tokens)
        elif call.state != "failed":
            self.tokens += self.last_tokens  # cut short it was charged, and it read what the one before it had read

    def note(self, tool: str, arguments: Any, folder: Path, said: Sequence[TextPart | ImagePart]) -> None:
        """Take note of what a tool did and said: what was loaded, or read whole, may be changed."""
        if tool == "use_skill":
            self.loaded.add(str(arguments["name"]).strip().removeprefix("/"))
        elif tool == "read_file":
            self.reading.take((folder / Path(str(arguments["path"])).expanduser()).resolve(), said)
        elif tool == SKILL_TOOL:
            self.loaded |= {one["name"] for one in arguments["operations"] if one["action"] == "create"}

    def may_ask(self) -> bool:
        """Whether another call of the model is within the budget."""
        return self.calls < MOST_CALLS and self.tokens + self.last_tokens <= self.budget
