"""What each program that copies, packs, sends or searches reads all of: its trees, as words of the command."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from atlas_gate.options import Options, first_operand, read_options
from atlas_gate.parts import Part, Word
from atlas_gate.paths import ATLAS_CLOSED_FILES
from atlas_gate.patterns import matches

Roots: TypeAlias = "Iterable[Word]"

_HERE: Final = Word(".")
_GREP_VALUES: Final = (*"efmABCdD", "regexp", "file", "max-count", "after-context", "before-context", "context")
_RG_VALUES: Final = (*"efmABCgtTjMrEd", "regexp", "file", "glob", "iglob", "type", "type-not", "max-depth", "threads")
_TAR_VALUES: Final = (*"fCTXbIFgKNVH", "file", "directory", "files-from", "exclude", "exclude-from", "transform")
_NAMES_ONLY: Final = re.compile(r"--(?:files|files-with(?:out)?-match(?:es)?|count|count-matches|quiet|type-list)")


@dataclass(frozen=True, slots=True)
class _Copier:
    """A program that takes trees and, mostly, a place to put them last."""

    with_value: tuple[str, ...] = ()
    letters: str = ""
    names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    has_target: bool = True
    target_option: tuple[str, ...] = ()
    target_first: bool = False

    def __call__(self, part: Part) -> Roots:
        options = read_options(part.arguments, with_value=(*self.with_value, *self.target_option))
        operands = list(options.operands)
        if (self.letters or self.names) and not options.has(self.letters, *self.names):
            return ()
        if self.verbs:
            texts = [word.text for word in operands]
            at = next((at for at, text in enumerate(texts[:2]) if text in self.verbs), None)
            if at is None:
                return ()
            operands = operands[at + 1 :]
        if self.target_first:
            return operands[1:]
        if self.has_target and options.value(*self.target_option) is None:
            return operands[:-1]
        return operands


def _tar(part: Part) -> Roots:
    words = part.arguments
    old = bool(words) and re.fullmatch(r"[A-Za-z]+", words[0].text) is not None
    if old:
        words = (Word("-" + words[0].text), *words[1:])
    values = (
        *"fCTXbIFgKNVH",
        "file",
        "directory",
        "files-from",
        "exclude",
        "exclude-from",
        "transform",
        "use-compress-program",
    )
    options = read_options(words, with_value=values)
    if not options.has("cru", "create", "append", "update"):
        return ()
    if options.value("T", "files-from") in ("-", "/dev/stdin"):
        return (*options.operands, *_names_fed(part))
    # The old form takes the values of its letters from the words behind it, in their order.
    taken = sum(letter in "fbCTXIFgKNVH" for letter in words[0].text[1:]) - 1 if old else 0
    return options.operands[max(taken, 0) :]


def _names_fed(part: Part) -> list[Word]:
    """Names on standard input, as `find` prints them."""
    return [Word(name) for name in re.split(r"[\n\0]", part.input) if name.startswith(("/", ".", "~"))]


def _fed(part: Part) -> Roots:
    options = read_options(part.arguments)
    return _names_fed(part) if options.has("op", "create", "pass-through") else ()


def _pax(part: Part) -> Roots:
    options = read_options(part.arguments, with_value=tuple("fxsbo"))
    if not options.has("w"):
        return ()
    return options.operands or _names_fed(part)


def _patterns_of(options: Options, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The operands of a searcher behind its pattern; the folder it is in where there are none."""
    has_pattern = options.value("e", "regexp", "f", "file") is not None
    return words[0 if has_pattern else 1 :] or (_HERE,)


def _lets_none_through(patterns: list[str]) -> bool:
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    return bool(wanted) and not any(may_be_closed(pattern.rpartition("/")[2]) for pattern in wanted)


def names_files_alone(part: Part) -> bool:
    """Whether a search prints the names of files, or how many lines, and nothing of them."""
    options = read_options(part.arguments, with_value=_RG_VALUES if part.name == "rg" else _GREP_VALUES)
    return options.has("lLcq") or any(_NAMES_ONLY.fullmatch("--" + name) for name, _ in options.long)


def _grep(part: Part) -> Roots:
    options = read_options(part.arguments, with_value=(*_GREP_VALUES, "include", "exclude", "exclude-dir"))
    if part.name != "rgrep" and not options.has("rR", "recursive", "dereference-recursive"):
        return ()
    if names_files_alone(part) or _lets_none_through([value for name, value in options.long if name == "include"]):
        return ()
    return _patterns_of(options, options.operands)


def _ripgrep(part: Part) -> Roots:
    options = read_options(part.arguments, with_value=_RG_VALUES)
    hidden = options.has(".", "hidden") or options.letters.count("u") + _count(options, "unrestricted") > 1
    if not hidden or names_files_alone(part):
        return ()
    globs = [value for name, value in (*options.values, *options.long) if name in ("g", "glob", "iglob")]
    if _lets_none_through(globs) or options.value("t", "type") not in (None, "json", "all"):
        return ()
    return _patterns_of(options, options.operands)


def _count(options: Options, name: str) -> int:
    return sum(given == name for given, _ in options.long)


def _silver(part: Part) -> Roots:
    options = read_options(part.arguments, with_value=(*"ABCGmp", "ignore", "ignore-dir", "file-search-regex"))
    if part.name == "ag" and not options.has("u", "hidden", "unrestricted"):
        return ()
    if options.has("g") or names_files_alone(part):
        return ()
    return options.operands[1:] or (_HERE,)


def _git(part: Part) -> Roots:
    start = first_operand(part.arguments, with_value=("C", "c", "git-dir", "work-tree", "namespace"))
    verb = [word.text for word in part.arguments[start : start + 1]]
    options = read_options(part.arguments[start + 1 :])
    if verb == ["grep"] and options.has("", "no-index"):
        return options.operands[1:] or (_HERE,)
    if verb != ["add"] or options.has("nu", "dry-run", "update"):
        return ()
    return options.operands or ((_HERE,) if options.has("A", "all") else ())


def _cmdlet(part: Part) -> Roots:
    """The source of `Copy-Item -Recurse` and of `Compress-Archive`: named, or the first word of its own."""
    texts = [text.lower() for text in part.texts]
    if part.name == "copy-item" and not any(len(text) > 1 and "-recurse".startswith(text) for text in texts):
        return ()
    for at, text in enumerate(texts):
        if len(text) > 2 and ("-path".startswith(text) or "-literalpath".startswith(text)):
            return part.arguments[at + 1 : at + 2]
    befores = ["", *texts]
    return [
        word
        for before, word in zip(befores, part.arguments, strict=False)
        if not word.text.startswith("-") and not before.startswith(("-d", "-c", "-f", "-i", "-e"))
    ][:1]


def _serve(part: Part) -> Roots:
    folder = read_options(part.arguments, with_value=("d", "directory", "b", "bind", "p", "t")).value("d", "directory")
    return (_HERE if folder is None else Word(folder),)


def _diff(part: Part) -> Roots:
    options = read_options(part.arguments, with_value=tuple("xXIUF"))
    return options.operands if options.has("r", "recursive") else ()


def may_be_closed(name: str) -> bool:
    """Whether a pattern of file names lets a closed file of a home through."""
    return any(matches(file.rpartition("/")[2], name.lower()) for file in ATLAS_CLOSED_FILES)


_CLOUD = _Copier(verbs=("copy", "sync", "move", "copyto", "moveto", "cp", "mirror", "put", "upload"))
_COPY = _Copier(("S", "suffix"), "rRa", ("recursive", "archive"), target_option=("t", "target-directory"))
_BACKUP = _Copier((*"rpeo", "repo", "exclude", "tag"), verbs=("backup", "create"), has_target=False)
_IMAGE = _Copier((*"oVAp", "output"), "rRJ", has_target=False)
TREE_READERS: Final[dict[str, Callable[[Part], Roots]]] = {
    **dict.fromkeys(("cp", "gcp"), _COPY),
    "rsync": _Copier((*"efBMT", "rsh", "exclude", "include", "filter", "exclude-from"), "ra", ("recursive", "archive")),
    "scp": _Copier(tuple("cFiJloPSDX"), "r"),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar),
    "cpio": _fed,
    "pax": _pax,
    "zip": _Copier((*"bntx", "exclude"), "r", ("recurse-paths",), target_first=True),
    **dict.fromkeys(("7z", "7za", "7zr", "7zz", "rar"), _Copier(verbs=("a", "u"), target_first=True)),
    **dict.fromkeys(("ditto", "mksquashfs", "robocopy"), _Copier()),
    **dict.fromkeys(("genisoimage", "mkisofs", "xorrisofs"), _IMAGE),
    **dict.fromkeys(("rclone", "mc", "s3cmd", "b2"), _CLOUD),
    "aws": _Copier(("profile", "region", "exclude", "include"), verbs=("sync", "cp", "mv")),
    "gsutil": _Copier(verbs=("cp", "rsync", "mv")),
    **dict.fromkeys(("restic", "kopia", "rustic"), _BACKUP),
    "borg": _Copier((*"eC", "exclude", "compression"), verbs=("create",), target_first=True),
    "duplicity": _Copier(("exclude", "include")),
    **dict.fromkeys(("grep", "egrep", "fgrep", "rgrep", "zgrep", "ggrep"), _grep),
    "rg": _ripgrep,
    **dict.fromkeys(("ag", "ack"), _silver),
    "diff": _diff,
    "git": _git,
    **dict.fromkeys(("copy-item", "compress-archive"), _cmdlet),
    **dict.fromkeys(("http.server", "simplehttpserver"), _serve),
}
