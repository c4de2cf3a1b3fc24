"""Looks through Lisp, of Emacs and of the others, for what it runs, deletes, reads and writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from atlas_gate.deeds import Deed
from atlas_gate.parts import UNKNOWN, name_set

_TOKEN: Final = re.compile(r'"((?:\\.|[^"\\])*+)"|;[^\n]*+|([()])|([^\s()";]++)', re.DOTALL)
_SHELLS: Final = name_set(
    "shell-command shell-command-to-string async-shell-command system shell uiop:run-program run-program "
    "shell-command-on-region compile eshell-command process-lines-shell start-process-shell-command start-file-process"
)
_PROGRAMS: Final = name_set(
    "call-process process-file start-process make-process process-lines call-process-region system* sh "
    "clojure.java.shell/sh shell/sh sb-ext:run-program open-process process*"
)
_TREES: Final = name_set(
    "delete-directory delete-file-recursively uiop:delete-directory-tree delete-directory/files "
    "cl-fad:delete-directory-and-files delete-directory-tree move-file-to-trash fs/delete-tree"
)
_FILES: Final = name_set("delete-file uiop:delete-file-if-exists io/delete-file fs/delete set-file-modes")
_WRITES: Final = name_set("write-region append-to-file spit copy-file rename-file make-symbolic-link with-temp-file")
_OPENS: Final = name_set(
    "insert-file-contents find-file find-file-noselect slurp load load-file insert-file view-file "
    "uiop:read-file-string insert-file-contents-literally open-input-file open"
)
_KNOWN: Final = _SHELLS | _PROGRAMS | _TREES | _FILES | _WRITES | _OPENS
_WRAPS: Final = name_set("expand-file-name file-truename file-name-as-directory concat getenv string-append str")


def lisp_deeds(source: str, home: str, atlas_home: str, step: Callable[[int], None]) -> Iterator[Deed]:
    """What each call with a name that is known does with the strings in it. `step` may end it by raising."""
    tokens: list[tuple[str, str]] = []
    for match in _TOKEN.finditer(source):
        step(1)
        if match[2]:
            tokens.append(("mark", match[2]))
        elif match[3]:
            tokens.append(("name", match[3].lstrip("'#`,@").lower()))
        elif match.group().startswith('"'):
            tokens.append(("string", _plain(match[1])))
    for at in range(len(tokens) - 1):
        if tokens[at] == ("mark", "(") and tokens[at + 1][0] == "name" and tokens[at + 1][1] in _KNOWN:
            yield from _deeds_of(tokens[at + 1][1], _strings(tokens, at + 1, home, atlas_home), home)


def _deeds_of(name: str, strings: list[str], home: str) -> Iterator[Deed]:
    if not strings:
        return
    if name in _SHELLS and len(strings) == 1:
        yield Deed("shell", (strings[0],))
    elif name in _SHELLS or name in _PROGRAMS:
        yield from _program(name, strings)
    elif name in _TREES:
        yield Deed("delete", (_at_home(strings[0], home),))
    elif name in _FILES:
        yield Deed("remove", (_at_home(strings[0], home),))
    elif name in _WRITES:
        for text in strings:
            if text.startswith(("/", "~", ".")) or text == strings[-1]:
                yield Deed("write", (_at_home(text, home),))
    else:
        yield Deed("open", (_at_home(strings[0], home),))


def _program(name: str, strings: list[str]) -> Iterator[Deed]:
    """The words of a program; `start-process` names the process and its buffer in front of them."""
    yield Deed("words", tuple(strings))
    if name.startswith(("start-", "make-")):
        for skipped in (1, 2):
            if len(strings) > skipped:
                yield Deed("words", tuple(strings[skipped:]))


def _strings(tokens: list[tuple[str, str]], at: int, home: str, atlas_home: str) -> list[str]:
    """The strings of a call to its end; those of `concat` and the like are one."""
    found: list[str] = []
    depth, joins = 1, 0
    for number, (kind, text) in enumerate(tokens[at : at + 80], start=at):
        if kind == "mark":
            depth += 1 if text == "(" else -1
            if joins and depth < joins:
                joins = 0
            if depth <= 0:
                break
        elif kind == "name" and text in _WRAPS and not joins and number > at:
            joins = depth
            found.append("")
        elif kind == "string":
            value = {"HOME": home, "ATLAS_HOME": atlas_home}.get(text, text)
            if joins:
                found[-1] += value
            else:
                found.append(value)
        elif kind == "name" and number > at and joins and text not in _WRAPS:
            found[-1] += UNKNOWN
    return [text for text in found if text]


def _at_home(text: str, home: str) -> str:
    return home + text[1:] if text == "~" or text.startswith("~/") else text


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text, flags=re.DOTALL)
