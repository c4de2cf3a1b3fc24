"""Tools and their arguments in Claude Code's words, for hooks, agents and matchers that were written for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from .values import Json

TOOL_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "run_command": ("Bash", "BashOutput", "KillShell", "KillBash", "PowerShell"),
        "read_file": ("Read", "NotebookRead"),
        "write_file": ("Write",),
        "edit_file": ("Edit", "MultiEdit", "NotebookEdit"),
        "find_files": ("Grep", "Glob", "LS"),
        "ask_user": ("AskUserQuestion",),
        "use_skill": ("Skill", "SlashCommand"),
        "delegate": ("Task", "Agent"),
        "web_search": ("WebSearch",),
        "web_fetch": ("WebFetch",),
        "plan": ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "ExitPlanMode"),
        "tool_search": ("ToolSearch",),
    }
)
"""Atlas's tools and what Claude Code calls them (https://code.claude.com/docs/en/tools-reference, 2026-11).

A tool of an MCP server has one name in both.
"""
MOST_RULE_CHARS = 500
"""A longer rule is no rule; nobody writes one."""

_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "run_command": {"background": "run_in_background", "stop": "shell_id"},
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path"},
    "find_files": {"file_glob": "glob"},
    "use_skill": {"name": "skill"},
}
_THEIRS_ALONE = {"description", "dangerouslyDisableSandbox"}
"""Arguments Claude Code's tools have, a hook may hand back, and Atlas's have no use for."""
_RULE = re.compile(r"\s*([\w.*-]+)\s*(?:\((.*)\))?\s*\Z", re.DOTALL)
_SAYS_WHAT = ("file_path", "path", "url", "skill", "name", "query", "pattern")
"""The argument that what stands in a rule's parentheses is held against; the first there is."""


def claude_names(tool: str, arguments: Json = None) -> tuple[str, ...]:
    """Return what Claude Code calls a tool of Atlas, the name that fits these arguments best first."""
    names = TOOL_NAMES.get(tool, ())
    if not isinstance(arguments, dict):
        return names
    if tool == "find_files" and arguments.get("target") == "files":
        return tuple(sorted(names, key=lambda name: name == "Grep"))
    if tool == "run_command":
        ends = bool(arguments.get("stop"))
        return tuple(name for name in names if name.startswith("Kill") == ends and name != "BashOutput")
    if not str(arguments.get("path", "")).lower().endswith(".ipynb"):
        return tuple(name for name in names if not name.startswith("Notebook"))
    return names


def atlas_name(tool: str) -> str:
    """Return Atlas's name of a tool of Claude Code; any other name stays as it is."""
    return next((atlas for atlas, names in TOOL_NAMES.items() if tool in names), tool)


def atlas_names(tools: Iterable[str]) -> tuple[str, ...]:
    """Return tools named in an agent's front matter by Atlas's names, each once and in order.

    What stands in parentheses (``Bash(git diff:*)``) narrows nothing here: the gate judges each call. A name Atlas
    does not know stays as it is, as an MCP tool's does.
    """
    plain = (rule[1] if (rule := _rule(tool)) else tool for tool in tools)
    return tuple(dict.fromkeys(map(atlas_name, plain)))


def claude_arguments(tool: str, arguments: Json, *, folder: Path | None = None) -> Json:
    """Return a call's arguments as Claude Code has them: its names, and milliseconds for a command's time.

    ``path`` of ``write_file`` is ``file_path``, and whole where ``folder`` says what it is relative to.
    """
    told = _renamed(arguments, _ARGUMENTS.get(tool, {}))
    if not isinstance(told, dict):
        return told
    if folder is not None and isinstance(path := told.get("file_path"), str) and "\0" not in path:
        told["file_path"] = str(folder / path)
    if tool == "run_command" and isinstance(timeout := told.get("timeout"), int | float):
        told["timeout"] = timeout * 1000
    return told


def atlas_arguments(tool: str, arguments: Json) -> Json:
    """Return arguments in Claude Code's names, which a hook handed back, as Atlas's tool takes them."""
    back = _renamed(arguments, {theirs: ours for ours, theirs in _ARGUMENTS.get(tool, {}).items()})
    if not isinstance(back, dict) or tool not in TOOL_NAMES:
        return back
    if tool == "run_command" and isinstance(timeout := back.get("timeout"), int | float) and math.isfinite(timeout):
        back["timeout"] = max(1, int(timeout // 1000))
    return {name: value for name, value in back.items() if name not in _THEIRS_ALONE}


def call_fits(rule: str, names: Iterable[str], arguments: Mapping[str, Json]) -> bool:
    """Say whether a call fits a rule such as ``Bash(git push:*)`` or ``Edit(*.py)``, a hook's ``if``.

    ``names`` are the tool's, and ``arguments`` those Claude Code would have. A command line fits when one of its
    commands does. A rule that cannot be read fits: its hook then runs too often rather than never, as in Claude Code.
    """
    found = _rule(rule)
    if found is None:
        return True
    if not any(fnmatchcase(name, found[1]) for name in names):
        return False
    pattern = (found[2] or "").strip()
    if pattern in ("", "*"):
        return True
    command = arguments.get("command")
    if isinstance(command, str):
        return any(_command_fits(part, pattern) for part in re.split(r"&&|\|\||[;|&\n]", command))
    for key in _SAYS_WHAT:
        if isinstance(value := arguments.get(key), str):
            return fnmatchcase(value, pattern) or fnmatchcase(value, f"*/{pattern.removeprefix('./').lstrip('/')}")
    return True


def _rule(text: str) -> re.Match[str] | None:
    return _RULE.match(text) if len(text) <= MOST_RULE_CHARS else None


def _command_fits(part: str, pattern: str) -> bool:
    plain = re.sub(r"\A(?:\s*[A-Za-z_]\w*=\S*)*\s*", "", part).strip()
    if pattern.endswith(":*"):
        start = pattern.removesuffix(":*")
        return plain == start or plain.startswith(f"{start} ")
    return fnmatchcase(plain, pattern)


def _renamed(arguments: Json, names: Mapping[str, str]) -> Json:
    if not isinstance(arguments, dict):
        return arguments
    return {names.get(name, name): value for name, value in arguments.items()}
