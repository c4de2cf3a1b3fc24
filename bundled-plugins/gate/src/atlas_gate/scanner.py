"""Reads the words of a bash line: quotes, escapes and every kind of expansion.

Bash decides what a command is only after it has read quotes and escapes, so nothing here looks at
the raw text with a pattern for danger: each character is read once, as bash reads it.
"""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.deadline import Deadline
from atlas_gate.syntax import (
    Arithmetic,
    HereDocument,
    Literal,
    Parameter,
    Piece,
    ProcessSubstitution,
    Sequence,
    Substitution,
    Text,
    UnreadableError,
)

# Deeper nesting than any person writes; it keeps Python's own stack out of reach.
DEPTH_LIMIT: Final = 40

METACHARACTERS: Final = " \t\n;&|<>()"
_PLAIN = re.compile(r"[A-Za-z0-9_\-./:=@%+,^]+(?=[ \t\n;&|<>()]|\Z)")
_ORDINARY = {
    "word": re.compile(r"[^\\'\"$` \t\n;&|<>()@!?*+]+"),
    "double": re.compile(r"[^\\\"$`]+"),
    "document": re.compile(r"[^\\$`]+"),
    "argument": re.compile(r"[^\\'\"$`}]+"),
    "quoted argument": re.compile(r"[^\\\"$`}]+"),
    "pattern": re.compile(r"[^\\'\"$`}/]+"),
    "quoted pattern": re.compile(r"[^\\\"$`}/]+"),
    "subscript": re.compile(r"[^\\'\"$`\]]+"),
    "arithmetic": re.compile(r"[^\\'\"$`()]+"),
}
_STOPS = {
    "word": frozenset(METACHARACTERS),
    "double": frozenset('"'),
    "document": frozenset[str](),
    "argument": frozenset("}"),
    "quoted argument": frozenset("}"),
    "pattern": frozenset("}/"),
    "quoted pattern": frozenset("}/"),
    "subscript": frozenset("]"),
    "arithmetic": frozenset[str](),
}
# What a backslash escapes inside double quotes and the like; anywhere else it escapes everything.
_ESCAPED_IN_QUOTES: Final = '$`"\\'
_QUOTING_MODES = frozenset(("double", "document", "quoted argument", "quoted pattern"))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL = re.compile(r"[0-9@*#?$!_-]")
_PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_PARAMETER_OPERATOR = re.compile(r":?[-=+?]|##?|%%?|//|/[#%]?|\^\^?|,,?|@|:")
_ANSI_ESCAPE = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|x\{?([0-9A-Fa-f]{1,2})\}?|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})"
    r"|c(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}


class Scanner:
    """Reads words from a text at a position; the parser adds the commands around them."""

    def __init__(self, text: str, deadline: Deadline, *, depth: int = 0) -> None:
        if depth > DEPTH_LIMIT:
            raise UnreadableError("it is nested too deeply")
        self.text = text
        self.deadline = deadline
        self.position = 0
        self.depth = depth
        self.pending: list[HereDocument] = []
        # Where two parentheses turned out to open no arithmetic: asking again at each level outside
        # would double the work with every level.
        self.not_arithmetic: set[int] = set()

    def word(self) -> Text:
        """The word at the position, up to the next metacharacter."""
        self.deadline.step()
        plain = _PLAIN.match(self.text, self.position)
        if plain is not None:
            self.position = plain.end()
            return Text((Literal(plain.group(), False),))
        return Text(tuple(self.pieces("word")))

    def pieces(self, mode: str) -> list[Piece]:
        """Pieces up to the first stop of the mode, which is left in place."""
        text, stops, ordinary = self.text, _STOPS[mode], _ORDINARY[mode]
        quoted = mode in _QUOTING_MODES
        found: list[Piece] = []
        while self.position < len(text):
            self.deadline.step()
            run = ordinary.match(text, self.position)
            if run is not None:
                found.append(Literal(run.group(), quoted))
                self.position = run.end()
                continue
            character = text[self.position]
            following = text[self.position + 1 : self.position + 2]
            if mode == "word" and character in "<>" and following == "(":
                found.append(self._process_substitution(character))
            elif mode == "word" and character in "@!?*+" and following == "(":
                found.append(self._extended_pattern())
            elif mode == "arithmetic" and character == ")":
                break
            elif mode == "arithmetic" and character == "(":
                found.extend(self._parenthesis())
            elif character in stops:
                break
            elif character == "\\":
                found.extend(self._escape(quoted, mode))
            elif character == "'" and not quoted:
                found.append(self._single_quoted())
            elif character == '"' and mode != "document":
                found.extend(self._double_quoted())
            elif character == "$":
                found.extend(self._dollar(quoted))
            elif character == "`":
                found.append(self._backticks(quoted, in_double=mode == "double"))
            else:
                found.append(Literal(character, quoted))
                self.position += 1
        return found

    def statements(self, closer: str) -> Sequence:
        """The commands up to a closer, which is consumed. The parser provides it."""
        raise NotImplementedError

    def nested(self, text: str) -> Sequence:
        """The commands of another text, read in full. The parser provides it."""
        raise NotImplementedError

    def expect(self, token: str) -> None:
        """Consume a token that has to be there."""
        if not self.text.startswith(token, self.position):
            raise UnreadableError(f"{token!r} is missing")
        self.position += len(token)

    def _escape(self, quoted: bool, mode: str) -> list[Piece]:
        following = self.text[self.position + 1 : self.position + 2]
        self.position += 1 + len(following)
        if following == "\n":
            return []
        if quoted and (following not in _ESCAPED_IN_QUOTES or (following == '"' and mode == "document")):
            if following == "}" and mode.startswith("quoted"):
                return [Literal(following, True)]
            return [Literal("\\" + following, True)]
        return [Literal(following or "\\", True)]

    def _single_quoted(self) -> Literal:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise UnreadableError("a single quote is not closed")
        literal = Literal(self.text[self.position + 1 : end], True)
        self.position = end + 1
        return literal

    def _double_quoted(self) -> list[Piece]:
        self.position += 1
        found = self.pieces("double")
        if not self.text.startswith('"', self.position):
            raise UnreadableError("a double quote is not closed")
        self.position += 1
        return found or [Literal("", True)]

    def _dollar(self, quoted: bool) -> list[Piece]:
        text, start = self.text, self.position
        following = text[start + 1 : start + 2]
        if following == "(":
            if text.startswith("((", start + 1):
                arithmetic = self._arithmetic(start + 3)
                if arithmetic is not None:
                    return [arithmetic]
            self.position = start + 2
            return [Substitution(self.statements(")"), quoted)]
        if following == "{":
            self.position = start + 2
            return [self._parameter(quoted)]
        if following == "[":
            self.position = start + 2
            content = self.pieces("subscript")
            self.expect("]")
            return [Arithmetic(Text(tuple(content)))]
        if following == "'" and not quoted:
            return [self._ansi_quoted()]
        if following == '"' and not quoted:
            self.position += 1
            return self._double_quoted()
        name = _NAME.match(text, start + 1) or _SPECIAL.match(text, start + 1)
        if name is None:
            self.position += 1
            return [Literal("$", True)]
        self.position = name.end()
        return [Parameter(name.group(), quoted)]

    def _arithmetic(self, start: int) -> Arithmetic | None:
        """`$((...))`, or None when the two parentheses are a subshell inside a substitution."""
        if start in self.not_arithmetic:
            return None
        before = self.position
        self.position = start
        try:
            content = self.pieces("arithmetic")
            self.expect("))")
        except UnreadableError:
            self.position = before
            self.not_arithmetic.add(start)
            return None
        return Arithmetic(Text(tuple(content)))

    def _parenthesis(self) -> list[Piece]:
        self.position += 1
        found: list[Piece] = [Literal("(", False)]
        depth = 1
        while depth:
            self.deadline.step()
            if self.position >= len(self.text):
                raise UnreadableError("a parenthesis is not closed")
            run = _ORDINARY["arithmetic"].match(self.text, self.position)
            if run is not None:
                found.append(Literal(run.group(), False))
                self.position = run.end()
                continue
            character = self.text[self.position]
            if character in "()":
                depth += 1 if character == "(" else -1
                found.append(Literal(character, False))
                self.position += 1
            elif character == "$":
                found.extend(self._dollar(False))
            elif character == "`":
                found.append(self._backticks(False, in_double=False))
            elif character == '"':
                found.extend(self._double_quoted())
            else:
                found.append(Literal(character, False))
                self.position += 1
        return found

    def _parameter(self, quoted: bool) -> Parameter:
        """`${...}` from behind the brace to behind its end."""
        text = self.text
        length = text.startswith("#", self.position) and not text.startswith("#}", self.position)
        if length:
            self.position += 1
        indirect = text.startswith("!", self.position) and not text.startswith("!}", self.position)
        if indirect:
            self.position += 1
        name = _PARAMETER_NAME.match(text, self.position)
        if name is None:
            raise UnreadableError("an expansion has no name")
        self.position = name.end()
        subscript: Text | None = None
        if text.startswith("[", self.position):
            self.position += 1
            subscript = Text(tuple(self.pieces("subscript")))
            self.expect("]")
        operator = _PARAMETER_OPERATOR.match(text, self.position)
        arguments: list[Text] = []
        symbol = ""
        if operator is not None:
            symbol = operator.group()
            self.position = operator.end()
            prefix = "quoted " if quoted else ""
            if symbol.startswith("/"):
                arguments.append(Text(tuple(self.pieces(prefix + "pattern"))))
                if text.startswith("/", self.position):
                    self.position += 1
                    arguments.append(Text(tuple(self.pieces(prefix + "argument"))))
            else:
                arguments.append(Text(tuple(self.pieces(prefix + "argument"))))
        self.expect("}")
        return Parameter(name.group(), quoted, symbol, tuple(arguments), subscript, indirect, length)

    def _process_substitution(self, direction: str) -> ProcessSubstitution:
        self.position += 2
        return ProcessSubstitution(self.statements(")"), direction)

    def _extended_pattern(self) -> Literal:
        end = self.text.find(")", self.position)
        if end < 0 or "$" in self.text[self.position : end] or "`" in self.text[self.position : end]:
            raise UnreadableError("an extended pattern cannot be read")
        # All but a few, or any number of some: the nearest plain pattern is a star.
        is_broad = self.text[self.position] in "!*+"
        literal = Literal("*" if is_broad else self.text[self.position : end + 1], False)
        self.position = end + 1
        return literal

    def _backticks(self, quoted: bool, *, in_double: bool) -> Substitution:
        end = self.position + 1
        inner: list[str] = []
        while True:
            if end >= len(self.text):
                raise UnreadableError("a backtick is not closed")
            character = self.text[end]
            if character == "`":
                break
            following = self.text[end + 1 : end + 2]
            if character == "\\" and following and following in ('$`\\"' if in_double else "$`\\"):
                inner.append(following)
                end += 2
            else:
                inner.append(character)
                end += 1
        self.position = end + 1
        return Substitution(self.nested("".join(inner)), quoted)

    def _ansi_quoted(self) -> Literal:
        end = self.position + 2
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise UnreadableError("an ANSI quote is not closed")
        literal = Literal(decode_escapes(self.text[self.position + 2 : end]), True)
        self.position = end + 1
        return literal


def decode_escapes(text: str) -> str:
    """The text of `$'...'`, of `echo -e` and of a `printf` format, with its escapes decoded."""

    def decode(match: re.Match[str]) -> str:
        letter, hexadecimal, octal, short, long, control = match.groups()
        if letter:
            return _ANSI_LETTERS[letter]
        if control:
            return chr(ord(control) & 0x1F)
        digits = hexadecimal or short or long
        code = int(digits, 16) if digits else int(octal, 8) & 0xFF
        return chr(code) if code < 0x110000 else "\ufffd"

    return _ANSI_ESCAPE.sub(decode, text)
