"""The simple commands a line comes down to: what every rule reads.

A text the gate cannot know is marked inside the word by a character no command can hold (the world
replaces it on the way in), one for each reason. So `rm -rf /tmp/$X` keeps what is known of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

UNKNOWN: Final = "\uf8f0"  # a variable the line does not set
OUTPUT: Final = "\uf8f1"  # what some program prints
FETCHED: Final = "\uf8f2"  # what comes from the network
ANY: Final = "\uf8f4"  # any name: what a star matched before the word was passed on
DECODED: Final = "\uf8f3"  # what a decoder makes of a text that is not known

_MARKS = re.compile(f"[{UNKNOWN}{OUTPUT}{FETCHED}{DECODED}]")
_STARS = re.compile(r"[*?]++|\[[^\]/]{1,255}+\]")
_QUOTED_FOR_DISPLAY = re.compile(r"[\s'\"\\$`;&|<>(){}*?\[\]~#]")


def is_constant(text: str) -> bool:
    """Whether every character of the text is known."""
    return text.isascii() or _MARKS.search(text) is None


def without_marks(text: str) -> str:
    """The text as it is if every unknown piece is empty."""
    return _MARKS.sub("", text)


def forge_proof(text: str) -> str:
    """The text with the marks replaced, for anything that comes from outside."""
    return _MARKS.sub("\ufffd", text).replace(ANY, "\ufffd")


def strongest_mark(text: str) -> str:
    """The mark that says most about where an unknown text comes from, or an empty text."""
    for mark in (FETCHED, DECODED, OUTPUT, UNKNOWN):
        if mark in text:
            return mark
    return ""


@dataclass(frozen=True, slots=True)
class Word:
    """One word as the program gets it; `is_pattern` when the shell would match it against files."""

    text: str
    is_pattern: bool = False

    def expanded(self) -> str:
        """The text that stands for what the pattern matches, once it is no pattern any more."""
        return _STARS.sub(ANY, self.text) if self.is_pattern else self.text

    def shown(self) -> str:
        """The word as a person may read it, with `…` for what is not known."""
        text = _MARKS.sub("…", self.text).replace(ANY, "*")
        if text and (self.is_pattern or not _QUOTED_FOR_DISPLAY.search(text)):
            return text
        return "'" + text.replace("'", "'\\''") + "'"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable set in front of a command, or by a command of its own."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Redirect:
    """One redirection, with the file it opens."""

    descriptor: str
    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether the file may be changed by it."""
        return self.operator in (">", ">>", ">|", "<>", "&>", "&>>")


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command, with everything in it made plain.

    `origin` says what it was found in, outermost first. `folder` is where it runs, None when unknown.
    `unread` says why a text it runs could not be read: `fetched`, `decoded` or `unknown`.
    """

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    origin: tuple[str, ...] = ()
    folder: str | None = None
    unread: str = ""
    input: str = ""
    links: Mapping[str, str] | None = None
    suspicion: str = ""

    @property
    def name(self) -> str:
        """The program's base name in lower case, with unknown pieces left out."""
        return program_name(self.words[0].text) if self.words else ""

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words behind the program."""
        return self.words[1:]

    @property
    def texts(self) -> list[str]:
        """The words behind the program, as plain texts."""
        return [word.text for word in self.words[1:]]

    def plain(self) -> str:
        """The command with the program's base name and one space between words, for the user's globs."""
        if not self.words:
            return ""
        return " ".join([self.words[0].text.rsplit("/", 1)[-1], *(word.text for word in self.words[1:])])

    def shown(self) -> str:
        """The command as a person may read it."""
        pieces = [f"{assignment.name}={Word(assignment.value).shown()}" for assignment in self.assignments]
        pieces += [word.shown() for word in self.words]
        pieces += [f"{r.descriptor}{r.operator} {r.target.shown()}" for r in self.redirects]
        return " ".join(pieces)


def name_set(text: str) -> frozenset[str]:
    """The names of a table that is written as one text."""
    return frozenset(text.split())


@lru_cache(maxsize=4096)
def program_name(text: str) -> str:
    """The base name a program goes by, whatever its folder and letter case."""
    name = without_marks(text).rsplit("/", 1)[-1].lower()
    name = name.rsplit("\\", 1)[-1]
    if name != "." and name != text.lower():
        name = name.rstrip(".") or name  # `mkfs.$TYPE` with a type that is not known
    return name[:-4] if name.endswith((".exe", ".com")) else name
