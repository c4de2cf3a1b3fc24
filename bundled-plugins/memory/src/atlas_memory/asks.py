"""Messages that ask for something to be remembered, or for a skill. Rules read them, language by language.

read_message("From now on, call me Cap.").memory   # True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .languages import MEMORY, Table, lines, table
from .sentences import clauses, framed, is_question, sentences

MOST_CHARS = 1_200
"""Of a longer message the beginning and the end are read: people ask there, and paste between."""
LONG_CHARS = 400
YES_CHARS = 60


@dataclass(frozen=True)
class Asked:
    """What a message asks for: ``forget`` that something is taken out of the memory, ``more`` something else, too.

    ``text`` says that it asks for a text and no more: what that says, the answer does not say for itself.
    """

    memory: bool = False
    skill: bool = False
    more: bool = False
    forget: bool = False
    text: bool = False

    @property
    def anything(self) -> bool:
        return self.memory or self.skill or self.forget


NOTHING_ASKED = Asked()


def read_message(message: str, offer: str = "") -> Asked:
    """Return what a message asks for. ``offer`` is the answer before it, to which it may say no more than "yes"."""
    half = MOST_CHARS // 2
    text = message if len(message) <= MOST_CHARS else f"{message[:half]}\n{message[-half:]}"
    found = list(_own(text))
    if not found and any(_is_task(one) for one in sentences(text, single_quotes=True)):
        return Asked(text=True)
    if offer and len(text) <= YES_CHARS and found and table("asks").common.has("yes", framed(found[0])):
        return _offered(offer)
    questions = [one for one in found if is_question(one)]
    told = [one for one in found if not is_question(one)]
    skill = any(_asks_skill(one) for one in found)
    forget = any(_asks(one, "forgets") for one in found)
    memory = any(_asks(one) for one in told) or any(_asks(one, "polite") for one in questions)
    others = [one for one in questions if not any(_asks(one, how) for how in ("polite", "forgets"))]
    more = any(not _asks_skill(one) for one in others) or len(text) > LONG_CHARS
    if not memory and not more:
        memory = not skill and not forget and any(_writes(one) for one in told)
    return Asked(memory, skill, more, forget) if memory or skill or forget else NOTHING_ASKED


def _own(text: str) -> Iterator[str]:
    """Yield the sentences a person says for themselves, not those they want translated."""
    for one in sentences(text, single_quotes=True):
        if _is_task(one):
            if ":" in one:
                return
            continue
        yield one


def _is_task(sentence: str) -> bool:
    return table("asks").common.has("task", framed(sentence))


def _asks(sentence: str, how: str = "asks") -> bool:
    return _finds(table("asks"), how, sentence)


def _writes(sentence: str) -> bool:
    if any(table(name).common.has("elsewhere", sentence) for name in ("asks", "claims")):
        return False
    return _finds(table("asks"), "writes", sentence)


def _asks_skill(sentence: str) -> bool:
    rules = table("skill_claims")
    if not rules.common.has("nouns", sentence) or rules.common.has("elsewhere", sentence):
        return False
    return _finds(rules, "asks", sentence)


def _finds(rules: Table, key: str, sentence: str) -> bool:
    core = framed(sentence)
    parts = [core, *clauses(core)]
    parts += [piece for one in parts for piece in table("claims").common.split("and", one)]
    bare = [table("asks").common.put("before", one, "") for one in parts]
    named = [table("claims").common.put("memory", one, MEMORY) for one in (*parts, *bare)]
    return rules.any(key, lines([*parts, *bare, *named]))


def _offered(offer: str) -> Asked:
    """Return what "yes" asks for after an answer that ended with a question."""
    last = [one for one in sentences(offer) if is_question(one)][-1:]
    skill = any(table("skill_claims").common.has("nouns", one) for one in last)
    return Asked(not skill and any(table("asks").common.has("saving", one) for one in last), skill)
