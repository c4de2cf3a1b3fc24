"""An edit: exact text found and replaced, and what the change looks like. Pure."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from atlas_sdk.tools import ToolError

CONTEXT_LINES = 3
DIFF_CHARS = 20_000
_DIFFED_LINES = 4_000  # difflib takes seconds beyond
_COMPARED_LINES = 5_000
_COMPARED_CHARS = 300
_NEAR = 0.6


@dataclass(frozen=True)
class Edited:
    """The new text, and how many places changed."""

    text: str
    places: int


def edit(text: str, old: str, new: str, *, replace_all: bool) -> Edited:
    """Replace ``old``, which must be there exactly once unless ``replace_all``. Raises ToolError.

    Only the two kinds of line end count as the same; what is put in has those of the place it goes to.
    """
    if not old:
        raise ToolError("Not edited: old_string is empty. Give the text to replace, or use write_file for a new file.")
    old, new = _plain(old), _plain(new)
    if old == new:
        raise ToolError("Not edited: old_string and new_string are the same.")
    pattern = re.compile("\r?\n".join(re.escape(part) for part in old.split("\n")))
    first = pattern.search(text)
    if first is None:
        raise ToolError(f"Not edited: old_string is not in the file. {_nearest(text, old)}")
    if not replace_all and pattern.search(text, first.start() + 1):
        lines = [text.count("\n", 0, found.start()) + 1 for found in pattern.finditer(text)]
        where = ", ".join(map(str, lines[:10])) + (" and more" if len(lines) > 10 else "")
        raise ToolError(
            f"Not edited: old_string is in the file more than once (lines {where}). "
            "Add lines around it until it is unique, or set replace_all."
        )
    usual = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"

    def put(found: re.Match[str]) -> str:
        end = usual if "\n" not in found[0] else "\r\n" if "\r\n" in found[0] else "\n"
        return new.replace("\n", end)

    result, places = pattern.subn(put, text, count=0 if replace_all else 1)
    return Edited(result, places)


def diff(before: str, after: str, name: str) -> str:
    """Return the change as a unified diff, cut where it grows long."""
    old, new = _lines(before), _lines(after)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    # What is the same at both ends is left out first: difflib's time grows with the square of the rest.
    start, end = max(0, start - CONTEXT_LINES), max(0, end - CONTEXT_LINES)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if len(old) + len(new) > _DIFFED_LINES:
        return f"The change spans {len(old)} lines from line {start + 1} on, too many to show."
    lines = [f"--- {name}", f"+++ {name}"]
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        lines.append(_header(group[0], group[-1], start))
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[a:b]]
                continue
            lines += [f"-{line}" for line in old[a:b]]
            lines += [f"+{line}" for line in new[c:d]]
    shown = "\n".join(lines)
    return shown if len(shown) <= DIFF_CHARS else shown[:DIFF_CHARS] + "\n[The diff goes on.]"


def _header(first: tuple[str, int, int, int, int], last: tuple[str, int, int, int, int], start: int) -> str:
    a, b, c, d = first[1], last[2], first[3], last[4]
    return f"@@ -{start + a + 1},{b - a} +{start + c + 1},{d - c} @@"


def _lines(text: str) -> list[str]:
    lines = _plain(text).split("\n")
    if lines[-1]:
        lines[-1] += "\n\\ No newline at end of file"
        return lines
    return lines[:-1]


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _nearest(text: str, old: str) -> str:
    """Say what in the file is most like the text that was looked for."""
    lines, wanted = _plain(text).split("\n"), old.strip("\n").split("\n")
    squeezed = [line.split() for line in wanted]
    height = len(wanted)
    for at in range(len(lines) - height + 1):
        if lines[at].split() == squeezed[0] and [line.split() for line in lines[at : at + height]] == squeezed:
            return f"Lines {at + 1} to {at + height} differ from it only in white space:\n{_quoted(lines, at, height)}"
    anchor = max(range(height), key=lambda index: len(wanted[index].strip()))
    candidates = [line[:_COMPARED_CHARS] for line in lines[:_COMPARED_LINES]]
    near = difflib.get_close_matches(wanted[anchor][:_COMPARED_CHARS], candidates, 1, _NEAR)
    if not near:
        return "Nothing in it is like it. Read the file again."
    at = max(0, candidates.index(near[0]) - anchor)
    return f"The nearest text begins at line {at + 1}:\n{_quoted(lines, at, height)}"


def _quoted(lines: list[str], at: int, height: int) -> str:
    return "\n".join(line[:500] for line in lines[at : at + min(height, 20)])
