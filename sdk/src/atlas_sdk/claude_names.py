"""Tools and their arguments in Claude Code's words, for hooks, agents and matchers that were written for it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .values import Json

TOOL_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "run_command": ("Bash",),
        "read_file": ("Read",),
        "write_file": ("Write",),
        "edit_file": ("Edit", "MultiEdit"),
        "find_files": ("Grep", "Glob"),
        "ask_user": ("AskUserQuestion",),
        "use_skill": ("Skill",),
        "delegate": ("Task", "Agent"),
        "web_search": ("WebSearch",),
        "web_fetch": ("WebFetch",),
    }
)
"""Atlas's tools and what Claude Code calls them. A tool of an MCP server has one name in both."""

_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path"},
}


def claude_names(tool: str, arguments: Json = None) -> tuple[str, ...]:
    """Return what Claude Code calls a tool of Atlas, the name that fits these arguments best first."""
    names = TOOL_NAMES.get(tool, ())
    if tool == "find_files" and isinstance(arguments, dict) and arguments.get("target") == "files":
        return tuple(reversed(names))
    return names


def atlas_name(tool: str) -> str:
    """Return Atlas's name of a tool of Claude Code; any other name stays as it is."""
    return next((atlas for atlas, names in TOOL_NAMES.items() if tool in names), tool)


def claude_arguments(tool: str, arguments: Json) -> Json:
    """Return a call's arguments as Claude Code names them: ``path`` of ``write_file`` is ``file_path``."""
    return _renamed(arguments, _ARGUMENTS.get(tool, {}))


def atlas_arguments(tool: str, arguments: Json) -> Json:
    """Return arguments in Claude Code's names as Atlas's tool takes them."""
    return _renamed(arguments, {theirs: ours for ours, theirs in _ARGUMENTS.get(tool, {}).items()})


def _renamed(arguments: Json, names: Mapping[str, str]) -> Json:
    if not isinstance(arguments, dict):
        return arguments
    return {names.get(name, name): value for name, value in arguments.items()}
