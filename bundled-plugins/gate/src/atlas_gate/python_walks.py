"""Loops of Python over what is in a folder."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from atlas_gate.deeds import Deed
from atlas_gate.python_calls import DELETING_CALLS, PASSES_ON, REMOVING_CALLS, WALKING_CALLS
from atlas_gate.python_values import Values

_BROAD_NAME = re.compile(r"(?:[*?.]|\[[^\]]{0,64}\])+")


class Walks:
    """The loops over folders of one source. A loop around another comes to the same folder again, and counts once."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._seen: set[tuple[int, str]] = set()

    def deed(self, walked: ast.expr, body: Sequence[ast.AST], *, is_narrowed: bool = False) -> Deed | None:
        """What a loop does: one that deletes what it comes to in a folder, deletes what is in the folder."""
        while isinstance(walked, ast.Call) and self._values.dotted(walked.func) in PASSES_ON and walked.args:
            walked = walked.args[-1]
        found = self._folder_walked(walked)
        if found is None:
            return None
        folder, name = found
        if (id(walked), folder) in self._seen:
            return None  # a loop around it comes to the same again
        self._seen.add((id(walked), folder))
        removing = [one for statement in body for one in ast.walk(statement) if self._removes(one)]
        if not removing:
            return None
        guarded = {
            id(one)
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, ast.If | ast.IfExp) and self._keeps_to_some(node.test)
            for one in ast.walk(node)
        }
        if name:
            return Deed("remove", (f"{folder.rstrip('/')}/{name}",))
        if is_narrowed or all(id(one) in guarded for one in removing):
            return Deed("delete-some", (folder,))
        return Deed("delete", (folder,))

    def _keeps_to_some(self, test: ast.expr) -> bool:
        return any(isinstance(one, ast.Compare | ast.Call) and not self._only_tells(one) for one in ast.walk(test))

    def _folder_walked(self, node: ast.AST) -> tuple[str, str] | None:
        """The folder a call goes through, and the names it keeps to, if any."""
        if not isinstance(node, ast.Call):
            return None
        name = self._values.dotted(node.func)
        if name in WALKING_CALLS:
            folder = self._values.value(node.args[0]) if node.args else "."
            return (folder, "") if isinstance(folder, str) else None
        if name in ("glob.glob", "glob.iglob", "iglob") and node.args:
            pattern = self._values.value(node.args[0])
            return _split_pattern(pattern) if isinstance(pattern, str) else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("rglob", "glob", "iterdir", "walk"):
            folder = self._values.value(node.func.value)
            pattern = self._values.value(node.args[0]) if node.args else "*"
            if isinstance(folder, str) and isinstance(pattern, str):
                return _split_pattern(f"{folder.rstrip('/')}/{pattern}")
        return None

    def _removes(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        name = self._values.dotted(node.func)
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr in ("unlink", "rmdir") and not node.args
        return name in REMOVING_CALLS or name in DELETING_CALLS or is_method or name == "os.truncate"

    def _only_tells(self, node: ast.AST) -> bool:
        """Whether a test tells a file from a folder, which keeps to nothing."""
        return isinstance(node, ast.Call) and self._values.dotted(node.func).rpartition(".")[2] in (
            "is_file", "isfile", "is_dir", "isdir", "exists", "islink", "is_symlink", "access", "join", "path"
        )  # fmt: skip


def _split_pattern(pattern: str) -> tuple[str, str]:
    """The folder in front of the stars, and the last name where it keeps to some files."""
    names = pattern.split("/")
    first = next((at for at, name in enumerate(names) if re.search(r"[*?\[]", name)), len(names) - 1)
    last = names[-1]
    return "/".join(names[:first]) or "/", "" if _BROAD_NAME.fullmatch(last) else last
