"""What the agent is told of keeping its memory. It rides on every call, so every word is paid for."""

from __future__ import annotations

GUIDANCE = """Your memory is two small files that every conversation begins with: what you keep there is read in all \
of them. Save unasked, with memory, when you learn something that will hold in weeks: who the user is and what they \
prefer (target user), or how this environment works (target memory). One fact, one file.
Write facts, not orders to yourself: "User prefers concise answers", never "Always answer concisely".
Leave out what goes stale within a week, progress, logs, secrets and what is easily found again. How to do a kind \
of task, and corrections of it, belong in that task's skill. Say that something was saved only once the tool said so."""
