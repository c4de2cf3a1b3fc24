"""What reads a whole tree that Atlas's own home is part of, its vault and token included.

Copying, packing, sending and printing the contents of such a tree count; listing names, sizes and dates
does not, nor does a tree from which the home is left out by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from atlas_gate.found_trees import FIND_PATHS, TELLS_OF, found_trees
from atlas_gate.parts import ANY, OUTPUT, UNKNOWN, Part, Word, is_constant, name_set
from atlas_gate.path_forms import plain_path
from atlas_gate.paths import ATLAS_SETTINGS, Ground
from atlas_gate.patterns import matches
from atlas_gate.tree_readers import TREE_READERS, may_be_closed, names_files_alone
from atlas_gate.written_files import written_words

_FINDERS: Final = frozenset(("find", "gfind"))
PROGRAMS: Final = _FINDERS | frozenset(TREE_READERS)
_HANDED_ON: Final = frozenset(("xargs", "parallel"))
# How `find` writes a name at any depth.
_DEEPER: Final = ANY + ANY
_REMOVERS: Final = name_set("rm unlink shred trash chmod chown")
# Given a folder these fail, so a folder here stands for the files found in it.
_PRINTERS: Final = name_set("cat tac head tail nl less more base64 base32 xxd od hexdump strings curl")
_EXCLUDING: Final = re.compile(r"--(?:exclude(?:-dir|-from)?|ignore(?:-dir)?|skip)|-x|-g|--glob|--iglob|-xr?!?")


def reads_home_tree(part: Part, ground: Ground) -> bool:
    """Whether a part copies, sends or prints what is in a tree that holds a home of Atlas."""
    if part.name in _FINDERS:
        roots: Iterable[Word] = found_trees(part, ground)
    else:
        roots = TREE_READERS[part.name](part)
    base = _changed_folder(part)
    return any(_holds_home(part, ground, word, base) for word in roots)


def touches_found_file(part: Part, ground: Ground) -> bool:
    """Whether a part is given a file of a home that `find` found by its name: `sqlite3 $(find ~ -name atlas.db)`."""
    words = [word for word in part.arguments if _DEEPER in word.text]
    if not words or part.name in TELLS_OF - _REMOVERS or (part.name in TREE_READERS and names_files_alone(part)):
        return False
    # In quotes, all the names `find` printed are one word.
    for line in [line for word in words for line in word.text.splitlines() if _DEEPER in line]:
        folder, _, name = ground.path(part, line).lower().partition(f"/{_DEEPER}/")
        name = re.sub(f"[{ANY}{OUTPUT}{UNKNOWN}]+", "*", name)
        if is_constant(folder) and ground.homes_under(folder or "/"):
            changes = part.name in _REMOVERS or any(line in one.text for one in written_words(part))
            if may_be_closed(name) or (changes and any(matches(one, name) for one in ATLAS_SETTINGS)):
                return True
    return False


def reads_found_home(part: Part, ground: Ground) -> bool:
    """Whether a part reads, one by one, the names found in a tree that holds a home of Atlas."""
    origin = part.origin[-1] if part.origin else ""
    is_handed = bool(_HANDED_ON.intersection(part.origin[-2:]))
    if not is_handed and not (part.name in _PRINTERS and (origin in ("", "$( )", "eval") or origin.endswith("sh -c"))):
        return False
    if part.name in TELLS_OF or (part.name in TREE_READERS and names_files_alone(part)):
        return False
    return any(_found_in_home(part, ground, word, is_handed=is_handed) for word in part.arguments)


def _found_in_home(part: Part, ground: Ground, word: Word, *, is_handed: bool) -> bool:
    path = re.sub(f"[{ANY}{OUTPUT}{UNKNOWN}]+", "*", ground.path(part, word)).lower()
    if "*" not in path:
        return path.startswith("/") and bool(ground.homes_under(path))
    folder, _, name = path.rpartition("/")
    return is_handed and path.startswith("/") and bool(ground.homes_under(folder or "/")) and may_be_closed(name)


def _holds_home(part: Part, ground: Ground, word: Word, base: str | None) -> bool:
    text = word.text.replace(ANY, "*")
    path = plain_path(text, ground.path(part, base), part.links) if base is not None else ground.path(part, text)
    if not is_constant(path):
        return False
    if word.is_pattern or ANY in word.text:
        homes = [home for home in ground.atlas_homes if _matches_above(path.lower(), home)]
    else:
        homes = ground.homes_under(path) or ground.homes_under(ground.world.real_path(path))
    return any(not _is_left_out(part, ground, home, path) for home in homes)


def _matches_above(pattern: str, home: str) -> bool:
    """Whether a pattern matches the home or a folder above it. A star does not match a hidden name."""
    patterns, names = pattern.strip("/").split("/"), home.strip("/").split("/")
    return len(patterns) <= len(names) and all(
        matches(name, one) and (not name.startswith(".") or one.startswith("."))
        for one, name in zip(patterns, names, strict=False)
    )


def _is_left_out(part: Part, ground: Ground, home: str, root: str) -> bool:
    """Whether an option leaves the home out by its name, its path or as a hidden folder."""
    inside = home[len(root.rstrip("/")) + 1 :].split("/") if home.startswith(root.lower().rstrip("/") + "/") else [home]
    for before, text in pairwise(["", *part.texts]):
        name, equals, value = text.partition("=")
        if _EXCLUDING.fullmatch(before):
            value = text
        elif not (equals and _EXCLUDING.fullmatch(name)):
            continue
        needs_mark = before in ("-g", "--glob", "--iglob") or name in ("--glob", "--iglob")
        if needs_mark and not value.startswith("!"):
            continue
        pattern = re.sub(r"^!?(?:\*{1,2}/)*|/+\*{0,2}$", "", value).lower()
        plain = ground.path(part, pattern).lower()
        if plain == home or home.startswith(plain + "/"):
            return True
        names = pattern.strip("/").split("/")
        starts = range(len(inside)) if not pattern.startswith("/") else [0]
        if any(matches("/".join(inside[at : at + len(names)]), "/".join(names)) and names != ["*"] for at in starts):
            return True
    return False


def _changed_folder(part: Part) -> str | None:
    """The folder that `tar -C` and `git -C` go to first."""
    names = ("-C", "--directory", "--cd", "--work-tree")
    for assignment in part.assignments:
        if assignment.name == "GIT_WORK_TREE" and part.name == "git":
            return assignment.value
    for word, after in pairwise([*part.arguments, Word("")]):
        if word.text in names:
            return after.text
        if word.text.startswith(("--directory=", "--cd=", "--work-tree=")):
            return word.text.partition("=")[2]
    return None


def left_out_words(part: Part) -> Iterator[int]:
    """The numbers of the words that only say what a program leaves out."""
    texts = [word.text for word in part.words]
    for at, text in enumerate(texts):
        before = texts[at - 1] if at else ""
        if (
            text.startswith("--exclude")
            or (before.startswith("--exclude") and "=" not in before)
            or (before in FIND_PATHS and (texts[at - 2] in ("!", "-not") or "-prune" in texts[at + 1 : at + 3]))
        ):
            yield at
