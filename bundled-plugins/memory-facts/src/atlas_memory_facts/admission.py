"""What may be kept, as what, and where: the trust gate, the categories, and the screening of values."""

from __future__ import annotations

from atlas_sdk.errors import AtlasError

from .categories import CATEGORIES, about_of, target_of
from .facts import Draft, Source, key_from, words_of
from .scopes import Who, is_guest, of_agent, of_here, of_person

VALUE_CHARS = 2_200
"""As long as the longest note of the other memory system, so that all it holds can be carried across."""
REVIEWED_CHARS = 1_000
"""What a reviewer, who is asked for 200, may write: beyond that it copies instead of consolidating."""
SURE = 1.0


class RefusedFactError(AtlasError):
    """A fact is not let in; nothing was kept. The message says why and what would be."""


def reviewed(who: Who, category: str, key: str, value: str, *, confidence: float, source: Source) -> Draft:
    """Let in what a review found: what is about the person is theirs, and the rest is the agent's.

    Raises RefusedFactError for a category there is not, for a rule that a guest gave, and for what may not be kept.
    """
    if category not in CATEGORIES:
        named = f"There is no category {category[:20]!r}" if _is_harmless(category) else "That is no category"
        raise RefusedFactError(f"{named}. Those there are: {', '.join(CATEGORIES)}.")
    allow(who, category)
    whose = of_person(who) if about_of(category) == "user" else of_agent(who)
    value = checked(value, most=REVIEWED_CHARS)
    return Draft(whose, category, _key(key), value, confidence, target_of(category), source)


def stored(who: Who, key: str, value: str, *, source: Source) -> Draft:
    """Let in what a tool stores: it is of this conversation or job alone, and rides in no prompt."""
    return Draft(of_here(who), "context", _key(key), checked(value), SURE, "", source)


def allow(who: Who, category: str) -> None:
    """Refuse a rule that a guest gives: what the agent always does is for its owner to say."""
    if category == "directive" and is_guest(who.owner):
        raise RefusedFactError("A directive is the owner's to give, and a guest said this. It was not kept.")


def checked(value: str, *, most: int = VALUE_CHARS) -> str:
    """Return a value that may be kept, on one line. Raises RefusedFactError, also beyond so many characters."""
    from atlas_sdk.screening import screen

    line = " ".join(value.split())
    if not words_of(line):
        raise RefusedFactError("The value is empty, and nothing was kept.")
    if len(line) > most:
        raise RefusedFactError(f"The value has {len(line):,} characters, and at most {most:,} are kept.")
    if found := screen(value):
        raise RefusedFactError(found.said)
    return line


def _is_harmless(text: str) -> bool:
    from atlas_sdk.screening import screen

    return not screen(text)


def _key(text: str) -> str:
    from atlas_sdk.screening import screen

    key = key_from(text)
    if not key:
        raise RefusedFactError("The key has no words. Name the fact in one or a few, such as home_city.")
    if found := screen(text):
        raise RefusedFactError(found.said)
    return key
