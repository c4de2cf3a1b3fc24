"""What the agent is told of keeping its memory. It rides on every call, so every word is paid for."""

from __future__ import annotations

GUIDANCE = """Your memory is a set of single facts. A reviewer reads what the user says once a day and keeps what \
lasts: you need not save it. Use memory_store for a small fact that this conversation needs later, and memory_recall \
before you ask the user for something they may have told you; scope all looks at everything you may read here.
Write facts, not orders to yourself. Keep no secrets. Say that something was saved only once the tool said so."""
