"""The entries of a memory file and the operations on them. Pure: a list goes in, a list or a refusal comes out."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from atlas_sdk.messages import whole
from atlas_sdk.screening import screen
from atlas_sdk.tools import ToolError

SEPARATOR = "\n§\n"
CLOSEST = 3
SHOWN_CHARS = 120
_BOM = "\ufeff"
_MARK = re.compile(r"^[ \t]*§[ \t]*$", re.MULTILINE)
_EVEN = str.maketrans({**dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("‐‑‒–—―−", "-")})

Action: TypeAlias = Literal["add", "replace", "remove"]


class NotKeptError(ToolError):
    """A change that cannot be kept. The message is for the model; a person reads ``why``, and ``way``, the way out."""

    def __init__(self, message: str, *, why: str, way: str) -> None:
        super().__init__(message)
        self.why = why
        self.way = way


@dataclass(frozen=True)
class Operation:
    """One change: ``old_text`` is a piece of the entry that is replaced or removed."""

    action: Action
    content: str = ""
    old_text: str = ""


@dataclass(frozen=True)
class Overwritten:
    """An entry that an operation, counted from 1, took away, and what stands in its place, if anything."""

    operation: int
    text: str
    now: str = ""


@dataclass(frozen=True)
class Applied:
    """What came of operations: the entries as they would be, and what they lost and gained."""

    entries: tuple[str, ...]
    overwritten: tuple[Overwritten, ...]
    added: tuple[str, ...]

    @property
    def changes(self) -> bool:
        """Whether anything is other than before."""
        return bool(self.overwritten or self.added)


def parse(text: str) -> tuple[str, ...]:
    """Return the entries of a file."""
    return tuple(entry for piece in _MARK.split(normal(text)) if (entry := normal(piece)))


def normal(text: str) -> str:
    """Return an entry's text as a file gives it back: one kind of line end, and no mark of an encoding before it."""
    return str(whole(text)).replace("\r\n", "\n").replace("\r", "\n").strip().strip(_BOM).strip()


def render(entries: Sequence[str]) -> str:
    """Return the text of a file with these entries."""
    return SEPARATOR.join(entries) + "\n" if entries else ""


def size(entries: Sequence[str]) -> int:
    """Return how many characters entries take, the lines between them included."""
    return len(SEPARATOR.join(entries))


def usage(entries: Sequence[str], limit: int) -> str:
    """Return how full a file is, in the words that the prompt and the answers use."""
    taken = size(entries)
    return f"{taken * 100 // limit}% — {taken:,}/{limit:,} chars"


def shown(entry: str, file: str) -> str:
    """Return an entry as the model may read it: of one that looks like an attack, only that it is in a file."""
    found = screen(entry)
    return f"[BLOCKED: {found.said} The entry is in {file} and can be removed there.]" if found else entry


def apply(entries: Sequence[str], operations: Sequence[Operation], limit: int, *, file: str) -> Applied:
    """Apply operations to a copy, all or none, and check the limit on the result. Raises ToolError.

    The model reads the refusal, which names entries of the ``file`` as it is shown them.
    """
    result, overwritten, added = list(entries), list[Overwritten](), list[str]()
    for number, operation in enumerate(operations, 1):
        where = f"Operation {number} ({operation.action})" if len(operations) > 1 else f"The {operation.action}"
        content = normal(operation.content)
        if operation.action != "remove":
            _check_content(content, where)
        if operation.action == "add":
            if content not in result:
                result.append(content)
                added.append(content)
            continue
        at = _find(result, normal(operation.old_text), where, kept=entries, file=file)
        old = result[at]
        if operation.action == "remove":
            del result[at]
            overwritten.append(Overwritten(number, old))
        elif content != old:
            if content in result:
                del result[at]  # the new words are there already, and one fact is kept once
            else:
                result[at] = content
                added.append(content)
            overwritten.append(Overwritten(number, old, content))
    taken = size(result)
    if taken > limit and taken >= size(entries) and result != list(entries):
        raise _full(entries, taken, limit, file)
    kept = tuple(text for text in dict.fromkeys(added) if text in result and text not in entries)
    return Applied(tuple(result), tuple(overwritten), kept)


def _check_content(content: str, where: str) -> None:
    if not content:
        raise ToolError(f"Nothing was saved. {where} needs content.")
    if _MARK.search(content):
        raise ToolError(f"Nothing was saved. {where} holds a line of only §, which separates entries: one entry each.")


def _find(entries: Sequence[str], piece: str, where: str, *, kept: Sequence[str], file: str) -> int:
    """Return which entry a piece means: an equal one, one that holds it, one that holds it but for typography.

    The last is one that is blocked and shown so: by its words the model cannot name it.

    A refusal undoes the whole call, so it names as there only what is ``kept`` in the file.
    """
    if not piece:
        raise ToolError(f"Nothing was saved. {where} needs old_text, a short piece of the entry it means.")
    even, evened = evened_out(piece), [evened_out(entry) for entry in entries]
    ways = (
        [at for at, entry in enumerate(entries) if entry == piece],
        [at for at, entry in enumerate(entries) if piece in entry],
        [at for at, entry in enumerate(evened) if entry == even],
        [at for at, entry in enumerate(evened) if even in entry],
        [at for at, entry in enumerate(entries) if piece == shown(entry, file)],
    )
    for found in ways:
        texts = {entries[at] for at in found}
        if len(texts) == 1:
            return found[0]
        if texts:
            named = "\n".join(
                f"- {_named(entries[at], file)}{'' if entries[at] in kept else ' (of this call, not saved)'}"
                for at in found
            )
            raise ToolError(
                f"Nothing was saved. {where}: {len(texts)} entries hold {piece[:SHOWN_CHARS]!r}. "
                f"Give a longer piece that only one of them has:\n{named}"
            )
    raise ToolError(f"Nothing was saved. {where}: no entry holds {piece[:SHOWN_CHARS]!r}.{_closest(kept, even, file)}")


def evened_out(text: str) -> str:
    """Return a text without what models retype in their own way: curly quotes, dashes and spaces."""
    return " ".join(unicodedata.normalize("NFC", text).translate(_EVEN).split())


def _closest(entries: Sequence[str], piece: str, file: str) -> str:
    if not entries:
        return " There are no entries."
    low = piece.lower()
    words = set(low.split())

    def likeness(entry: str) -> float:
        other = evened_out(entry).lower()
        shared = len(words & set(other.split())) / max(len(words), 1)
        return shared + SequenceMatcher(None, low[:400], other[:400], autojunk=False).ratio()

    named = sorted(entries, key=likeness, reverse=True)[:CLOSEST]
    # On its line: people are shown the first of a refusal, and it broke off before them.
    return f" The closest are: {'; '.join(_named(entry, file) for entry in named)}"


def _named(entry: str, file: str) -> str:
    text = shown(entry, file)
    return cut(entry) if text == entry else text


def cut(entry: str) -> str:
    """Return an entry as a message names it: one line, shortened."""
    line = " ".join(entry.split())
    return line if len(line) <= SHOWN_CHARS else f"{line[: SHOWN_CHARS - 1]}…"


def _full(entries: Sequence[str], taken: int, limit: int, file: str) -> NotKeptError:
    told = SEPARATOR.join(shown(entry, file) for entry in entries) or "(none)"
    return NotKeptError(
        f"Nothing was saved: it would take {taken:,} of {limit:,} characters. Make room and add in one call: shorten "
        f"or remove what is stale with replace and remove, and add, all in operations. The entries now "
        f"({usage(entries, limit)}):\n{told}",
        why=f"It no longer fits: {file} would hold {taken:,} characters of {limit:,}.",
        way=f"Shorten {file}, or have the agent do it",
    )
