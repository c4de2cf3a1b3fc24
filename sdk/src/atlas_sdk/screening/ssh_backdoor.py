"""Texts that open a way into a machine: keys, tunnels, checks turned off, shells that call home."""

from __future__ import annotations

import re

from .patterns import pattern
from .sentences import Sentence

_COMMAND = pattern("ssh_backdoor", "command")
_RUNS = pattern("ssh_backdoor", "runs_download")
_OPEN_INDEX = pattern("ssh_backdoor", "open_index")
_REVERSE = pattern("ssh_backdoor", "reverse")
_HOST_KEYS = re.compile(r"\b(?:any|all|unknown|every|new) (?:ssh )?host ?keys?\b|\bunknown hosts?\b")
_LOGIN = pattern("ssh_backdoor", "login")
_BY_EDITING = pattern("ssh_backdoor", "by_editing")
_SETTINGS = re.compile(r"\.ssh/(?:config|rc|environment|authorized)")
_EDITS = frozenset(
    (
        "edit",
        "change",
        "modify",
        "add",
        "append",
        "write",
        "put",
        "insert",
        "replace",
        "place",
        "install",
        "rewrite",
        "overwrite",
        "update",
        "set",
    )
)
_PRIVATE = pattern("ssh_backdoor", "private")
_CHECKS = re.compile(r"\bstricthostkeychecking\b|\bhost key check(?:s|ing)?\b|\bknown_hosts\b")


def commands(text: str, *, procedure: bool) -> str:
    """Return what a command or a line of configuration opens, or nothing."""
    if _COMMAND.search(text):
        return "it opens a way into a machine"
    if procedure:
        return ""
    if _RUNS.search(text):
        return "a command in it runs what it downloads"
    return "it has packages installed that nobody checks" if _OPEN_INDEX.search(text) else ""


def ordered(sentence: Sentence) -> str:
    """Return what a sentence has opened, or nothing."""
    text = sentence.text
    places = sentence.orders("grant_access", "change", "send")
    if _HOST_KEYS.search(text) and sentence.orders("obey", "grant_access"):
        return "it has strange machines trusted"
    if _BY_EDITING.search(text):
        return "it opens a way into a machine"
    if not places:
        return ""
    if _SETTINGS.search(text) and any(sentence.words[at].text in _EDITS for at in places):
        return "it opens a way into a machine"
    if sentence.has("key_file") or "authorized_keys" in text:
        return "it puts a key where it lets somebody in"
    if sentence.near(places, "login_key", after=8) and (
        re.search(r"\bmy (?:public |ssh )?key\b", text)
        or (sentence.has("machine") and re.search(r"\b(?:log in|login|root|every|all)\b", text))
    ):
        return "it puts a key where it lets somebody in"
    if _REVERSE.search(text) or _LOGIN.search(text) or _PRIVATE.search(text):
        return "it opens a way into a machine"
    off = any(
        sentence.words[at].text in ("turn", "disable", "set", "deactivate", "remove", "clear", "delete")
        for at in places
    )
    if off and _CHECKS.search(text) and re.search(r"\b(?:off|disable|no|remove|clear|delete|deactivate)\b", text):
        return "it has strange machines trusted"
    return ""
