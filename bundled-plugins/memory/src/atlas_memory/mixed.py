"""Answers that claim one thing and deny another: what was denied of the second excuses no claim of the first.

claims_beside("Mate is saved, the printer was refused.")   # True
claims_beside("Noted, but I could not save it.")           # False: it is taken back

Rules of words read them, and a doubt is no claim: a denial of "it", of everything or of the memory takes back all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from .languages import MEMORY, Language, table
from .replies import denies
from .sentences import clauses, ends, framed, is_question, sentences

MOST_SENTENCES = 20
"""An answer that takes up what was asked, a thing here and a thing there, is no longer than that."""
_CLAIMS = ("saves", "remembers", "did")
_WORD = re.compile(r"\w{3,}")
"""Of fewer letters are articles and the like, which name no thing."""


def claims_beside(answer: str, *, removal: bool = False, named: bool = False) -> bool:
    """Whether an answer claims something of the memory that no denial in it takes back.

    ``removal`` asks for a claim of a removal, ``named`` for one that names the memory: nobody asked for either.
    """
    said = [one for one in ends(list(dict.fromkeys(sentences(answer))), MOST_SENTENCES) if not is_question(one)]
    text = "\n".join(said)
    known = {one.name: one for one in table("mixed").of(text)}
    return any(
        _claims(one, known[one.name], said, removal=removal, named=named)
        for one in table("claims").of(text)
        if one.name in known
    )


def _claims(rules: Language, words: Language, said: list[str], *, removal: bool, named: bool) -> bool:
    keys = ("undid",) if removal else _CLAIMS
    claimed = of_other = False
    for sentence in said:
        # What was said or tried before, or would be, is no claim; a denial in it is one.
        firm = not words.has("reports", sentence) and not rules.has("if", sentence)
        for piece in _pieces(words, sentence):
            denied = _denied(words, piece, after_other=of_other)
            if denied == "same":
                return False
            of_other = denied == "other"
            if firm and not denied and (not named or _evened(piece) != piece):
                claimed = claimed or _is_claim(rules, words, piece, keys)
    return claimed


def _pieces(words: Language, sentence: str) -> Iterator[str]:
    """Yield the clauses of a sentence, and what "but" and "and" join in them."""
    for clause in clauses(sentence):
        kept, *left = words.split("excepts", clause) or [""]
        yield from (framed(one) for one in words.split("split", kept))
        yield from (f"not {one}" for one in left)  # "all but the printer": of that it is a denial


def _denied(words: Language, piece: str, *, after_other: bool) -> Literal["", "same", "other"]:
    """Return of what a piece is a denial. One of "it" after another is of that thing, too."""
    common = table("asks").common
    if not (denies(piece) or words.has("refused", piece) or common.has("nots", common.put("comfort", piece, ""))):
        return ""
    if words.has("others", piece):
        return "other"
    if table("mixed").common.has("nothing", piece):
        return "same"
    if after_other:
        return "other"
    if words.has("same", _evened(piece)):
        return "same"
    left = words.put("small", common.put("nots", _evened(piece), " "), " ").replace(MEMORY, " ")
    things = [one for one in _WORD.findall(left) if not common.has("saving", one)]
    return "other" if things else "same"


def _is_claim(rules: Language, words: Language, piece: str, keys: tuple[str, ...]) -> bool:
    common = table("claims").common
    evened = _evened(piece)
    if rules.has("not", piece) or (common.has("elsewhere", piece) and evened == piece):
        return False
    return any(rules.has(key, piece) for key in keys) or words.has("stands" if keys == _CLAIMS else "undone", evened)


def _evened(piece: str) -> str:
    return table("claims").common.put("memory", piece, MEMORY)
