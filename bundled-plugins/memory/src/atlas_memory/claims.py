"""Answers that say something was saved. Rules read them, no model, and a doubt is no claim.

said = read_answer("I've saved that.")
said.claim   # "saved": of the memory, or of a file where a tool wrote one in the same turn

Where a person asked for it, whatever takes that up without denying it is a claim, too:

asked = read_message("Remember that my sister is called Clara.")
read_answer("Lovely name!", asked).claim   # "saved"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from .asks import NOTHING_ASKED, Asked
from .languages import MEMORY, lines, table
from .replies import take_up
from .sentences import clauses, framed, is_question, sentences

MOST_CHARS = 20_000
Claim: TypeAlias = Literal["", "saved", "remembered"]
"""``remembered`` is of the memory alone; ``saved`` may be of a file, where one was written."""


@dataclass(frozen=True)
class Said:
    """What an answer says of saving: its claim, and whether it says of something that it was not saved.

    ``named`` says that the claim names the memory: "Noted." alone is no claim where nobody had said a thing to note.
    ``skill`` says that it claims a skill was saved or changed.
    """

    claim: Claim = ""
    denies: bool = False
    named: bool = False
    skill: bool = False

    @property
    def claims(self) -> bool:
        return self.skill or self.claim != ""


def read_answer(answer: str, asked: Asked = NOTHING_ASKED) -> Said:
    """Return what an answer says, to what was asked. Code and what is quoted says nothing."""
    answer = answer[:MOST_CHARS]
    claim: Claim = ""
    denies = named = skill = False
    for sentence in sentences(answer):
        found, denied = _read(sentence)
        claim = found if found == "remembered" or not claim else claim
        denies = denies or denied
        named = named or (found != "" and table("claims").common.has("memory", sentence))
        skill = skill or _says_skill(sentence)
    return _to(asked, Said(claim, denies, named, skill), answer)


def _to(asked: Asked, said: Said, answer: str) -> Said:
    """Return what an answer says where something was asked: "Done!" may say it all."""
    if not asked.memory and not asked.skill:
        return said
    if asked.skill and not asked.memory and said.claim == "saved":
        return replace(said, claim="", skill=True)
    if said.claims:
        return said
    match take_up(answer, more=asked.more):
        case "denies":
            return replace(said, denies=True)
        case "takes":
            return replace(said, claim="saved" if asked.memory else "", skill=asked.skill)
        case "":
            return said


def _read(sentence: str) -> tuple[Claim, bool]:
    rules = table("claims")
    if not rules.common.has("hint", sentence):
        return "", False
    core, languages = framed(sentence), rules.of(sentence)
    names_memory = table("claims").common.has("memory", sentence)
    asks = is_question(sentence)
    denies = not asks and any(one.has("not", core) and one.has("verbs", core) for one in languages)
    if asks or (not names_memory and rules.common.has("elsewhere", sentence)):
        return "", denies
    text = _parts(core, names_memory=names_memory)
    if any(one.has("will", text) and not one.has("not_will", core) for one in languages):
        return "remembered", False
    for one in languages:
        if one.has("not", core):
            continue
        if one.has("remembers", text):
            return "remembered", False
        if one.has("saves", text):
            return "remembered" if names_memory else "saved", False
    return "", denies


def _parts(core: str, *, names_memory: bool) -> str:
    """Return a sentence, its clauses and what "and" joins in them, a line each."""
    parts = [core, *clauses(core)]
    parts += [piece for one in parts for piece in _joined(one)]
    return lines([*parts, *(table("claims").common.put("memory", one, MEMORY) for one in parts if names_memory)])


def _joined(clause: str) -> Iterator[str]:
    """Yield what "and" joins, where all of it is of saving: "stored" is no claim in "it is hashed and stored"."""
    common = table("claims").common
    pieces = common.split("and", clause)
    if len(pieces) > 1 and all(common.has("hint", one) for one in pieces):
        yield from (framed(one) for one in pieces)


def _says_skill(sentence: str) -> bool:
    rules = table("skill_claims")
    if is_question(sentence) or not rules.common.has("nouns", sentence) or rules.common.has("elsewhere", sentence):
        return False
    core = framed(rules.common.put("purpose", sentence, ""))
    text = lines([core, *clauses(core)])
    return any(one.has("saves", text) for one in rules.of(core)) and not _taken_back(core)


def _taken_back(core: str) -> bool:
    return any(one.has("not", core) for one in table("claims").of(core))
