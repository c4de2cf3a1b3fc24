"""What a part writes, deletes or makes: the files by their words, and the folders it unpacks into."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from atlas_gate.options import Options, first_operand, read_options
from atlas_gate.parts import Part, Word, name_set

# Every operand is written, made or deleted.
_ALL: Final = name_set(
    "tee rm unlink rmdir shred srm truncate touch mkdir mkfifo mknod fallocate sponge vi vim nvim nano emacs ed ex "
    "code subl gedit micro kak helix hx joe mcedit chattr setfacl trash trash-put gtee grm"
)
_EDITS_IN_PLACE: Final = name_set("sed gsed perl ruby yq")
# Behind a mode or an owner, every operand.
_BEHIND_ONE: Final = name_set("chmod chown chgrp")
_INTO_LAST: Final = name_set("cp gcp install ln rsync scp ditto pax")
_PLACED: Final = ("t", "m", "o", "g", "S", "e", "rsh", "target-directory", "exclude", "include", "mode", "owner")
_OUTPUT_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "curl": ("o", "output"),
    "wget": ("O", "output-document", "o", "a", "output-file"),
    "aria2c": ("o", "out"),
    "sort": ("o", "output"),
    "gcc": ("o",),
    "cc": ("o",),
    "clang": ("o",),
    "go": ("o",),
    "openssl": ("out",),
    "gpg": ("o", "output"),
    "age": ("o", "output"),
    "jq": (),
    "xxd": (),
    "patch": ("o", "output"),
    "git": (),
}
_FETCHES: Final = name_set("curl wget aria2c")
_CURL_VALUES: Final = (
    *"oHdXuAbceFKmTtUxyYzwrCDEPQ", "output", "output-dir", "header", "data", "request", "user", "user-agent", "form",
    "proxy", "max-time", "retry", "connect-timeout", "data-raw", "data-binary", "url", "cacert", "cert", "key",
)  # fmt: skip
_WGET_VALUES: Final = (*"OoaPtTwUeiBQ", "output-document", "output-file", "directory-prefix", "header", "user", "tries")
_TAR_VALUES: Final = (*"fCTXbIFgKNVH", "file", "directory", "files-from", "exclude", "exclude-from", "transform")
_TARS: Final = frozenset(("tar", "gtar", "bsdtar"))
_SEVENS: Final = name_set("7z 7za 7zr 7zz")
_GIT_VALUES: Final = ("C", "c", "git-dir", "work-tree", "namespace", "exec-path")
_HERE: Final = Word(".")


def written_words(part: Part) -> Iterator[Word]:
    """The files and folders a part writes, as words: what is copied into a folder counts by its own name too."""
    for redirect in part.redirects:
        if redirect.writes:
            yield redirect.target
    if part.words:
        yield from _by_program(part)


def _by_program(part: Part) -> Iterable[Word]:
    name = part.name
    if name in _ALL:
        return read_options(part.arguments, with_value=("s", "m", "r", "mode", "size")).operands
    if name in _EDITS_IN_PLACE:
        return _edited(part)
    if name in _BEHIND_ONE:
        return read_options(part.arguments).operands[1:]
    if name == "mv":
        return (*_into_last(part), *read_options(part.arguments, with_value=_PLACED).operands)
    if name in _INTO_LAST:
        return _into_last(part)
    if name == "dd":
        return [Word(text[3:], word.is_pattern) for word, text in _paired(part) if text.startswith("of=")]
    if name == "patch":
        return read_options(part.arguments, with_value=tuple("pidoBDFrVYz")).operands[:1]
    if name == "git":
        return _cloned(part)
    if name in _OUTPUT_OPTIONS:
        return _outputs(part)
    return unpacked_into(part)


def _paired(part: Part) -> Iterable[tuple[Word, str]]:
    return zip(part.arguments, part.texts, strict=True)


def _edited(part: Part) -> Iterable[Word]:
    options = read_options(part.arguments, with_value=("e", "f", "expression", "file"))
    if not (options.has("i", "in-place", "inplace") or any(text.startswith("-i") for text in part.texts)):
        return ()
    has_script = options.value("e", "f", "expression", "file") is not None
    return options.operands if has_script else options.operands[1:]


def _into_last(part: Part) -> Iterator[Word]:
    options = read_options(part.arguments, with_value=_PLACED)
    into = options.value("t", "target-directory")
    sources = list(options.operands)
    if into is not None:
        target = Word(into)
    elif part.name == "install" and options.has("d", "directory"):
        yield from sources
        return
    elif sources:
        target = sources.pop()
    else:
        return
    if part.name == "ln" and not sources and into is None:
        yield Word(target.text.rstrip("/").rpartition("/")[2])
        return
    yield target
    for source in sources:
        base = source.text.rstrip("/").rpartition("/")[2]
        if base not in ("", ".", ".."):
            yield Word(f"{target.text.rstrip('/')}/{base}", source.is_pattern or target.is_pattern)


def _cloned(part: Part) -> Iterable[Word]:
    start = first_operand(part.arguments, with_value=_GIT_VALUES)
    verb = [word.text for word in part.arguments[start : start + 1]]
    options = read_options(part.arguments[start + 1 :], with_value=(*"bcoju", "branch", "config", "depth", "template"))
    if verb == ["clone"]:
        return options.operands[1:2]
    if verb == ["init"]:
        return options.operands[:1]
    if verb == ["worktree"] and [word.text for word in options.operands[:1]] == ["add"]:
        return options.operands[1:2]
    return ()


def _outputs(part: Part) -> Iterator[Word]:
    values = {"curl": _CURL_VALUES, "wget": _WGET_VALUES}.get(part.name, _OUTPUT_OPTIONS[part.name])
    options = read_options(part.arguments, with_value=values)
    for name, value in (*options.values, *options.long):
        if name in _OUTPUT_OPTIONS[part.name] and value:
            folder = options.value("output-dir") if part.name == "curl" else None
            yield Word(f"{folder}/{value}" if folder and not value.startswith("/") else value)
    if part.name in _FETCHES:
        yield from _fetched_names(part.name, options)


def _fetched_names(name: str, options: Options) -> Iterator[Word]:
    """A file named after its address: `curl -O` and `wget`, in the folder it goes to."""
    if name == "curl" and not options.has("OJ", "remote-name", "remote-name-all"):
        return
    if name == "wget" and options.value("O", "output-document") is not None:
        return
    folder = options.value("output-dir") if name == "curl" else options.value("P", "directory-prefix", "d", "dir")
    for word in options.operands:
        base = re.sub(r"[?#].*", "", word.text).rpartition("/")[2]
        if base:
            yield Word(f"{folder}/{base}" if folder else base)


def unpacked_into(part: Part) -> tuple[Word, ...]:
    """The folder an archive is unpacked into: whatever it holds is written there."""
    words = part.arguments
    if part.name in _TARS:
        if words and re.fullmatch(r"[A-Za-z]+", words[0].text):
            words = (Word("-" + words[0].text), *words[1:])
        # The old form takes its values from the words behind it: `-C` stands by itself all the same.
        options = read_options(words, with_value=_TAR_VALUES)
        if not options.has("x", "extract", "get") or options.has("O", "to-stdout"):
            return ()
        folder = options.value("C", "directory")
        return (_HERE if folder is None else Word(folder),)
    if part.name == "unzip":
        options = read_options(words, with_value=("d", "P"))
        if options.has("lptzZv"):
            return ()
        folder = options.value("d")
        return (_HERE if folder is None else Word(folder),)
    if part.name in _SEVENS and part.texts[:1] in (["x"], ["e"]):
        into = next((text[2:] for text in part.texts if re.match(r"-o.", text)), ".")
        return (Word(into),)
    if part.name in ("unrar", "unar"):
        folder = read_options(words, with_value=("o", "output-directory")).value("o", "output-directory")
        return (_HERE if folder is None else Word(folder),)
    if part.name == "cpio":
        options = read_options(words, with_value=("D", "directory", "F", "H", "I"))
        return (Word(options.value("D", "directory") or "."),) if options.has("i", "extract") else ()
    if part.name == "expand-archive":
        target = next((after for before, after in pairwise(words) if _is_target(before)), None)
        return (_HERE if target is None else target,)
    return ()


def _is_target(word: Word) -> bool:
    return len(word.text) > 1 and "-destinationpath".startswith(word.text.lower())
