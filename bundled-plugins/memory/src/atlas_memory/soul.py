"""``SOUL.md``: who the main agent is. Atlas writes it once, when it first starts in a home, and never again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from atlas_sdk.instructions import DEFAULT_SOUL
from atlas_sdk.records import Conversation
from atlas_sdk.regular_file import read_regular
from atlas_sdk.screening import screen
from atlas_sdk.whole_file import write_whole

from .places import MAIN, has_memory

NAME = "SOUL.md"
LIMIT_CHARS = 20_000
HEAD, TAIL = 0.7, 0.2
"""Of a soul that is too long, how much of the limit its beginning and its end take."""
MOST_BYTES = 8 * 1024 * 1024
"""A larger file is no text that somebody wrote, and is not read."""
_LEAVE = """Who you are is kept in {path}. When the user asks you to change how you speak or who you are, edit that \
file with your file tools: you have leave to. Keep the rest of it, and say that it applies from the next \
conversation. Do not change it unasked."""


class Soul:
    """Reads the soul of a home. The file is the user's: whatever it says is loaded."""

    def __init__(self, home: Path, data_folder: Callable[[], Path], logger: logging.Logger) -> None:
        self.file = home / NAME
        self._folder = data_folder
        self._log = logger

    def start(self) -> None:
        """Write the default where this is the home's first start. A home that cannot be written has it anyway."""
        mark = self._folder() / "soul-written"
        if mark.exists():
            return
        try:
            if not (self.file.exists() or self.file.is_symlink()):
                write_whole(self.file, f"{DEFAULT_SOUL}\n")
            write_whole(mark, "")
        except OSError as error:
            self._log.warning("SOUL.md could not be written", extra={"why": str(error)})

    def text(self) -> str:
        """Return the soul as the model reads it; empty where the default stands in."""
        try:
            text = read_regular(self.file, most_bytes=MOST_BYTES).decode("utf-8-sig").replace("\r\n", "\n").strip()
        except FileNotFoundError:
            self._log.warning("SOUL.md is missing: the default stands in")
            return ""
        except (OSError, UnicodeDecodeError) as error:
            self._log.warning("SOUL.md cannot be read: the default stands in", extra={"why": str(error)})
            return ""
        if not text:
            self._log.warning("SOUL.md is blank: the default stands in")
            return ""
        shown = self._shown(text)
        if found := screen(shown):
            self._log.warning("SOUL.md looks like an attack and is loaded anyway", extra={"why": found.said})
        return shown

    def _shown(self, text: str) -> str:
        """Return as much of the soul as goes in."""
        if len(text) <= LIMIT_CHARS:
            return text
        self._log.warning(
            "SOUL.md is too long: its middle is left out", extra={"chars": len(text), "limit": LIMIT_CHARS}
        )
        head, tail = text[: int(LIMIT_CHARS * HEAD)], text[-int(LIMIT_CHARS * TAIL) :]
        left_out = len(text) - len(head) - len(tail)
        return f"{head}\n\n[{left_out:,} characters are left out here: {self.file} holds all of it.]\n\n{tail}"

    def for_conversation(self, conversation: Conversation) -> str:
        """Return the soul of a conversation's agent: a bot's is its mission, and a subagent has none."""
        return self.text() if conversation.agent == MAIN and has_memory(conversation) else ""

    def leave(self, conversation: Conversation) -> str:
        """Return where the soul is kept and the leave to edit it, which the model would not take by itself."""
        if conversation.agent != MAIN or not has_memory(conversation):
            return ""
        return _LEAVE.format(path=self.file)
