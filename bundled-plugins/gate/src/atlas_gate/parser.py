"""Parses a bash text into its tree.

It is a parser of its own because what is read has to be what bash runs: tree-sitter-bash 0.25 (2025-12)
loses the second of two here-documents on a line, takes the `}` of `time { a; }` for a command and cuts
`rm$IFS-rf$IFS/` in the wrong place. A test holds this one against `bash -n` on every line of the corpus.

A text that ends badly is still run by bash up to the line before the fault, so the parser keeps the
lines it has read and says what is wrong with the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from atlas_gate.deadline import Deadline, TooLongError
from atlas_gate.parts import name_set
from atlas_gate.scanner import METACHARACTERS
from atlas_gate.simple_commands import SimpleParser
from atlas_gate.syntax import (
    Case,
    Condition,
    For,
    Function,
    Group,
    Loop,
    Node,
    Pipeline,
    Redirection,
    Sequence,
    Text,
    UnreadableError,
)

_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|while|until|for|select|do|done|case|esac|function|time|coproc|!|\{|\}|\[\[)"
    r"(?=[ \t\n;&|<>()]|\\\n|\Z)"
)
_CLOSERS: Final = name_set("then elif else fi do done esac }")
_FUNCTION = re.compile(r"([^\s;&|<>()$`'\"\\=]+)[ \t]*\([ \t]*\)")
_NAME = re.compile(r"[^\s;&|<>()$`'\"\\]+")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What could be read, and why the rest could not, if any is left."""

    script: Sequence
    fault: str | None


def parse_again(text: str, deadline: Deadline) -> Text:
    """Read a text whose expansions the shell makes a second time, as in a here-document.

    Raises:
        UnreadableError: it cannot be read.
    """
    parser = Parser(text, deadline)
    with deadline.parsing():
        return Text(tuple(parser.pieces("document")))


def parse(text: str, deadline: Deadline) -> Parsed:
    """Read a whole text. A fault leaves the lines before it."""
    parser = Parser(text, deadline)
    try:
        with deadline.parsing():
            return parser.whole()
    except RecursionError:
        return Parsed(Sequence(()), "it is nested too deeply")


class Parser(SimpleParser):
    """Recursive descent over the grammar of bash, on the unchanged text."""

    def whole(self) -> Parsed:
        """Every line; a line that cannot be read ends it."""
        lines: list[Node] = []
        while True:
            found: list[Node] = []
            try:
                self._skip_lines()
                if self.position >= len(self.text):
                    return Parsed(Sequence(tuple(lines)), None)
                self._list_into(found, one_line=True)
                if not found:
                    raise UnreadableError(f"{self._here()!r} is out of place")
                lines.extend(found)
            except TooLongError as error:
                # The line may be sound, so what was read of it counts.
                return Parsed(Sequence((*lines, *found)), str(error))
            except UnreadableError as error:
                return Parsed(Sequence(tuple(lines)), str(error))

    def statements(self, closer: str) -> Sequence:
        """The commands up to a closer, which is consumed."""
        self._deeper()
        pending, self.pending = self.pending, []
        items: list[Node] = []
        self._list_into(items)
        self.expect(closer)
        self._read_documents()
        self.pending = pending
        self.depth -= 1
        return Sequence(tuple(items))

    def nested(self, text: str) -> Sequence:
        """The commands of another text, such as the inside of backticks."""
        parsed = Parser(text, self.deadline, depth=self.depth + 1).whole()
        if parsed.fault is not None:
            raise UnreadableError(parsed.fault)
        return parsed.script

    # Lists, pipelines, commands.

    def _list_into(self, items: list[Node], *, one_line: bool = False) -> None:
        while True:
            if one_line and items:
                self._skip_blanks()
                if self.position >= len(self.text) or self.text[self.position] == "\n":
                    return
            else:
                self._skip_lines()
            if self.position >= len(self.text) or self.text[self.position] in ");" or self._closes():
                if one_line and items:
                    raise UnreadableError(f"{self._here()!r} is out of place")
                return
            items.append(self._and_or())
            self._skip_blanks()
            character = self.text[self.position : self.position + 1]
            if character == ";" and self.text[self.position : self.position + 2] in (";;", ";&"):
                return
            if character == "&":
                items[-1] = Group(items[-1], "&")
                self.position += 1
            elif character == ";":
                self.position += 1
            elif character == "\n" or not character:
                continue
            elif (character == ")" or self._closes()) and not one_line:
                return
            else:
                raise UnreadableError(f"{self._here()!r} is out of place")

    def _and_or(self) -> Node:
        items = [self._pipeline()]
        while True:
            self._skip_blanks()
            if self.text.startswith(("&&", "||"), self.position):
                self.position += 2
                self._skip_lines()
                items.append(self._pipeline())
            else:
                return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _pipeline(self) -> Node:
        commands = [self._command()]
        while True:
            self._skip_blanks()
            if self.text.startswith("|", self.position) and not self.text.startswith("||", self.position):
                self.position += 2 if self.text.startswith("|&", self.position) else 1
                self._skip_lines()
                commands.append(self._command())
            else:
                return commands[0] if len(commands) == 1 else Pipeline(tuple(commands))

    def _command(self) -> Node:
        self.deadline.step()
        self._skip_blanks()
        reserved = _RESERVED.match(self.text, self.position)
        if reserved is not None:
            return self._reserved(reserved.group())
        if self.text.startswith("((", self.position):
            condition = self._arithmetic_command()
            if condition is not None:
                return condition
        if self.text.startswith("(", self.position):
            self.position += 1
            return self._redirected(self.statements(")"), "( )", is_subshell=True)
        function = _FUNCTION.match(self.text, self.position)
        if function is not None:
            self.position = function.end()
            self._skip_lines()
            return Function(function.group(1), self._command())
        return self.simple()

    def _reserved(self, word: str) -> Node:
        if word in _CLOSERS:
            raise UnreadableError(f"{word!r} is out of place")
        self._deeper()
        self.position += len(word)
        node = self._compound(word)
        self.depth -= 1
        return node

    def _compound(self, word: str) -> Node:
        match word:
            case "!":
                return self._pipeline()
            case "time":
                start = self.position - len(word)
                self._skip_blanks()
                if self.text.startswith("-p", self.position):
                    self.position += 2
                elif self.text.startswith("-", self.position):
                    self.position = start  # with other options it is the program of that name
                    return self.simple()
                self._skip_blanks()
                ends = self.text[self.position : self.position + 1] in ("", "\n", ";", "&", "|", ")")
                return Sequence(()) if ends else self._pipeline()
            case "{":
                body = self._block()
                self._close("}")
                return self._redirected(body, "{ }")
            case "if":
                return self._if()
            case "while" | "until":
                condition = self._block()
                self._close("do")
                body = self._block()
                self._close("done")
                return self._redirected(Loop(condition, body), word)
            case "for" | "select":
                return self._for(word)
            case "case":
                return self._case()
            case "function":
                return self._function()
            case "coproc":
                return self._coproc()
            case _:
                return self._condition()

    def _block(self) -> Sequence:
        items: list[Node] = []
        self._list_into(items)
        return Sequence(tuple(items))

    def _if(self) -> Node:
        branches: list[Node] = [self._block()]
        self._close("then")
        branches.append(self._block())
        while True:
            word = self._closes()
            if word == "elif":
                self._close("elif")
                branches.append(self._block())
                self._close("then")
                branches.append(self._block())
            elif word == "else":
                self._close("else")
                branches.append(self._block())
            else:
                self._close("fi")
                return self._redirected(Sequence(tuple(branches)), "if")

    def _for(self, word: str) -> Node:
        self._skip_blanks()
        words: tuple[Text, ...] | None = None
        name = ""
        header: Condition | None = None
        if self.text.startswith("((", self.position):
            header = self._arithmetic_command()
            if header is None:
                raise UnreadableError("a loop header cannot be read")
        else:
            match = _NAME.match(self.text, self.position)
            if match is None:
                raise UnreadableError("a loop has no variable")
            name = match.group()
            self.position = match.end()
            self._skip_lines()
            if re.compile(r"in(?=[ \t\n;])").match(self.text, self.position):
                self.position += 2
                words = tuple(self._words_to_the_end())
        self._skip_separators()
        closer = "done"
        if self.text.startswith("{", self.position):
            self.position += 1
            closer = "}"
        else:
            self._close("do")
        body = self._block()
        self._close(closer)
        if header is not None:
            return self._redirected(Sequence((header, body)), word)
        return self._redirected(For(name, words, body), word)

    def _words_to_the_end(self) -> list[Text]:
        words: list[Text] = []
        while True:
            self._skip_blanks()
            if self.text[self.position : self.position + 1] in ("", "\n", ";"):
                return words
            words.append(self._required_word())

    def _case(self) -> Node:
        self._skip_blanks()
        subject = self._required_word()
        self._skip_lines()
        if not self.text.startswith("in", self.position):
            raise UnreadableError("'in' is missing after 'case'")
        self.position += 2
        patterns: list[Text] = []
        arms: list[Sequence] = []
        while True:
            self._skip_lines()
            if self._closes() == "esac":
                self._close("esac")
                return self._redirected(Case(subject, tuple(patterns), tuple(arms)), "case")
            if self.text.startswith("(", self.position):
                self.position += 1
            while True:
                self._skip_blanks()
                patterns.append(self._required_word())
                self._skip_blanks()
                if not self.text.startswith("|", self.position):
                    break
                self.position += 1
            self.expect(")")
            arms.append(self._block())
            self._skip_lines()
            for end in (";;&", ";;", ";&"):
                if self.text.startswith(end, self.position):
                    self.position += len(end)
                    break
            else:
                if self._closes() != "esac":
                    raise UnreadableError("'esac' is missing")

    def _function(self) -> Node:
        self._skip_blanks()
        name = _NAME.match(self.text, self.position)
        if name is None:
            raise UnreadableError("a function has no name")
        self.position = name.end()
        self._skip_blanks()
        parentheses = re.compile(r"\([ \t]*\)").match(self.text, self.position)
        if parentheses is not None:
            self.position = parentheses.end()
        self._skip_lines()
        return Function(name.group(), self._command())

    def _coproc(self) -> Node:
        named = re.compile(r"[ \t]+[A-Za-z_]\w*[ \t]+(?=[{(])").match(self.text, self.position)
        if named is not None:
            self.position = named.end()
        return Group(self._command(), "coproc")

    def _condition(self) -> Node:
        """`[[ ... ]]`, whose operators include the metacharacters."""
        words: list[Text] = []
        while True:
            self._skip_lines()
            if self.position >= len(self.text):
                raise UnreadableError("']]' is missing")
            if self.text.startswith("]]", self.position):
                self.position += 2
                return self._redirected(Condition(tuple(words)), "[[ ]]")
            if self.text[self.position] in METACHARACTERS:
                self.position += 1
                continue
            words.append(self._required_word())

    def _arithmetic_command(self) -> Condition | None:
        before = self.position
        if before + 2 in self.not_arithmetic:
            return None
        self.position += 2
        try:
            content = self.pieces("arithmetic")
            self.expect("))")
        except UnreadableError:
            self.position = before
            self.not_arithmetic.add(before + 2)
            return None
        return Condition((Text(tuple(content)),), is_arithmetic=True)

    def _redirected(self, body: Node, origin: str, *, is_subshell: bool = False) -> Node:
        redirections: list[Redirection] = []
        while True:
            self._skip_blanks()
            redirection = self._redirection()
            if redirection is None:
                break
            redirections.append(redirection)
        return Group(body, origin, is_subshell, tuple(redirections))

    def _closes(self) -> str:
        reserved = _RESERVED.match(self.text, self.position)
        return reserved.group() if reserved is not None and reserved.group() in _CLOSERS else ""

    def _close(self, word: str) -> None:
        self._skip_lines()
        if self._closes() != word:
            raise UnreadableError(f"{word!r} is missing")
        self.position += len(word)

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > 40:
            raise UnreadableError("it is nested too deeply")
