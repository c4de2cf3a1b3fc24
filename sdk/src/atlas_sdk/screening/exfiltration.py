"""Texts that have secrets or private things sent out of the machine, in words or as a command."""

from __future__ import annotations

import re

from .patterns import pattern
from .sentences import Sentence

# Where secrets and private things are kept.
SECRET_PLACE = pattern("exfiltration", "secret_place")
_NETWORK = pattern("exfiltration", "network")
_ENVIRONMENT = re.compile(r"(?<![\w-])(?:env|printenv|set|export -p|get-childitem env:|gci env:)\s{0,3}\|")
_ARCHIVE = pattern("exfiltration", "archive")
_OPTION = re.compile(r"(?:-i|--key|--cert|--cacert|-e)[ =]\S{1,200}")
_URL = pattern("exfiltration", "url")
_FILLED_IN = pattern("exfiltration", "filled_in", re.IGNORECASE)
_EVERY_MAIL = re.compile(r"\b(?:bcc|cc)\b[^\n]{0,80}\b(?:all|every|each|any)\b")
_REQUEST = pattern("exfiltration", "request")
_PASTED = pattern("exfiltration", "pasted")
_PRIVATE = pattern("exfiltration", "private")
_PUSH = re.compile(r"\bgit remote (?:add|set-url)\b[^\n]{0,160}\bgit push\b")


def commands(text: str) -> str:
    """Return what a command in a text sends out, or nothing."""
    if _ARCHIVE.search(text):
        return "a command in it sends files to another machine"
    if _PUSH.search(text):
        return "a command in it pushes everything to another place"
    if _FILLED_IN.search(text):
        return "an image in it carries private things in its address"
    for line in text.split("\n"):
        if not _NETWORK.search(line):
            continue
        if _ENVIRONMENT.search(line):
            return "a command in it sends the environment out"
        if SECRET_PLACE.search(_OPTION.sub(" ", line)) and _sends(line):
            return "a command in it sends secrets out"
    return ""


def _sends(line: str) -> bool:
    """Whether a line is a command that sends: it has something of a command's marks, and does not just name a tool."""
    return re.search(r"[|@$]|\s-{1,2}\w|\S:\S{0,40}/|\S@\S|:(?:\s|$)|https?://|\(", line) is not None


def ordered(sentence: Sentence) -> str:
    """Return what a sentence has sent out, or nothing."""
    if _PASTED.search(sentence.text) and not sentence.has("negated"):
        return "it has private things written where others read them"
    places = sentence.orders("send")
    if _REQUEST.search(sentence.text):
        places = places or [0]
    if not places:
        return ""
    if _EVERY_MAIL.search(sentence.text) and any(sentence.words[at].text in ("bcc", "cc") for at in places):
        return "it has mail copied to somebody"
    private = sentence.has("sensitive") or SECRET_PLACE.search(sentence.text) is not None
    private = private or _PRIVATE.search(sentence.text) is not None
    if not private:
        return ""
    address = _URL.search(sentence.text) is not None
    if address or (sentence.has("outward") and _goes_out(sentence, places)):
        return "it has private things sent out"
    return ""


def _goes_out(sentence: Sentence, places: list[int]) -> bool:
    """Without an address, what says where it goes must stand behind the order and its object."""
    first = min(places)
    outward = [at for at in sentence.at("outward") if at > first + 1]
    if not outward:
        return False
    what = [at for at in sentence.at("sensitive") if at >= first]
    named = [at for at, word in enumerate(sentence.words) if at > first and SECRET_PLACE.search(word.text)]
    return bool(what or named) and (outward[-1] != min([*what, *named]))
