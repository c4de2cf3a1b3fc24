"""Claude Code's names of tools and arguments, and Atlas's: plugins written for the one run in the other."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from atlas_sdk.values import Json

TOOLS = {
    "Bash": "run_command",
    "BashOutput": "run_command",
    "KillShell": "run_command",
    "KillBash": "run_command",
    "PowerShell": "run_command",
    "Read": "read_file",
    "NotebookRead": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "NotebookEdit": "edit_file",
    "Glob": "find_files",
    "Grep": "find_files",
    "LS": "find_files",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Task": "delegate",
    "Agent": "delegate",
    "TodoWrite": "plan",
    "TaskCreate": "plan",
    "TaskUpdate": "plan",
    "TaskList": "plan",
    "TaskGet": "plan",
    "ExitPlanMode": "plan",
    "AskUserQuestion": "ask_user",
    "Skill": "use_skill",
    "SlashCommand": "use_skill",
    "ToolSearch": "tool_search",
}
"""Claude Code's tools (https://code.claude.com/docs/en/tools-reference, 2026-11), each with Atlas's for it."""
_ARGUMENTS = {
    "Bash": {"background": "run_in_background"},
    "Read": {"path": "file_path"},
    "Write": {"path": "file_path"},
    "Edit": {"path": "file_path"},
    "Grep": {"file_glob": "glob"},
    "Skill": {"name": "skill"},
}
"""The arguments that have another name under Claude Code's name of the tool."""
_OWN_TO_CLAUDE = {"description", "dangerouslyDisableSandbox"}
"""Arguments Claude Code's tools have, a hook may hand back, and Atlas's have no use for."""
_RULE = re.compile(r"\s*([\w.*-]+)\s*(?:\((.*)\))?\s*\Z", re.DOTALL)


def to_atlas(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return tools named in an agent's front matter by Atlas's names, each once and in order.

    What stands in parentheses (``Bash(git diff:*)``) narrows nothing here: the gate judges each call. A name Atlas
    does not know stays as it is, as an MCP tool's does.
    """
    found = []
    for name in names:
        rule = _RULE.match(name)
        plain = rule[1] if rule else name
        found.append(TOOLS.get(plain, plain))
    return tuple(dict.fromkeys(found))


def of_claude(tool: str, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """Return Claude Code's names for a tool of Atlas's, the one that fits the call best first."""
    names = [name for name, ours in TOOLS.items() if ours == tool]
    if tool == "find_files" and arguments.get("target") != "files":
        names.sort(key=lambda name: name != "Grep")
    return tuple(names)


def arguments_of_claude(name: str, arguments: Mapping[str, Json], folder: Path) -> dict[str, Any]:
    """Return a call's arguments as Claude Code's tool has them: its names, whole paths, milliseconds."""
    names = _ARGUMENTS.get(name, {})
    told = {names.get(key, key): value for key, value in arguments.items()}
    if isinstance(path := told.get("file_path"), str):
        told["file_path"] = str(folder / path)
    if name == "Bash" and isinstance(timeout := told.get("timeout"), int):
        told["timeout"] = timeout * 1000
    return told


def arguments_of_atlas(name: str, told: Mapping[str, Json]) -> dict[str, Any]:
    """Return arguments a hook handed back under Claude Code's names as Atlas's tool has them."""
    back = {theirs: ours for ours, theirs in _ARGUMENTS.get(name, {}).items()}
    changed = {back.get(key, key): value for key, value in told.items() if key not in _OWN_TO_CLAUDE}
    if name == "Bash" and isinstance(timeout := changed.get("timeout"), int | float):
        changed["timeout"] = max(1, int(timeout // 1000))
    return changed


def fits(rule: str, names: tuple[str, ...], arguments: Mapping[str, Json]) -> bool:
    """Say whether a call fits a rule such as ``Bash(git push:*)`` or ``Edit(*.py)``, a hook's ``if``.

    A command line fits when one of its commands does. A rule that cannot be read fits: its hook then runs too often
    rather than never, as in Claude Code.
    """
    found = _RULE.match(rule)
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
    for key in ("file_path", "path", "url", "skill", "name", "query", "pattern"):
        if isinstance(value := arguments.get(key), str):
            return fnmatchcase(value, pattern) or fnmatchcase(value, f"*/{pattern.removeprefix('./').lstrip('/')}")
    return True


def _command_fits(part: str, pattern: str) -> bool:
    plain = re.sub(r"\A(?:\s*[A-Za-z_]\w*=\S*)*\s*", "", part).strip()
    if pattern.endswith(":*"):
        start = pattern.removesuffix(":*")
        return plain == start or plain.startswith(f"{start} ")
    return fnmatchcase(plain, pattern)
