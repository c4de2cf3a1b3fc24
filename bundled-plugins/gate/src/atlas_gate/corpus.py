"""Judges cases of a corpus, one JSON object a line, in the world such a corpus describes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from atlas_gate.judge import judge
from atlas_gate.world import Mode, Shell, Trust, World
from atlas_sdk.values import read_json

# What stands for a character that could not be read, and how a line itself may write it.
_BROKEN = "\ufffd"
_NAMES_BROKEN = re.compile(r"\ufffd|\\u[fF]{3}[dD]")
_HOME = "/home/robin"
_WINDOWS_HOME = "C:\\Users\\robin"


def check_lines(lines: Iterable[str]) -> Iterator[dict[str, object]]:
    """An answer for each line, in the same order; a line that is no case is answered with an error."""
    for line in lines:
        if line.strip():
            yield _checked(line)


def corpus_world(case: dict[str, Any]) -> World:
    """The world of a case: the user is robin, in `work/app` under the home."""
    shell: Shell = "powershell" if case.get("shell") == "powershell" else "bash"
    mode: Mode = "auto" if case.get("mode") == "auto" else "ask"
    windows = shell == "powershell"
    home = _WINDOWS_HOME if windows else _HOME
    separator = "\\" if windows else "/"
    folder = separator.join((home, "work", "app"))
    files = {_absolute(name, folder): _text(text) for name, text in (case.get("cwd_files") or {}).items()}
    trust = case.get("trust") or {}

    def read_file(path: str) -> bytes | None:
        text = files.get(_absolute(path, folder))
        return None if text is None else text.encode("utf-8", "replace")

    def list_folder(path: str) -> list[str]:
        prefix = _absolute(path, folder).rstrip("/") + "/"
        inside = [name[len(prefix) :].partition("/")[0] for name in files if name.startswith(prefix)]
        return list(dict.fromkeys(inside))

    return World(
        home=home,
        cwd=folder,
        atlas_home=separator.join((home, ".atlas")),
        shell=shell,
        mode=mode,
        trust=Trust(*(tuple(map(str, trust.get(name) or ())) for name in ("deny", "ask", "ask_skip"))),
        read_file=read_file,
        list_folder=list_folder,
    )


def _checked(line: str) -> dict[str, object]:
    identity: object = None
    try:
        line.encode()  # bytes that are no text come as halves of characters
        case = read_json(line)
        if not isinstance(case, dict):
            return {"id": None, "error": "The line is not a JSON object."}
        identity = case.get("id")
        if case.get("shell", "bash") not in get_args(Shell):
            return {"id": identity, "error": "The shell is neither bash nor powershell."}
        command = _text(case["command"])
        if _BROKEN in command and not _NAMES_BROKEN.search(line):
            return {"id": identity, "error": "The command holds half a character."}
        judgement = judge(command, corpus_world(case))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {"id": identity, "error": f"The line is not a case: {type(error).__name__}."}
    return {"id": identity, "verdict": judgement.verdict.word, "rule": judgement.rule, "why": judgement.why}


def _text(value: object) -> str:
    """A text, which may be given in pieces."""
    if isinstance(value, list):
        return "".join(str(piece) for piece in value)
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _absolute(path: str, folder: str) -> str:
    plain = path.replace("\\", "/")
    base = folder.replace("\\", "/")
    joined = plain if plain.startswith("/") or plain[1:2] == ":" else f"{base}/{plain}"
    joined = posixpath.normpath(joined)
    return joined.lower() if base[1:2] == ":" else joined
