"""Answers that say something was saved to memory. Rules read them, no model, and a doubt is no claim.

said = read_answer("I've saved that.")
said.claim   # "saved": of the memory, or of a file where a tool wrote one in the same turn
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

MOST_CHARS = 20_000
Claim: TypeAlias = Literal["", "saved", "remembered"]
"""``remembered`` is of the memory alone; ``saved`` may be of a file, where one was written."""
_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»", re.DOTALL)
_BOLD = re.compile(r"\*+|__|~~")
_END = re.compile(r"(?<=[.!?。])\s+|(?<=[。!?])(?=\S)|(?<=[।])|\n+|(?<=[.!?])(?=[\"”»)\]]\s)")
_CLAUSE = re.compile(r"(?:(?<!\s)\s+)?[,;:،؛、]\s*|(?<!\s)\s+[—–-]+\s+|—|\)\s*|\(")
_FRAME = re.compile(r"^[^\w]+|(?<![\s.!。।…*_`\"'”“»«)\]])[\s.!。।…*_`\"'”“»«)\]]++$")
_FORGET = re.compile(
    r"\b(?:so (?:that )?I (?:don't|won't)|(?:won't|will not|shall not)(?: ever)?) forget\b", re.IGNORECASE
)
_MARKS = re.compile(r"[\u2700-\u27bf\u2600-\u26ff\U0001f000-\U0001faff\ufe0f]")


@dataclass(frozen=True)
class Said:
    """What an answer says of saving: its claim, and whether it says of something that it was not saved.

    ``named`` says that the claim names the memory: "Noted." alone is no claim where nobody had said a thing to note.
    """

    claim: Claim = ""
    denies: bool = False
    named: bool = False


@dataclass(frozen=True)
class _Language:
    saves: re.Pattern[str]
    remembers: re.Pattern[str]
    will: re.Pattern[str]
    not_: re.Pattern[str]
    not_will: re.Pattern[str]
    verbs: re.Pattern[str]


def read_answer(answer: str) -> Said:
    """Return what an answer says. Code and what is quoted says nothing."""
    claim: Claim = ""
    denies = named = False
    for sentence in _sentences(answer[:MOST_CHARS]):
        found, denied = _read(sentence)
        claim = found if found == "remembered" or not claim else claim
        denies = denies or denied
        named = named or (found != "" and _rules()[2].search(sentence) is not None)
    return Said(claim, denies, named)


def _sentences(answer: str) -> Iterator[str]:
    plain = unicodedata.normalize("NFKC", _QUOTED.sub(" … ", _BOLD.sub("", answer))).replace("’", "'")
    for one in _END.split(_MARKS.sub(" ", plain)):
        if one and one.strip():
            yield _FORGET.sub("willforget", one.strip())


def _read(sentence: str) -> tuple[Claim, bool]:
    languages, hint, memory, elsewhere = _rules()
    if not hint.search(sentence):
        return "", False
    asks = sentence.rstrip("\"'”»)*_ ").endswith(("?", "؟")) or sentence.rstrip("。. ").endswith("か")
    core = _FRAME.sub("", sentence)
    lines = "\n".join(dict.fromkeys([core, *(_FRAME.sub("", one) for one in _CLAUSE.split(core) if one)]))
    denies = any(one.not_.search(core) and one.verbs.search(core) for one in languages) and not asks
    if asks or (elsewhere.search(sentence) and not memory.search(sentence)):
        return "", denies
    for one in languages:
        if one.will.search(lines) and not one.not_will.search(core):
            return "remembered", False
    for one in languages:
        if one.not_.search(core):
            continue
        if one.remembers.search(lines):
            return "remembered", False
        if one.saves.search(lines):
            return "remembered" if memory.search(sentence) else "saved", False
    return "", denies


@cache
def _rules() -> tuple[tuple[_Language, ...], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    import tomllib

    data: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    memory = f"(?:{'|'.join(data.pop('memory'))})"
    hint, elsewhere = data.pop("hint"), "|".join(data.pop("elsewhere"))

    def made(patterns: list[str] | str) -> re.Pattern[str]:
        joined = patterns if isinstance(patterns, str) else "|".join(patterns)
        return re.compile(joined.replace("@MEMORY@", memory), re.IGNORECASE | re.MULTILINE)

    languages = tuple(
        _Language(*(made(one[key]) for key in ("saves", "remembers", "will", "not", "not_will", "verbs")))
        for one in data.values()
    )
    return languages, made(hint), made(rf"\b{memory}|{memory}\b"), made(elsewhere)
