"""Texts that have the agent's own configuration edited: its instruction files, settings, hooks, plugins."""

from __future__ import annotations

import re

from .patterns import pattern
from .sentences import Sentence

_FILE = (
    r"(?:claude|agents|soul|gemini|bot)(?:\.local|\.override)?\.md|copilot-instructions\.md|\.?mcp\.json|settings(?:\.local)?\.json"
    r"|\.(?:cursor|windsurf|cline)rules|config\.toml|models\.toml|\.(?:claude|codex|cursor|gemini|atlas)[/\\]"
)
OWN_FILE = re.compile(rf"(?<![\w-])(?:{_FILE})")
_OWN_PLACE = pattern("agent_config", "own_place")
_BY_EDITING = pattern("agent_config", "by_editing")
_SPELLED_OUT = pattern("agent_config", "spelled_out")
_COMMAND = pattern("agent_config", "command")
_ANOTHER = re.compile(
    r"\b(?:for|in|into) (?:the |my |our |their |his |her )?(?:text |code )?(?:editor|browser|ide|vs ?code|n?vim"
    r"|neovim|emacs|firefox|chrome|figma|wordpress|obsidian|jetbrains|intellij|pycharm|blender|gimp|photoshop|excel)\b"
)


def commands(text: str) -> str:
    """Return what a command in a text changes of the agent, or nothing."""
    return "a command in it changes the agent's own configuration" if _COMMAND.search(text) else ""


def ordered(sentence: Sentence) -> str:
    """Return what a sentence has changed of the agent, or nothing."""
    if _BY_EDITING.search(sentence.text) or _SPELLED_OUT.search(sentence.text):
        return "it has the agent's own configuration changed"
    places = sentence.orders("change")
    if not places:
        return ""
    first = min(places)
    named = [at for at, word in enumerate(sentence.words) if at > first and _is_own(word.text, word.tags)]
    if named or (sentence.has("agent_settings") and max(sentence.at("agent_settings")) > first):
        return "it has the agent's own configuration changed"
    if re.search(r"\bmcp servers?\b", sentence.text) and re.search(
        r"\btrust|\bhttps?:|\b[\w-]+\.(?:test|com|net|io|dev)\b", sentence.text
    ):
        return "it has the agent's own configuration changed"
    installs = [at for at in places if sentence.words[at].text in ("install", "enable", "activate", "load")]
    if sentence.near(installs, "plugin", after=6) and not _for_another(sentence.text):
        return "it has something installed into the agent"
    routine = re.search(r"\b(?:edits|changes|rewrites|updates|modifies|overwrites)\b", sentence.text)
    return "it has the agent's own configuration changed" if routine and OWN_FILE.search(sentence.text) else ""


def _for_another(text: str) -> bool:
    """Whether a plugin is for some other program, and comes from where that program's plugins come from."""
    return _ANOTHER.search(text) is not None and re.search(r"https?:|\byour\b|\byourself\b", text) is None


def _is_own(word: str, tags: frozenset[str]) -> bool:
    return "agent_file" in tags or OWN_FILE.search(word) is not None or _OWN_PLACE.search(word) is not None
