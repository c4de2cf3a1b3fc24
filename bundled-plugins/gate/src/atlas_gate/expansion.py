"""Expands a word the way bash does, as far as what it holds is known."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Callable
from typing import Final

from atlas_gate.parts import OUTPUT, UNKNOWN, Word, is_constant, strongest_mark
from atlas_gate.patterns import bounded_pattern, replaced
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

# A line that expands to more words than this is not read: the answer is the strict one.
WORD_LIMIT: Final = 20_000
# Every start of a text is held against the pattern that trims it.
_TRIM_LIMIT: Final = 4_096
# A name may hold a name, which holds an expression.
_VALUES_OF_VALUES: Final = 4
# A word's open braces times its length: each brace looks for its end through all of it.
_BRACE_LIMIT: Final = 1_000_000

_USER = re.compile(r"~(?:[+-]|[A-Za-z_][\w.-]*)?")
_NAME = re.compile(r"(?<![\w$])[A-Za-z_]\w*+")
_BRACE_MARKS = re.compile(r"([{},])")
_GLOB = re.compile(r"[*?\[]")
_EXPANDS = re.compile(r"[{~*?\[]")
_RANGE = re.compile(r"\{(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?\}")
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
            return _slice(values, arguments[0])
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


def transform_value(operator: str, arguments: list[str], value: str) -> str:
    """What an operator of `${...}` makes of one constant value."""
    first = arguments[0] if arguments else ""
    match operator:
        case "^^":
            return value.upper()
        case ",,":
            return value.lower()
        case "^":
            return value[:1].upper() + value[1:]
        case ",":
            return value[:1].lower() + value[1:]
        case "#" | "##":
            return _without_prefix(value, first, longest=operator == "##")
        case "%" | "%%":
            return _without_prefix(value[::-1], first[::-1], longest=operator == "%%")[::-1]
        case "@":
            return value.upper() if first == "U" else value.lower() if first == "L" else value
        case _:
            return _replaced(operator, value, first, arguments[1] if len(arguments) > 1 else "")


def expand_braces(pieces: list[Piece]) -> list[list[Piece]]:
    """Every alternative of `{a,b}` and `{1..3}`, leftmost first."""
    if not any(isinstance(piece, Literal) and not piece.quoted and "{" in piece.text for piece in pieces):
        return [pieces]
    texts = [piece.text for piece in pieces if isinstance(piece, Literal) and not piece.quoted]
    if sum(text.count("{") for text in texts) * sum(map(len, texts)) > _BRACE_LIMIT:
        raise UnreadableError("its braces are too many")
    atoms: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Literal) and not piece.quoted:
            atoms.extend(Literal(text, False) for text in _BRACE_MARKS.split(piece.text) if text)
        else:
            atoms.append(piece)
    return [_joined(alternative) for alternative in _alternatives(atoms, 0)]


def _alternatives(atoms: list[Piece], depth: int) -> list[list[Piece]]:
    if depth > 20:
        raise UnreadableError("its braces are nested too deeply")
    for start, atom in enumerate(atoms):
        if atom != Literal("{", False):
            continue
        span = _brace_span(atoms, start)
        if span is None:
            continue
        end, commas = span
        if commas:
            edges = [start, *commas, end]
            options = [
                option
                for left, right in itertools.pairwise(edges)
                for option in _alternatives(atoms[left + 1 : right], depth + 1)
            ]
        else:
            spelled = "".join(a.text if isinstance(a, Literal) else "\0" for a in atoms[start : end + 1])
            numbers = _range(spelled)
            if numbers is None:
                continue
            options = [[Literal(number, True)] for number in numbers]
        tails = _alternatives(atoms[end + 1 :], depth)
        if len(options) * len(tails) > WORD_LIMIT:
            raise UnreadableError("it expands to too many words")
        return [atoms[:start] + option + tail for option in options for tail in tails]
    return [atoms]


def _brace_span(atoms: list[Piece], start: int) -> tuple[int, list[int]] | None:
    level = 0
    commas: list[int] = []
    for index in range(start, len(atoms)):
        atom = atoms[index]
        if not isinstance(atom, Literal) or atom.quoted:
            continue
        if atom.text == "{":
            level += 1
        elif atom.text == "}":
            level -= 1
            if level == 0:
                return index, commas
        elif atom.text == "," and level == 1:
            commas.append(index)
    return None


def _range(spelled: str) -> list[str] | None:
    match = _RANGE.fullmatch(spelled)
    if match is None:
        return None
    first, last, step_text = match.groups()
    if first.lstrip("-").isdigit() != last.lstrip("-").isdigit():
        return None
    is_number = first.lstrip("-").isdigit()
    low, high = (int(first), int(last)) if is_number else (ord(first), ord(last))
    step = max(abs(int(step_text or 1)), 1)
    if abs(high - low) // step > WORD_LIMIT:
        raise UnreadableError("it expands to too many words")
    numbers = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
    return [str(number) if is_number else chr(number) for number in numbers]


def _joined(atoms: list[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for atom in atoms:
        last = joined[-1] if joined else None
        if isinstance(atom, Literal) and isinstance(last, Literal) and not atom.quoted and not last.quoted:
            joined[-1] = Literal(last.text + atom.text, False)
        else:
            joined.append(atom)
    return joined


def _as_list(value: Value) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _slice(values: list[str], argument: str) -> list[str]:
    offset_text, _, length_text = argument.strip().partition(":")
    try:
        offset = int(offset_text or 0)
        length = int(length_text) if length_text.strip() else None
    except ValueError:
        return [OUTPUT]
    if len(values) > 1:
        return values[offset:] if length is None else values[offset : offset + length]
    value = "".join(values)
    start = max(len(value) + offset, 0) if offset < 0 else offset
    end = len(value) if length is None else start + length if length >= 0 else len(value) + length
    return [value[start:end]]


def _without_prefix(value: str, pattern: str, *, longest: bool) -> str:
    if not _GLOB.search(pattern):
        return value.removeprefix(pattern)
    if len(value) > _TRIM_LIMIT:
        return OUTPUT
    matcher = re.compile(fnmatch.translate(bounded_pattern(pattern)))
    lengths = range(len(value), -1, -1) if longest else range(len(value) + 1)
    for length in lengths:
        if matcher.match(value[:length]):
            return value[length:]
    return value


def _replaced(operator: str, value: str, pattern: str, replacement: str) -> str:
    if not pattern:
        return value
    body = _shortest(pattern)
    if operator == "/#":
        body = r"\A" + body
    elif operator == "/%":
        body = body + r"\Z"
    changed = replaced(body, lambda _: replacement, value, count=0 if operator == "//" else 1, flags=re.DOTALL)
    return OUTPUT if changed is None else changed


def _shortest(pattern: str) -> str:
    """The expression for a pattern of the shell whose stars take as little as they can."""
    pieces = re.split(r"(\*+)", bounded_pattern(pattern))
    return "".join(".*?" if piece.startswith("*") else _without_anchors(fnmatch.translate(piece)) for piece in pieces)


def _without_anchors(expression: str) -> str:
    return expression.removeprefix("(?s:").removesuffix(r")\Z")
