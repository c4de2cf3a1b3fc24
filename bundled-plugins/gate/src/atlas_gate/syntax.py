"""The tree of a bash line: what the parser makes and the reader walks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias


class UnreadableError(Exception):
    """The text cannot be read as a shell would read it; says why, for a person."""


# Longer than any line that means what it says: a value that doubles itself ends here.
TEXT_LIMIT: Final = 4_194_304


def bounded(text: str) -> str:
    """The text, unless it has grown past what is read."""
    if len(text) > TEXT_LIMIT:
        raise UnreadableError("it expands to too much text")
    return text


@dataclass(frozen=True, slots=True)
class Literal:
    """Characters that stand for themselves; quoted ones are neither split nor expanded."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name` or `${name...}`, with its operator and the texts the operator takes."""

    name: str
    quoted: bool
    operator: str = ""
    arguments: tuple[Text, ...] = ()
    subscript: Text | None = None
    indirect: bool = False
    length: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(...)` or backticks: the text a script prints."""

    script: Sequence
    quoted: bool


@dataclass(frozen=True, slots=True)
class ProcessSubstitution:
    """`<(...)` or `>(...)`: a file name behind which a script reads or writes."""

    script: Sequence
    direction: str


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((...))`: a number, and the substitutions inside it."""

    content: Text


Piece: TypeAlias = Literal | Parameter | Substitution | ProcessSubstitution | Arithmetic


@dataclass(frozen=True, slots=True)
class Text:
    """One word, or any other run of pieces, before expansion."""

    pieces: tuple[Piece, ...]


@dataclass(slots=True)
class HereDocument:
    """The body of a here-document. The parser fills it when it reaches the next line."""

    delimiter: str
    is_quoted: bool
    strips_tabs: bool
    body: Text = field(default_factory=lambda: Text(()))


@dataclass(frozen=True, slots=True)
class Redirection:
    """One redirection: `2>file`, `<<<word` or a here-document."""

    descriptor: str
    operator: str
    target: Text
    document: HereDocument | None = None


@dataclass(frozen=True, slots=True)
class AssignmentNode:
    """`name=value`, `name+=value`, `name[subscript]=value` or `name=(values)`."""

    name: str
    value: Text
    appends: bool = False
    subscript: Text | None = None
    elements: tuple[Text, ...] | None = None


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command: assignments, words and redirections."""

    assignments: tuple[AssignmentNode, ...]
    words: tuple[Text | AssignmentNode, ...]
    redirections: tuple[Redirection, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by pipes, each fed by the one before."""

    commands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Commands one after another, whatever joins them: the gate takes every branch."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A compound command with its redirections: `{ }`, `( )`, `if`, `coproc`."""

    body: Node
    origin: str
    is_subshell: bool = False
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """`for` or `select` over words; no words means the arguments."""

    variable: str
    words: tuple[Text, ...] | None
    body: Sequence


@dataclass(frozen=True, slots=True)
class Loop:
    """`while` or `until`."""

    condition: Sequence
    body: Sequence


@dataclass(frozen=True, slots=True)
class Case:
    """`case`: the subject, and every arm's patterns and commands."""

    subject: Text
    patterns: tuple[Text, ...]
    arms: tuple[Sequence, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A function, defined and perhaps called later."""

    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Condition:
    """`[[ ]]` or `(( ))`: no command, but its words may hold substitutions."""

    words: tuple[Text, ...]
    is_arithmetic: bool = False


Node: TypeAlias = Simple | Pipeline | Sequence | Group | For | Loop | Case | Function | Condition
