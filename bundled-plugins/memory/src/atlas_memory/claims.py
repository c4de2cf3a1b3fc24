"""Answers that say something was saved. Rules read them, no model, and a doubt is no claim.

said = read_answer("I've saved that.")
said.claim   # "saved": of the memory, or of a file where a tool wrote one in the same turn

Where a person asked for it, whatever takes that up without denying it is a claim, too:

asked = read_message("Remember that my sister is called Clara.")
read_answer("Lovely name!", asked).claim   # "saved"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from .asks import NOTHING_ASKED, Asked
from .languages import MEMORY, Language, lines, table
from .replies import take_up
from .sentences import clauses, ends, framed, is_question, sentences

MOST_CHARS = 20_000
MOST_SENTENCES = 80
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
    hints, nouns = table("claims").common, table("skill_claims").common
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
    if not asked.anything:
        return said
    if asked.skill and not asked.memory and said.claim == "saved":
        return replace(said, claim="", skill=True)
    if said.claims:
        return said
    match take_up(answer, more=asked.more, forget=asked.forget and not asked.memory):
        case "denies":
            return replace(said, denies=True)
        case "takes":
            removed = asked.forget and not asked.memory
            return replace(said, claim="saved" if asked.memory else "", removed=removed, skill=asked.skill)
        case "":
            return said


def _read(sentence: str) -> Said:
    """Return what one sentence says of the memory."""
    rules = table("claims")
    common = rules.common
    if not common.has("hint", sentence):
        return Said()
    core, languages = framed(sentence), rules.of(sentence)
    asks, named = is_question(sentence), common.has("memory", sentence)
    denies = not asks and any(one.has("not", core) and one.has("verbs", core) for one in languages)
    elsewhere = common.has("elsewhere", sentence)
    if asks or (elsewhere and not named):
        return Said(denies=denies)
    parts = _parts(common.put("so", core, ""))
    firm = {part: scope for part, scope in parts.items() if not table("asks").common.has("nots", scope)}
    claim: Claim = ""
    removed = False
    for one in languages:
        saves, promises = _standing(one, parts, "not"), _standing(one, firm, "not_will")
        claim = max(claim, _claim(one, saves, promises, named=named, elsewhere=elsewhere), key=_STRENGTH.index)
        removed = removed or any(_framed_by(part, elsewhere=elsewhere) for part in saves if one.has("undid", part))
    return Said(claim, denies, named and (claim != "" or removed), removed)


def _claim(language: Language, saves: Sequence[str], promises: Sequence[str], *, named: bool, elsewhere: bool) -> Claim:
    """Return what the parts of a sentence claim which nothing takes back: what was saved, and what will be."""
    if language.has("will", _with_memory(promises)):
        return "remembered"
    if any(_framed_by(part, elsewhere=elsewhere) == "later" for part in promises if language.has("keeps", part)):
        return "remembered"
    text = _with_memory(saves)
    if language.has("remembers", text):
        return "remembered"
    if language.has("saves", text):
        return "remembered" if named else "saved"
    frames = {_framed_by(part, elsewhere=elsewhere) for part in saves if language.has("did", part)}
    return "remembered" if "memory" in frames else "saved" if frames - {""} else ""


def _framed_by(part: str, *, elsewhere: bool) -> str:
    """Return what makes a deed one of the memory: where it was done, what it was done to, or for when."""
    common = table("claims").common
    if common.has("memory", part):
        return "memory"
    return next((one for one in ("later", "about_you") if not elsewhere and common.has(one, part)), "")


def _parts(core: str) -> dict[str, str]:
    """Return a sentence, its clauses and what "and" joins in them, with what may take each back.

    "Noted: no pork" is taken back by nothing, and "not now, but noted" by what stands before.
    """
    found = clauses(core)
    heads = [_head(one) for one in found]
    parts = {core: ", ".join(heads)}
    saving = [table("claims").common.has("hint", one) for one in heads]
    for at, clause in enumerate(found):
        scope = ", ".join(one for place, one in enumerate(heads) if place <= at or saving[place])
        for one in (clause, *_joined(clause)):
            parts.setdefault(one, scope)
    return {part: table("asks").common.put("comfort", scope, "") for part, scope in parts.items() if part}


def _head(clause: str) -> str:
    """Return a clause up to what was saved: "I noted that you don't eat pork" takes nothing back."""
    head = (table("asks").common.split("that", clause) or [""])[0]
    return head if table("claims").common.has("hint", head) else clause


def _standing(language: Language, parts: Mapping[str, str], what: str) -> list[str]:
    """Return the parts that nothing takes back, none where all is said under a condition."""
    if language.has("if", next(iter(parts.values()), "")):
        return []
    return [part for part, scope in parts.items() if not language.has(what, scope)]


def _with_memory(parts: Sequence[str]) -> str:
    common = table("claims").common
    return lines([*parts, *(common.put("memory", one, MEMORY) for one in parts)])


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
