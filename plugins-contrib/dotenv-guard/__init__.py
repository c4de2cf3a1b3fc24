"""A guard: what would write a key or a password into a file is refused, with what to do in its place."""

import re
import subprocess
from pathlib import Path
from typing import Any

from atlas.plugins.sdk import PluginContext

from .secrets import copied_from, found_in

GIT_SECONDS = 5
WRITES = re.compile(r">|\btee\b|\bsed\b[^|;&]*\s-i|\bdd\b[^|;&]*\bof=|<<")
ENV_FILE = r"[\s/]\.env(?!\.(?:example|sample|template|dist))"
COPIES = re.compile(rf"\b(?:cp|mv|rsync|install|scp|ln)\b[^|;&]*{ENV_FILE}\s+[^\s|;&]")
PRINTS = re.compile(rf"{ENV_FILE}\b[^|;&]*(?:>|\|\s*tee\b)")
WAY_OUT = "Put the value into a .env file that git ignores, and read it from the environment."


def register(ctx: PluginContext) -> None:
    def guard(event: dict[str, Any]) -> Any:
        arguments, folder = event["tool_input"], Path(event.get("cwd") or ".")
        why = _command(arguments, folder) if "command" in arguments else _file(ctx, arguments, folder)
        if not why:
            return None  # no opinion
        return {"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": why}}

    ctx.register_hook("PreToolUse", guard, matcher="Write|Edit|MultiEdit|Bash")


def _file(ctx: PluginContext, arguments: dict[str, Any], folder: Path) -> str:
    path = folder / Path(str(arguments.get("file_path", ""))).expanduser()
    text = _written(arguments)
    what = found_in(text)
    allowed = str(ctx.setting("allowed")).split()
    if path.name in allowed:
        if (what or "=" in text) and _git_would_keep(path):
            return f"{path.name} would go into the repository. Add it to .gitignore first, then write it."
        return ""
    what = what or copied_from(folder, text)
    return f"{path.name} would hold {what}. {WAY_OUT}" if what else ""


def _command(arguments: dict[str, Any], folder: Path) -> str:
    command = str(arguments["command"])
    if COPIES.search(command) or PRINTS.search(command):
        return f"The command would write what is in .env to another file. {WAY_OUT}"
    if not WRITES.search(command):
        return ""
    what = found_in(command) or copied_from(folder, command)
    return f"The command would write {what} to a file. {WAY_OUT}" if what else ""


def _written(arguments: dict[str, Any]) -> str:
    """Return what a call puts into a file, whatever the tool calls it."""
    edits = arguments.get("edits")
    texts = [arguments.get("content"), arguments.get("new_string")]
    texts += [edit.get("new_string") for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def _git_would_keep(path: Path) -> bool:
    """Whether a file is in a repository that does not ignore it. Where git cannot say, it is taken to be."""
    if not path.parent.is_dir():
        return True
    try:
        ignored = subprocess.run(
            ["git", "-C", str(path.parent), "check-ignore", "-q", path.name],
            capture_output=True,
            check=False,
            timeout=GIT_SECONDS,
        ).returncode
    except FileNotFoundError:
        return False  # no git, no repository
    except subprocess.TimeoutExpired:
        return True
    return ignored == 1  # 0: ignored; 128: no repository
