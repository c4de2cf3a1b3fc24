"""The person's keyboard: lines with editing and history, and answers nobody typed ahead."""

from __future__ import annotations

import importlib
import sys
from typing import TextIO


def read_message(prompt: str, talk: TextIO) -> str | None:
    """Return what the person wrote, None at the end of input. A pasted text of several lines is one message."""
    if not sys.stdin.isatty():
        return read_line(prompt, talk)
    if "readline" not in sys.modules and sys.platform != "win32":
        try:
            readline = importlib.import_module("readline")
        except ImportError:
            pass  # some systems have none, and lines are then read without editing
        else:
            readline.parse_and_bind("set enable-bracketed-paste on")
    talk.flush()
    try:
        return input(prompt)
    except EOFError:
        return None


def read_line(prompt: str, talk: TextIO) -> str | None:
    """Return one plain line, None at the end of input."""
    talk.write(prompt)
    talk.flush()
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None


def forget_typed_ahead() -> None:
    """Throw away what was typed before a question was on the screen: it cannot be an answer to it."""
    if not sys.stdin.isatty():
        return
    if sys.platform == "win32":
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
