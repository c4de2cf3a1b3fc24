"""Globs for file names, matched here: ripgrep's own ``--glob`` would bring hidden and ignored files back."""

from __future__ import annotations

import re
from collections.abc import Callable

from atlas_sdk.tools import ToolError


def matcher(glob: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Return whether a path with ``/`` matches: by its last part, or as a whole where the glob has a ``/``.

    ``*`` and ``?`` stay within a folder, ``**`` does not, ``[a-z]`` and ``{one,other}`` are choices.
    Raises ToolError for a glob that is none.
    """
    glob = glob.replace("\\", "/").removeprefix("./").lstrip("/")
    by_name = "/" not in glob
    try:
        pattern = re.compile(_regex(glob), re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ToolError(f"{glob[:200]!r} is not a glob: {error.msg}. Write one such as *.py or src/**/*.ts.") from error
    return lambda path: pattern.fullmatch(path.rpartition("/")[2] if by_name else path) is not None


def _regex(glob: str) -> str:
    result, at, depth = "", 0, 0
    while at < len(glob):
        letter = glob[at]
        if glob.startswith("**/", at):
            result, at = result + "(?:.*/)?", at + 3
            continue
        if glob.startswith("**", at):
            result, at = result + ".*", at + 2
            continue
        end = glob.find("]", at + 2) if letter == "[" else -1
        if end > 0:
            inner = glob[at + 1 : end].replace("[", "\\[")
            result, at = result + f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]", end + 1
            continue
        if letter == "{" and "}" in glob[at:]:
            result, depth = result + "(?:", depth + 1
        elif letter == "}" and depth:
            result, depth = result + ")", depth - 1
        elif letter == "," and depth:
            result += "|"
        else:
            result += {"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter))
        at += 1
    return result
