"""How an answer takes up what it was asked to remember: it does, it says that it did not, or it does neither."""

from __future__ import annotations

from typing import Literal

from .languages import plain, table
from .sentences import clauses, ends, is_question, sentences

SHORT_CHARS, SHORT_WIDE_CHARS = 280, 110
"""An answer of no more has room for little else than what was asked; fewer where a letter is a word."""
FIRST_CHARS, LAST_CHARS = 300, 200
"""Where a longer one says "noted", if it does."""
MOST_SENTENCES = 60
"""Of more the first and the last are read."""
_WIDE = ("japanese", "chinese", "korean")


def take_up(answer: str, *, more: bool, forget: bool = False) -> Literal["", "takes", "denies"]:
    """Return how an answer takes it up. ``more`` says that something else was asked, too, and may be all it answers.

    ``forget`` says that nothing was to be kept, but something removed: that it is there no longer denies nothing.
    """
    said = list(ends(list(dict.fromkeys(sentences(answer))), MOST_SENTENCES))
    if forget:
        said = [table("asks").common.put("gone", one, "") for one in said]
    rules = table("asks")
    if any(denies(one) for one in said) or (forget and any(_seeks_in_vain(one) for one in said)):
        return "denies"
    told = [one for one in said if not is_question(one)]
    asks = [one for one in said if is_question(one) and not rules.common.has("more", one)]
    if any(rules.common.has("saving", one) for one in asks) or (not told and said):
        return ""  # it asks whether to, or what
    if more or asks or not _is_short(answer):
        return "takes" if rules.any("assents", plain(f"{answer[:FIRST_CHARS]}\n{answer[-LAST_CHARS:]}")) else ""
    return "takes" if answer.strip() else ""


def finds_nothing(answer: str) -> bool:
    """Whether an answer says that there was nothing of what was to be removed."""
    return any(_seeks_in_vain(one) for one in ends(list(dict.fromkeys(sentences(answer))), MOST_SENTENCES))


def _is_short(answer: str) -> bool:
    scripts = {one.script for one in table("asks").of(answer)}
    return len(answer) <= (SHORT_WIDE_CHARS if scripts.intersection(_WIDE) else SHORT_CHARS)


def denies(sentence: str) -> bool:
    """Whether a sentence, or a part of one, says that something was not saved, or cannot be."""
    rules, nouns = table("asks"), table("claims").common
    common, text = rules.common, rules.common.put("comfort", sentence, "")
    if (
        rules.any("denies", text)
        or any(common.has(one, text) for one in ("barred", "shuns", "fades"))
        or (common.has("shut", text) and nouns.has("memory", text))
        or (common.has("off", text) and (nouns.has("memory", text) or common.has("saving", text)))
    ):
        return True
    heads = ((common.split("that", one) or [""])[0] for one in clauses(text))
    return any(
        common.has("nots", one) and (common.has("saving", one) or common.has("means", one) or nouns.has("memory", one))
        for one in heads
    )


def _seeks_in_vain(sentence: str) -> bool:
    common, mixed = table("asks").common, table("mixed").common
    parts = [one for one in clauses(sentence) if common.has("nots", one) or mixed.has("nothing", one)]
    return any(common.has("seeks", one) for one in parts)
