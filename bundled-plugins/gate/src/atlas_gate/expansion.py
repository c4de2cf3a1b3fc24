"""Expands a word the way bash does, as far as what it holds is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from atlas_gate.braces import WORD_LIMIT, expand_braces
from atlas_gate.parameter_operators import slice_values, transform_value
from atlas_gate.parts import OUTPUT, UNKNOWN, Word, is_constant, strongest_mark
from atlas_gate.state import State, Value
from atlas_gate.syntax import (
    Arithmetic,
    Literal,
    Parameter,
    Piece,
    ProcessSubstitution,
    Sequence,
    Substitution,
    Text,
    UnreadableError,
    bounded,
)

# A name may hold a name, which holds an expression.
_VALUES_OF_VALUES: Final = 4

_USER = re.compile(r"~(?:[+-]|[A-Za-z_][\w.-]*)?")
_NAME = re.compile(r"(?<![\w$])[A-Za-z_]\w*+")
_GLOB = re.compile(r"[*?\[]")
_EXPANDS = re.compile(r"[{~*?\[]")
_ARITHMETIC = re.compile(r"(-?\d{1,18})(?:\s*([-+*/%])\s*(-?\d{1,18}))?")


class Expander:
    """Expands words in a state; runs the scripts inside them through the two functions it is given."""

    def __init__(
        self,
        state: State,
        capture: Callable[[Sequence], str],
        open_process: Callable[[Sequence, str], str],
        step: Callable[[int], None],
        evaluate: Callable[[str], str],
    ) -> None:
        self.state = state
        self._capture = capture
        self._open_process = open_process
        self._step = step
        self._evaluate = evaluate

    def fields(self, text: Text) -> list[Word]:
        """The words one word becomes: none, one or many."""
        pieces = text.pieces
        if len(pieces) == 1:
            only = pieces[0]
            if isinstance(only, Literal) and (only.quoted or not _EXPANDS.search(only.text)):
                return [Word(only.text)]
        found: list[Word] = []
        self._step(len(pieces))
        for alternative in expand_braces(list(pieces)):
            found.extend(self._split(self._tilde(alternative)))
            if len(found) > WORD_LIMIT:
                raise UnreadableError("it expands to too many words")
        return found

    def single(self, text: Text, *, tilde: bool = True) -> str:
        """The text as one value, with no splitting: an assignment, a redirect, a here-document."""
        pieces = self._tilde(list(text.pieces)) if tilde else list(text.pieces)
        self._step(len(pieces))
        return bounded("".join([piece.text if type(piece) is Literal else self._value(piece) for piece in pieces]))

    def _value(self, piece: Piece) -> str:
        values = self._values(piece)
        return " ".join(values)

    def _tilde(self, pieces: list[Piece]) -> list[Piece]:
        if not pieces:
            return pieces
        first = pieces[0]
        if not isinstance(first, Literal) or first.quoted or not first.text.startswith("~"):
            return pieces
        name, slash, rest = first.text.partition("/")
        if (len(pieces) > 1 and not slash) or not _USER.fullmatch(name):
            return pieces
        home = self._home_of(name[1:])
        return [Literal(home, True), Literal(slash + rest, False), *pieces[1:]]

    def _home_of(self, user: str) -> str:
        if not user:
            value = self.state.lookup("HOME")
            return value if isinstance(value, str) else UNKNOWN
        if user == "+":
            return self.state.folder or UNKNOWN
        if user == "-":
            return UNKNOWN
        if user == "root":
            return "/root"
        parent, _, own = self.state.home.rpartition("/")
        return self.state.home if user == own else f"{parent}/{user}"

    def _split(self, pieces: list[Piece]) -> list[Word]:
        separators = self.state.variables.get("IFS", " \t\n")
        separators = separators if isinstance(separators, str) else " \t\n"
        words: list[Word] = []
        current: list[str] = []
        is_open = is_pattern = False

        def finish() -> None:
            nonlocal current, is_open, is_pattern
            if is_open:
                words.append(Word(bounded("".join(current)), is_pattern))
            current, is_open, is_pattern = [], False, False

        for piece in pieces:
            if isinstance(piece, Literal):
                if piece.text or piece.quoted:
                    is_open = True
                    current.append(piece.text)
                    is_pattern = is_pattern or (not piece.quoted and bool(_GLOB.search(piece.text)))
                continue
            values = self._values(piece)
            if getattr(piece, "quoted", True):
                if not (isinstance(piece, Parameter) and is_list(piece)):
                    values = [" ".join(values)]
                for number, value in enumerate(values):
                    if number:
                        finish()
                    is_open = True
                    current.append(value)
                continue
            for number, value in enumerate(values):
                if number:
                    finish()
                for index, chunk in enumerate(split_fields(value, separators)):
                    if index:
                        finish()
                    if chunk:
                        is_open = True
                        current.append(chunk)
                        is_pattern = is_pattern or bool(_GLOB.search(chunk))
        finish()
        return words

    def _values(self, piece: Piece) -> list[str]:
        match piece:
            case Literal(value):
                return [value]
            case Substitution(script, _):
                return [self._capture(script).rstrip("\n")]
            case ProcessSubstitution(script, direction):
                return [self._open_process(script, direction)]
            case Arithmetic(content):
                return [self.arithmetic(self.single(content, tilde=False))]
            case Parameter():
                return self._parameter(piece)

    def arithmetic(self, expression: str) -> str:
        """What an expression comes to. Names stand for their values, and subscripts in those are expanded again."""
        for _ in range(_VALUES_OF_VALUES):
            if "[" in expression and ("$" in expression or "`" in expression):
                expression = self._evaluate(expression)
            named = bounded(_NAME.sub(self._named, expression))
            if named == expression:
                break
            expression = named
        match = _ARITHMETIC.fullmatch(expression.strip())
        if match is None:
            return OUTPUT
        left, operator, right = int(match[1]), match[2], int(match[3] or 0)
        match operator:
            case "+":
                return str(left + right)
            case "-":
                return str(left - right)
            case "*":
                return str(left * right)
            case None:
                return str(left)
            case _:
                return OUTPUT

    def _named(self, match: re.Match[str]) -> str:
        value = self.state.lookup(match.group())
        return value if isinstance(value, str) else "".join(value[:1])

    def _parameter(self, piece: Parameter) -> list[str]:
        state = self.state
        values = self._lookup(piece)
        if piece.indirect and not piece.operator.startswith("@"):
            if piece.name in state.references:
                return [state.references[piece.name]]
            pointed = self._evaluate(" ".join(values))
            values = _as_list(state.lookup(pointed)) if is_constant(pointed) else [UNKNOWN]
        if piece.length:
            value = "".join(values)
            return [str(len(value)) if is_constant(value) else OUTPUT]
        operator = piece.operator
        if not operator:
            return values
        known = state.is_set(piece.name) or piece.name in "@*#" or piece.name.isdigit()
        if operator.lstrip(":") in ("-", "=", "+", "?"):
            return self._default(piece, values, known=known)
        arguments = [self.single(argument) for argument in piece.arguments]
        if operator == "@" and arguments == ["P"]:
            return [self._evaluate(value) for value in values]
        if operator == ":":
            for argument in arguments[0].split(":"):
                self.arithmetic(argument)
        return self._transform(operator, arguments, values)

    def _default(self, piece: Parameter, values: list[str], *, known: bool) -> list[str]:
        kind = piece.operator[-1]
        argument = self.single(piece.arguments[0])
        value = " ".join(values)
        if kind == "+":
            return [argument] if value or not known else []
        if kind == "?":
            return values
        # An unset variable may come from the environment; what the line itself says is the likelier value.
        result = argument if not known or not value else value
        if kind == "=" and not known:
            self.state.variables[piece.name] = result
        return [result]

    def _transform(self, operator: str, arguments: list[str], values: list[str]) -> list[str]:
        if not all(is_constant(text) for text in (*values, *arguments)):
            return [strongest_mark("".join(values) + "".join(arguments))]
        if operator == ":":
            return slice_values(values, arguments[0])
        return [transform_value(operator, arguments, value) for value in values]

    def _lookup(self, piece: Parameter) -> list[str]:
        state, name = self.state, piece.name
        if name in "@*":
            return list(state.positional)
        if name == "#":
            return [str(len(state.positional))]
        if name == "0":
            return [state.script_name]
        if name.isdigit():
            index = int(name) - 1
            return [state.positional[index]] if index < len(state.positional) else []
        if name in "?$!-":
            return [OUTPUT]
        if name == "RANDOM":
            return [OUTPUT]
        value = state.lookup(name)
        if piece.subscript is None:
            return [value] if isinstance(value, str) else list(value[:1])
        subscript = self.single(piece.subscript)
        if subscript in ("@", "*"):
            return _as_list(value)
        if not subscript.isdigit():
            self.arithmetic(subscript)
        elements = _as_list(value)
        if subscript.isdigit() and int(subscript) < len(elements):
            return [elements[int(subscript)]]
        keyed = state.variables.get(f"{name}[{subscript}]")
        return [keyed if isinstance(keyed, str) else UNKNOWN]


def is_list(piece: Parameter) -> bool:
    """Whether a quoted expansion still makes several words: `"$@"` and `"${name[@]}"`."""
    if piece.length:
        return False
    if piece.name == "@":
        return True
    if piece.subscript is None or len(piece.subscript.pieces) != 1:
        return False
    only = piece.subscript.pieces[0]
    return isinstance(only, Literal) and only.text == "@"


def split_fields(value: str, separators: str) -> list[str]:
    """The value cut at the field separators. Empty ends say that the value began or ended with one."""
    if not separators:
        return [value]
    return re.split("[" + re.escape(separators) + "]+", value)


def _as_list(value: Value) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
