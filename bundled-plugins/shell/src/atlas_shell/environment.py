"""What a command is started with: the shell that reads it, and an environment without keys, pagers and colours."""

from __future__ import annotations

import base64
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from atlas_sdk.tools import ToolError

MARK = "ATLAS_COMMAND"
"""The variable that tells which command a process belongs to, wherever it ended up."""
_PLAIN = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "AWS_PAGER": "",
    "NO_COLOR": "1",
    "CLICOLOR": "0",
    "TERM": "dumb",
    "GIT_TERMINAL_PROMPT": "0",  # it would wait for a password nobody can type
}
# The first three make a shell or a program run or colour something nobody asked for.
_LEFT_OUT = {"BASH_ENV", "ENV", "FORCE_COLOR", "CLICOLOR_FORCE"}
_KEY_NAME = re.compile(r".*(_API_KEY|_API_TOKEN|_SECRET_KEY)", re.IGNORECASE)
# What providers begin their keys with (2026-11): OpenAI, Anthropic, OpenRouter; Google; Groq; xAI; Hugging Face.
_KEY_VALUE = re.compile(r"(sk-[\w-]{16,}|AIza[\w-]{30,}|gsk_\w{20,}|xai-\w{20,}|hf_\w{20,})")


def environment(
    environ: Mapping[str, str], *, home: Path, mark: str, secrets: Iterable[str] = (), programs: Iterable[Path] = ()
) -> dict[str, str]:
    """Return the environment of a command. ``secrets`` are the names of what the vault holds.

    ``programs`` are the folders of plugins, which stand last on the path: no plugin takes the place of ``git``.
    """
    hidden = {name.upper() for name in secrets}
    result = {
        name: value
        for name, value in environ.items()
        if not name.upper().startswith("ATLAS_")
        and name.upper() not in hidden | _LEFT_OUT
        and not _KEY_NAME.fullmatch(name)
        and not _KEY_VALUE.fullmatch(value.strip())
    }
    if found := [str(folder) for folder in programs]:
        name = next((name for name in result if name.upper() == "PATH"), "PATH")
        result[name] = os.pathsep.join([*([result[name]] if result.get(name) else []), *found])
    return {**result, **_PLAIN, "ATLAS_HOME": str(home), MARK: mark}


def command_line(command: str, platform: str) -> list[str]:
    """Return the program and arguments that run a command in the system's shell. Raises ToolError for no shell."""
    if platform == "win32":
        shell = _found("pwsh", "powershell")
        # Encoded, since no quoting survives Windows' command lines; the last line hands on a program's exit code.
        script = (
            "[Console]::OutputEncoding = [Text.Encoding]::UTF8\n$ProgressPreference = 'SilentlyContinue'\n"
            f"{command}\nif ($null -ne $LASTEXITCODE) {{ exit $LASTEXITCODE }} elseif (-not $?) {{ exit 1 }}"
        )
        encoded = base64.b64encode(script.encode("utf-16-le")).decode()
        return [shell, "-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded]
    return [_found("bash", "sh"), "-c", command]


def _found(*names: str) -> str:
    for name in names:
        if path := shutil.which(name):
            return path
    raise ToolError(f"Not run: there is no shell on this machine ({' or '.join(names)}).")
