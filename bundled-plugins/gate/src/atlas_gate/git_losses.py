"""What Git throws away and cannot easily give back."""

from __future__ import annotations

import re

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import Part, Word, is_constant
from atlas_gate.paths import Ground

_GIT_VALUES = ("C", "c", "git-dir", "work-tree", "namespace", "exec-path")
_GIT_PATHS_VALUES = ("s", "source", "b", "B", "orphan", "conflict", "m", "message")
# A path of Git's that names more than one file, and no branch: a folder, a pattern, or one with a magic word.
_MANY_FILES = re.compile(r"^\.{1,2}$|/$|/\.{1,2}$|[*?\[]|^:")


def loses_work(part: Part, ground: Ground) -> bool:
    """Whether a command of Git throws away commits, branches or changes."""
    words = part.arguments
    start = first_operand(words, with_value=_GIT_VALUES)
    if start >= len(words):
        return False
    verb, rest = words[start].text, words[start + 1 :]
    options = read_options(rest, with_value=("o", "push-option", "m", "message", "receive-pack"))
    names = [word.text for word in options.operands]
    match verb:
        case "push":
            if options.has("n", "dry-run"):
                return False
            forced = options.has("fd", "force", "force-with-lease", "force-if-includes", "mirror", "delete", "prune")
            return forced or any(name.startswith(("+", ":")) for name in names[1:])
        case "reset":
            return options.has("", "hard", "merge")
        case "clean":
            return options.has("f", "force") and not options.has("n", "dry-run")
        case "checkout":
            return options.has("f", "force") or _discards(part, ground, rest)
        case "restore":
            in_index_alone = options.has("S", "staged") and not options.has("W", "worktree")
            return not in_index_alone and _discards(part, ground, rest)
        case "checkout-index":
            return options.has("f", "force") and options.has("a", "all")
        case "read-tree":
            return options.has("", "reset") and options.has("u")
        case "switch":
            return options.has("f", "force", "discard-changes")
        case "stash":
            return names[:1] in (["clear"], ["drop"])
        case "branch":
            return options.has("D") or (options.has("d", "delete") and options.has("f", "force"))
        case "reflog":
            return names[:1] in (["expire"], ["delete"])
        case "gc":
            return any(name == "prune" and value in ("now", "all") for name, value in options.long)
        case "prune" | "filter-branch" | "filter-repo":
            return True
        case "update-ref":
            return options.has("d", "delete")
        case "worktree":
            return names[:1] == ["remove"] and options.has("f", "force")
        case "submodule":
            return names[:1] == ["deinit"] and options.has("f", "force")
        case "rm":
            return options.has("f", "force") and options.has("r") and not options.has("", "cached")
        case _:
            return False


def _discards(part: Part, ground: Ground, rest: tuple[Word, ...]) -> bool:
    """Whether `checkout` or `restore` is given more than files by their names: a folder, a pattern, a list."""
    options = read_options(rest, with_value=_GIT_PATHS_VALUES)
    if options.has("bBt", "orphan", "detach", "track"):
        return False
    return options.has("", "pathspec-from-file") or any(
        word.is_pattern
        or _MANY_FILES.search(word.text)
        or (is_constant(word.text) and any(True for _ in ground.world.list_folder(ground.path(part, word))))
        for word in options.operands
    )
