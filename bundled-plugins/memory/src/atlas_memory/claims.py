"""Answers that say something was saved. Rules read them, no model, and a doubt is no claim.

said = read_answer("I've saved that.")
said.claim   # "saved": of the memory, or of a file where a tool wrote one in the same turn

Where a person asked for it, whatever takes that up without denying it is a claim, too:

asked = read_message("Remember that my sister is called Clara.")
read_answer("Lovely name!", asked).claim   # "saved"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from .asks import NOTHING_ASKED, Asked
from .languages import MEMORY, Language, lines, table
from .mixed import claims_beside
from .replies import take_up
from .sentences import clauses, ends, framed, is_question, sentences

MOST_CHARS = 20_000
MOST_SENTENCES = 60
"""Of more that have a word of saving the first and the last are read, so that a long answer holds nobody up."""
Claim: TypeAlias = Literal["", "saved", "remembered"]
"""``remembered`` is of the memory alone; ``saved`` may be of a file, where one was written."""
_STRENGTH: tuple[Claim, ...] = ("", "saved", "remembered")


@dataclass(frozen=True)
class Said:
    """What an answer says of saving: its claim, and whether it says of something that it was not saved.

    ``named`` says that the claim names the memory: "Noted." alone is no claim where nobody had said a thing to note.
    ``removed`` says that it claims something was taken out of the memory, ``skill`` that a skill was saved or changed.
    """

    claim: Claim = ""
    denies: bool = False
    named: bool = False
    removed: bool = False
    skill: bool = False

    @property
    def claims(self) -> bool:
        return self.skill or self.removed or self.claim != ""


def read_answer(answer: str, asked: Asked = NOTHING_ASKED) -> Said:
    """Return what an answer says, to what was asked. Code and what is quoted says nothing."""
    answer = answer[:MOST_CHARS]
    said = Said()
    hints, nouns = table("claims"), table("skill_claims").common
    found = [one for one in dict.fromkeys(sentences(answer)) if hints.has("hint", one) or nouns.has("nouns", one)]
    for sentence in ends(found, MOST_SENTENCES):
        one = _read(sentence)
        said = Said(
            claim=one.claim if one.claim == "remembered" or not said.claim else said.claim,
            denies=said.denies or one.denies,
            named=said.named or one.named,
            removed=said.removed or one.removed,
            skill=said.skill or _says_skill(sentence),
        )
    return _to(asked, said, answer)


def _to(asked: Asked, said: Said, answer: str) -> Said:
    """Return what an answer says where something was asked: "Done!" may say it all."""
    if asked.text and not said.named:
        return replace(said, claim="", removed=False)
    if not asked.anything:
        beside = said.denies and not said.claims and claims_beside(answer, named=True)
        return replace(said, claim="remembered", named=True) if beside else said
    if asked.skill and not asked.memory and said.claim == "saved":
        return replace(said, claim="", skill=True)
    if said.claims:
        return said
    match take_up(answer, more=asked.more, forget=asked.forget and not asked.memory):
        case "denies":
            removed = asked.forget and not asked.memory
            beside = (asked.memory or removed) and claims_beside(answer, removal=removed)
            return replace(
                said, denies=True, claim="saved" if beside and not removed else "", removed=beside and removed
            )
        case "takes":
            removed = asked.forget and not asked.memory
            return replace(said, claim="saved" if asked.memory else "", removed=removed, skill=asked.skill)
        case "":
            return said


@dataclass(frozen=True)
class Part:
    """A part of a sentence: what it says with the memory's names evened, what may take it back, and its frame.

    The frame makes a deed one of the memory: where it was done, what it was done to, or for when.
    """

    text: str
    evened: str
    scope: str
    frame: Literal["", "memory", "later", "about_you"]


def _read(sentence: str) -> Said:
    """Return what one sentence says of the memory."""
    rules, common = table("claims"), table("claims").common
    languages = [one for one in rules.of(sentence) if one.has("hint", sentence)]
    if not languages:
        return Said()
    core = framed(sentence)
    asks, named, elsewhere = is_question(sentence), common.has("memory", sentence), common.has("elsewhere", sentence)
    denies = not asks and any(one.has("not", core) and one.has("verbs", core) for one in languages)
    if asks or (elsewhere and not named):
        return Said(denies=denies)
    parts = list(_parts(common.put("so", core, ""), elsewhere=elsewhere))
    firm = [part for part in parts if not _negated(part.scope)]
    claim: Claim = ""
    removed = False
    for one in languages:
        if one.has("if", parts[0].scope):
            continue
        saves = [part for part in parts if not one.has("not", part.scope)]
        promises = [part for part in firm if not one.has("not_will", part.scope)]
        claim = max(claim, _claim(one, saves, promises, named=named), key=_STRENGTH.index)
        known = [part.text for part in saves if part.frame in ("memory", "about_you")]
        removed = removed or one.has("undid", lines(known))
    return Said(claim, denies, named and (claim != "" or removed), removed)


def _claim(language: Language, saves: Sequence[Part], promises: Sequence[Part], *, named: bool) -> Claim:
    """Return what the parts of a sentence claim which nothing takes back: what was saved, and what will be."""
    if language.has("will", _lines(promises)) or any(
        part.frame == "later" and language.has("keeps", part.text) for part in promises
    ):
        return "remembered"
    text = _lines(saves)
    if language.has("remembers", text):
        return "remembered"
    if language.has("saves", text):
        return "remembered" if named else "saved"
    frames = {part.frame for part in saves if part.frame and language.has("did", part.text)}
    return "remembered" if "memory" in frames else "saved" if frames else ""


def _lines(parts: Sequence[Part]) -> str:
    return lines([*(part.text for part in parts), *(part.evened for part in parts)])


def _parts(core: str, *, elsewhere: bool) -> Iterator[Part]:
    """Yield a sentence, its clauses and what "and" joins in them.

    "Noted: no pork" is taken back by nothing, and "not now, but noted" by what stands before.
    """
    found = clauses(core)
    heads = [_head(one) for one in found]
    saving = [table("claims").has("hint", one) for one in heads]
    yield _part(core, _bare(", ".join(heads)), elsewhere=elsewhere)
    for at, clause in enumerate(found):
        if not saving[at]:
            continue
        scope = _bare(", ".join(one for place, one in enumerate(heads) if place <= at or saving[place]))
        for one in (clause, *_joined(clause)):
            if one != core:
                yield _part(one, scope, elsewhere=elsewhere)


def _part(text: str, scope: str, *, elsewhere: bool) -> Part:
    common = table("claims").common
    evened = common.put("memory", text, MEMORY)
    row = " | " in text  # of a table: what one cell says is not of what another names
    frame: Literal["", "memory", "later", "about_you"] = "memory" if evened != text and not row else ""
    if not frame and not elsewhere and not row:
        frame = "later" if common.has("later", text) else "about_you" if common.has("about_you", text) else ""
    return Part(text, evened, scope, frame)


@lru_cache(maxsize=64)
def _bare(scope: str) -> str:
    """Return what may take a part back without the negations that do not: "no problem", "I won't forget"."""
    # The pattern takes long, and what has no "not" has none of these.
    return table("asks").common.put("comfort", scope, "") if _negated(scope) else scope


@lru_cache(maxsize=64)
def _negated(scope: str) -> bool:
    return table("asks").common.has("nots", scope)


def _head(clause: str) -> str:
    """Return a clause up to what was saved: "I noted that you don't eat pork" takes nothing back."""
    head = (table("asks").common.split("that", clause) or [""])[0]
    return head if head == clause or table("claims").has("hint", head) else clause


def _joined(clause: str) -> Iterator[str]:
    """Yield what "and" joins, where all of it is of saving: "stored" is no claim in "it is hashed and stored"."""
    pieces = table("claims").common.split("and", clause)
    if len(pieces) > 1 and all(table("claims").has("hint", one) for one in pieces):
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
