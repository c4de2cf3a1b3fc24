"""Parses a simple command: assignments, words, redirections, and the here-documents they open."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from atlas_gate.scanner import METACHARACTERS, Scanner
from atlas_gate.syntax import (
    AssignmentNode,
    HereDocument,
    Literal,
    Node,
    Redirection,
    Simple,
    Substitution,
    Text,
    UnreadableError,
)

_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
# Plain words, most of the usual line of a script, are read in one step.
_PLAIN_WORDS = re.compile(r"[A-Za-z_./][\w./-]*(?=[ \t;|&)\n]|\Z)(?:[ \t]+[\w./:@%+,-]+(?=[ \t;|&)\n]|\Z))*", re.ASCII)
_BLANK_STARTS = frozenset((" ", "\t", "\\", "#"))
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECTION = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<>|<&|>&|>>|>\||&>>|&>|<(?!\()|>(?!\())")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?=|\[)")
_DECLARATIONS: Final = frozenset(("declare", "typeset", "local", "export", "readonly"))


class SimpleParser(Scanner):
    """The part of the parser below lists and compound commands."""

    def simple(self) -> Node:
        assignments: list[AssignmentNode] = []
        words: list[Text | AssignmentNode] = []
        redirections: list[Redirection] = []
        declares = False
        plain = _PLAIN_WORDS.match(self.text, self.position)
        if plain is not None:
            texts = plain.group().split()
            declares = texts[0] in _DECLARATIONS
            words.extend([plain_word(text) for text in texts])
            self.position = plain.end()
        while True:
            self._skip_blanks()
            if self.position >= len(self.text):
                break
            character = self.text[self.position]
            if character in "<>&" or character.isdigit() or character == "{":
                redirection = self._redirection()
                if redirection is not None:
                    redirections.append(redirection)
                    continue
            if character in METACHARACTERS and not self.text.startswith(("<(", ">("), self.position):
                break
            if not words or declares:
                assignment = self._assignment()
                if assignment is not None:
                    (words if words else assignments).append(assignment)
                    continue
            word = self._required_word()
            if not words and len(word.pieces) == 1 and isinstance(word.pieces[0], Literal):
                declares = word.pieces[0].text in _DECLARATIONS
            words.append(word)
        if not (assignments or words or redirections):
            raise UnreadableError(f"{self._here()!r} is out of place")
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    def _required_word(self) -> Text:
        before = self.position
        word = self.word()
        if self.position == before:
            raise UnreadableError(f"{self._here()!r} is out of place")
        return word

    def _assignment(self) -> AssignmentNode | None:
        match = _ASSIGNMENT.match(self.text, self.position)
        if match is None:
            return None
        before = self.position
        self.position = match.end()
        subscript: Text | None = None
        operator = match.group(2)
        if operator == "[":
            subscript = Text(tuple(self.pieces("subscript")))
            closing = re.compile(r"\](\+?=)").match(self.text, self.position)
            if closing is None:
                self.position = before
                return None
            operator = closing.group(1)
            self.position = closing.end()
        appends = operator == "+="
        if self.text.startswith("(", self.position):
            self.position += 1
            return AssignmentNode(match.group(1), Text(()), appends, subscript, tuple(self._elements()))
        return AssignmentNode(match.group(1), self.word(), appends, subscript)

    def _elements(self) -> list[Text]:
        elements: list[Text] = []
        while True:
            self._skip_lines()
            if self.text.startswith(")", self.position):
                self.position += 1
                return elements
            elements.append(self._required_word())

    def _redirection(self) -> Redirection | None:
        match = _REDIRECTION.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        self._skip_blanks()
        operator = match.group(2)
        target = self._required_word()
        if operator not in ("<<", "<<-"):
            return Redirection(match.group(1) or "", operator, target)
        delimiter, is_quoted = _delimiter(target)
        document = HereDocument(delimiter, is_quoted, operator == "<<-")
        self.pending.append(document)
        return Redirection(match.group(1) or "", operator, target, document)

    def _read_documents(self) -> None:
        """Read the bodies of the here-documents opened on the line that just ended."""
        waiting, self.pending = self.pending, []
        for document in waiting:
            lines: list[str] = []
            while self.position < len(self.text):
                end = self.text.find("\n", self.position)
                end = len(self.text) if end < 0 else end
                line = self.text[self.position : end]
                self.position = min(end + 1, len(self.text))
                if document.strips_tabs:
                    line = line.lstrip("\t")
                if line == document.delimiter:
                    break
                lines.append(line + "\n")
            body = "".join(lines)
            if document.is_quoted:
                document.body = Text((Literal(body, True),))
            else:
                inner = type(self)(body, self.deadline, depth=self.depth + 1)
                document.body = Text(tuple(inner.pieces("document")))

    def _skip_blanks(self) -> None:
        if self.text[self.position : self.position + 1] not in _BLANK_STARTS:
            return
        blanks = _BLANKS.match(self.text, self.position)
        if blanks is not None:
            self.position = blanks.end()
        if self.text.startswith("#", self.position):
            previous = self.text[self.position - 1 : self.position]
            if not previous or previous in METACHARACTERS:
                comment = _COMMENT.match(self.text, self.position)
                if comment is not None:
                    self.position = comment.end()

    def _skip_lines(self) -> None:
        while True:
            self._skip_blanks()
            if not self.text.startswith("\n", self.position):
                return
            self.position += 1
            if self.pending:
                self._read_documents()

    def _skip_separators(self) -> None:
        self._skip_lines()
        if self.text.startswith(";", self.position):
            self.position += 1
            self._skip_lines()

    def _here(self) -> str:
        return self.text[self.position : self.position + 12] or "the end"


@lru_cache(maxsize=4096)
def plain_word(text: str) -> Text:
    """A word of plain characters."""
    return Text((Literal(text, False),))


def _delimiter(target: Text) -> tuple[str, bool]:
    text: list[str] = []
    is_quoted = False
    for piece in target.pieces:
        if isinstance(piece, Literal):
            text.append(piece.text)
            is_quoted = is_quoted or piece.quoted
        elif isinstance(piece, Substitution):
            raise UnreadableError("a here-document's delimiter cannot be read")
    return "".join(text), is_quoted
