"""The screening of a text, from what is plain to see to what must be read."""

from __future__ import annotations

import re

from . import agent_config, exfiltration, injection, ssh_backdoor, waivers
from .finding import Family, Finding
from .invisible import hides
from .lexicon import lexicon
from .readings import readings
from .secrets import holds_secret
from .sentences import sentences

_SAID: dict[Family, str] = {
    "injection": "It looks like an attack on the agent (prompt injection): {why}.",
    "exfiltration": "It looks like an attack that sends secrets out: {why}.",
    "ssh-backdoor": "It looks like an attack that opens a way in (SSH backdoor): {why}.",
    "agent-config": "It looks like an edit of the agent's own configuration: {why}.",
}
_INVISIBLE = Finding("invisible-unicode", "It holds invisible characters, which can hide orders from people.")
_SECRET = Finding("hardcoded-secret", "It holds a secret, such as a key or a password. Secrets belong in the vault.")
# "The talk 'Ignore previous instructions'": a title or an example that is quoted orders nothing.
_QUOTED = re.compile(
    r"\b(?:talks?|posts?|articles?|papers?|books?|chapter|fixture|phrase|titled|named|called|headline|song|lecture|film|novel|course"
    r"|essay|thesis|video|episode|podcast|slide|story|heading)\b(?:[ ,:]{1,2}\w{1,20}){0,2}[ ,:]{0,3}"
    r"(?:\"[^\"\n]{1,160}\"|'[^'\n]{1,160}'|«[^»\n]{1,160}»|„[^\"\n]{1,160}\")"
)
# "... is the rule, live by it": then it does.
_LIVED = re.compile(
    r"\b(?:(?:is|are|as|becomes?|states?) (?:[\w']{1,20} ){0,2}(?:rules?|law|policy|order|motto|principle)\b"
    r"|appl(?:y|ies|ied)\b|follow(?:s|ed)?\b|liv(?:e|es|ed|ing) by\b|obey|heed|abide|adhere"
    r"|act(?:s|ed)? (?:on|accordingly)\b"
    r"|carr(?:y|ied|ies) (?:it )?out\b|do (?:as|what|so)\b|(?:in)?to practice\b|binding\b|stick to\b|comply\b"
    r"|(?:each|every) (?:time|morning|day|session|conversation|chat|evening|night|week|turn|start|task)\b"
    r"|(?:eine|die|als) regel\b|gilt\b|befolg|regla\b|regle\b|regola\b|regra\b|правил)"
)
_AROUND = 160


def screen(text: str, *, procedure: bool = False) -> Finding | None:
    """Return why a text is not to be kept, or None. Time grows with the text only, and nothing is asked or read.

    A ``procedure``, such as a skill, is read when it is used and not in every conversation: commands that fetch and
    run a program are its business, and pass the gate when they are run.
    """
    if hides(text):
        return _INVISIBLE
    found = readings(text)
    if holds_secret(text, found[0]):
        return _SECRET
    for reading in found:
        if finding := _read(reading, procedure=procedure):
            return finding
    return None


def _read(text: str, *, procedure: bool) -> Finding | None:
    text = _QUOTED.sub(lambda found: found.group() if _is_lived_by(text, found) else " ", text)
    if why := ssh_backdoor.commands(text, procedure=procedure):
        return _finding("ssh-backdoor", why)
    if why := exfiltration.commands(text):
        return _finding("exfiltration", why)
    if why := agent_config.commands(text):
        return _finding("agent-config", why)
    if why := injection.injection(text):
        return _finding("injection", why)
    if why := waivers.waived(text):
        return _finding("injection", why)
    if injection.speaks_as(text, _is_order):
        return _finding("injection", "it poses as the system or the agent")
    for sentence in sentences(text):
        if why := ssh_backdoor.ordered(sentence):
            return _finding("ssh-backdoor", why)
        if why := agent_config.ordered(sentence):
            return _finding("agent-config", why)
        if why := exfiltration.ordered(sentence):
            return _finding("exfiltration", why)
        if why := injection.ordered(sentence):
            return _finding("injection", why)
    return None


def _is_lived_by(text: str, found: re.Match[str]) -> bool:
    """Whether what stands around a quotation makes a rule of it."""
    before, after = text[max(0, found.start() - _AROUND) : found.start()], text[found.end() : found.end() + _AROUND]
    return _LIVED.search(before) is not None or _LIVED.search(after) is not None


def _is_order(word: str) -> bool:
    """Whether a word is a verb that the rules know as an order."""
    return word in ("you", "new", "never", "always") or any(tag.endswith("!") for tag in lexicon().of(word))


def _finding(family: Family, why: str) -> Finding:
    return Finding(family, _SAID[family].format(why=why))
