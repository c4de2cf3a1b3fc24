"""What a tool answered, in the shapes of Claude Code's tools: what a hook is told as ``tool_response``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .values import Json

# Atlas says beneath a command's output how it ended; in Claude Code the output is the command's alone.
_ENDED = re.compile(r"(?:\A|(?<=\n))\[[^\]\n]*exit code 0\]\Z")


def claude_result(tool: str, arguments: Json, text: str, *, folder: Path) -> dict[str, Json]:
    """Return a result as hooks look for it: most read the output's text, or which file it was, by its whole path.

    ``folder`` is what a relative path starts from. Claude Code's tools differ in the name the text goes by; a hook
    finds it under each of them.
    """
    given: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    said = _ENDED.sub("", text) if tool == "run_command" else text
    told: dict[str, Json] = {
        "success": True,
        "content": said,
        "stdout": said,
        "stderr": "",
        "interrupted": False,
        "isImage": False,
    }
    path = given.get("path")
    if not isinstance(path, str) or "\0" in path or tool not in ("read_file", "write_file", "edit_file"):
        return told
    whole = str(folder / path)
    told["filePath"] = whole
    if tool == "read_file":
        told |= {"type": "text", "file": {"filePath": whole, "content": text}}
    elif tool == "edit_file":
        told |= {"oldString": given.get("old_string", ""), "newString": given.get("new_string", "")}
    return told
