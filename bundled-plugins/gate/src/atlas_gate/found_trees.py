"""What `find` comes to under a folder that holds a home of Atlas, and hands to another program."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from atlas_gate.options import first_operand
from atlas_gate.parts import Part, Word, name_set
from atlas_gate.paths import ATLAS_CLOSED_FILES, ATLAS_SETTINGS, Ground
from atlas_gate.patterns import matches
from atlas_gate.tree_readers import names_files_alone
from atlas_gate.written_files import written_words

# Behind `find -exec` or `xargs`, these tell of a file and not what is in it, or are judged by what they do to it.
TELLS_OF: Final = name_set(
    "ls stat file wc du test [ basename dirname realpath readlink echo printf touch chmod chown chgrp mkdir rmdir rm "
    "unlink shred trash true md5sum sha1sum sha256sum sha512sum b2sum cksum cd pushd export : "
    "setfacl getfacl lsattr chattr git"
)
_CHANGES: Final = name_set("rm unlink shred trash srm mv truncate chmod chown sed perl sponge ed ex")
_SEARCHERS: Final = name_set("grep egrep fgrep zgrep rg ag ack")
_FIND_RUNS: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
FIND_PATHS: Final = frozenset(("-path", "-ipath", "-wholename", "-iwholename"))
_FIND_NAMES: Final = frozenset(("-name", "-iname"))


def found_trees(part: Part, ground: Ground) -> list[Word]:
    """The roots under which `find` hands closed files to a program that reads them."""
    texts = part.texts
    runs = [_run_at(part, texts, at + 1, ground) for at, text in enumerate(texts[:-1]) if text in _FIND_RUNS]
    files = _files_touched(runs, texts)
    if not files:
        return []
    start = first_operand(part.arguments)
    roots: list[Word] = []
    for word in part.arguments[start:]:
        if word.text.startswith(("-", "(", "!")):
            break
        roots.append(word)
    return [root for root in roots or [Word(".")] if _find_reaches(part, ground, root, texts, files)]


def _files_touched(runs: list[Part], texts: list[str]) -> tuple[str, ...]:
    """The files of a home that the commands would read or change, if they were found."""
    names_one = any(text in _FIND_NAMES or text in FIND_PATHS for text in texts)
    changes = any(run.name in _CHANGES or any(True for _ in written_words(run)) for run in runs)
    if names_one and (changes or "-delete" in texts):
        return (*ATLAS_CLOSED_FILES, *ATLAS_SETTINGS)
    if any(run.name not in TELLS_OF and not (run.name in _SEARCHERS and names_files_alone(run)) for run in runs):
        return ATLAS_CLOSED_FILES
    return ()


def _run_at(part: Part, texts: list[str], start: int, ground: Ground) -> Part:
    """The command behind `-exec`, which ends at its `;` or `+`."""
    end = next((at for at in range(start, len(texts)) if texts[at] in (";", "+")), len(texts))
    ground.deadline.step(1 + (end - start) // 16)
    return Part(part.arguments[start:end])


def _find_reaches(part: Part, ground: Ground, root: Word, texts: list[str], files: tuple[str, ...]) -> bool:
    """Whether the tests of `find` let it come to one of these files of a home under a root."""
    path = ground.path(part, root).lower()
    depth = next((int(after) for text, after in pairwise(texts) if text == "-maxdepth" and after.isdigit()), None)
    if any(text == "-type" and after in ("d", "l") for text, after in pairwise(texts)):
        return False
    for home in ground.homes_under(path):
        for file in files:
            full = f"{home}/{file}"
            below = full[len(path.rstrip("/")) + 1 :].count("/") + 1
            if (depth is None or below <= depth) and _find_passes(texts, full, home, path):
                return True
    return False


def _find_passes(texts: list[str], full: str, home: str, root: str) -> bool:
    either = any(text in ("-o", "-or") for text in texts) and "-prune" not in texts
    for at, (test, value) in enumerate(pairwise(texts)):
        if test not in FIND_PATHS and test not in _FIND_NAMES:
            continue
        pattern = value.lower()
        if test in FIND_PATHS:
            fits = any(matches(one, pattern.rstrip("/")) for one in (full, home))
        else:
            names = [full.rpartition("/")[2], *home.removeprefix(root.rstrip("/")).strip("/").split("/")]
            pruned = "-prune" in texts[at + 2 :]
            fits = any(matches(name, pattern) for name in (names if pruned else names[:1]))
        is_not = at > 0 and texts[at - 1] in ("!", "-not")
        is_pruned = "-prune" in texts[at + 2 : at + 4]
        if is_pruned or is_not:
            if fits:
                return False
        elif not fits and not either:
            return False
    return True
