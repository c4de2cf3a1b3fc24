"""What a PowerShell expression comes to: strings, arrays, operators, and calls of .NET."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable

from atlas_gate.parts import DECODED, FETCHED, OUTPUT, UNKNOWN, Word, is_constant, name_set
from atlas_gate.patterns import replaced
from atlas_gate.powershell_commands import KEYWORDS
from atlas_gate.powershell_tokens import Token, closing, cut, unescaped
from atlas_gate.reader import Reader
from atlas_gate.syntax import bounded

_INSIDE_STRING = re.compile(r"`.|\$\{([^}]*)\}|\$((?:\w+:)?\w+)|\$(\()", re.DOTALL)
_METHOD = re.compile(r"\.(\w+)$")
_PICKS = re.compile(r"\[(-?\d{1,6})\.\.(-?\d{1,6})\]")
_PROPERTY = re.compile(r"\.(\w+)")
_KEEPS_PATH = name_set("fullname path providerpath definition source name value")
_STATEMENT_ENDS = frozenset((";", "\n", "&&", "||"))


class PowerShellValues:
    """Follows values as far as they are constant; the reader of commands builds on it."""

    reader: Reader
    home: str
    variables: dict[str, list[str]]

    def _expression(self, tokens: list[Token]) -> list[str]:
        """An expression: operands joined by operators, of which adding and joining are followed."""
        values: list[str] = []
        operator = ""
        position = 0
        while position < len(tokens):
            self.reader.deadline.step()
            token = tokens[position]
            if token.kind == "mark" and token.text == ",":
                operator, position = ",", position + 1
                continue
            if token.kind == "word" and token.is_glued and values and token.text.startswith("+["):
                # `'x'+[char]116`: the bracket is part of the word that follows.
                tokens = [*tokens[:position], Token("word", "+"), *self._cut(token.text[1:]), *tokens[position + 1 :]]
                token = tokens[position]
            if token.kind == "word" and (token.text in ("+", "!") or re.fullmatch(r"-[a-zA-Z]+", token.text)):
                operator, position = token.text.lower(), position + 1
                if operator == "-join" and not values:
                    rest = self._expression(tokens[position:])
                    return ["".join(rest)]
                continue
            count = term_count(tokens, position)
            operand = self._operand(tokens[position : position + count])
            position += count
            # A comma binds tighter than any operator: `'{0}' -f 'a','b'`.
            while operator and position + 1 < len(tokens) and tokens[position].text == ",":
                count = glued_count(tokens, position + 1)
                operand = [*operand, *self._operand(tokens[position + 1 : position + 1 + count])]
                position += 1 + count
            values = _combined(values, operator, operand)
            operator = ""
        return values

    def _operand(self, tokens: list[Token]) -> list[str]:
        """One argument: glued tokens make one text, a lone array or group keeps its values."""
        self.reader.deadline.step()
        if tokens and tokens[0].kind == "type":
            return self._type_call(tokens)
        if len(tokens) == 1:
            return self._value(tokens[0])
        text: list[str] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            method = _METHOD.search(token.text) if token.kind == "word" and position else None
            arguments = tokens[position + 1] if position + 1 < len(tokens) else None
            if method and arguments is not None and arguments.kind == "group":
                head = token.text[: method.start()]
                text = [self._method(method[1].lower(), "".join(text) + head, self._arguments(arguments.text))]
                position += 2
                continue
            picked = _PICKS.fullmatch(token.text) if token.kind == "word" and position else None
            if picked is not None and position == len(tokens) - 1:
                return _picked("".join(text), int(picked[1]), int(picked[2]))
            if position == 1 and token.kind == "word" and tokens[0].kind in ("group", "variable", "subexpression"):
                prop = _PROPERTY.fullmatch(token.text)
                if prop is not None:
                    if prop[1].lower() not in _KEEPS_PATH:
                        text = [OUTPUT]
                    position += 1
                    continue
            text.append("".join(self._value(token)) if token.kind != "array" else " ".join(self._value(token)))
            position += 1
        return ["".join(text)]

    def _value(self, token: Token) -> list[str]:
        match token.kind:
            case "word":
                text = token.text
                return [self.home + text[1:]] if re.fullmatch(r"~(?:[\\/].*)?", text, re.DOTALL) else [text]
            case "single":
                return [token.text]
            case "double":
                return [self._interpolated(token.text)]
            case "variable":
                return self._variable(token.text)
            case "group" | "subexpression" | "array":
                return self.block(token.text)
            case "block":
                self.block(token.text)
                return [token.text]
            case "table":
                return [part for inner in statements_of(self._cut(token.text)) for part in self._table_entry(inner)]
            case _:
                return []

    def _table_entry(self, tokens: list[Token]) -> list[str]:
        head = "".join(token.text for token in tokens[:2]) if tokens[1:2] and tokens[1].text == "=" else ""
        rest = tokens[2:] if head else tokens[1:]
        name, equals, value = (head or (tokens[0].text if tokens else "")).partition("=")
        if not equals:
            return []
        values = [value] if value else self.pipeline(rest)
        return [f"-{name}", *([] if values == ["True"] else values)]

    def _variable(self, name: str) -> list[str]:
        name = name.lower().removeprefix("global:").removeprefix("script:")
        if name == "pwd":
            return [self.reader.state.folder or UNKNOWN]
        return self.variables.get(name, [UNKNOWN])

    def _interpolated(self, text: str) -> str:
        output: list[str] = []
        position = 0
        while True:
            self.reader.deadline.step()
            match = _INSIDE_STRING.search(text, position)
            if match is None:
                output.append(text[position:])
                return bounded("".join(output))
            output.append(text[position : match.start()])
            position = match.end()
            if match[3]:
                end = closing(text, position, ")", self.reader.deadline.step)
                output.append(" ".join(self.block(text[position:end])))
                position = end + 1
            elif match[1] or match[2]:
                output.append(" ".join(self._variable(match[1] or match[2])))
            else:
                output.append(unescaped(match.group()))

    def _cut(self, text: str) -> list[Token]:
        return cut(text, self.reader.deadline.step)

    def _arguments(self, text: str) -> list[str]:
        return [value for part in split_at(self._cut(text), ",") for value in self.pipeline(part)]

    def _type_call(self, tokens: list[Token]) -> list[str]:
        """`[Type]::Method(arguments)` and casts."""
        name = tokens[0].text.lower()
        rest = tokens[1:]
        if not rest or not rest[0].text.startswith("::"):
            values = self._expression(rest) if rest else []
            if not name.startswith("char"):
                return values
            chain = re.fullmatch(r"(\w+)((?:\+\[char\]\w+)*)(\+?)", rest[0].text, re.IGNORECASE) if rest else None
            if chain is not None and chain[2]:
                codes = [chain[1], *re.findall(r"\](\w+)", chain[2])]
                behind = self._expression(rest[1:]) if chain[3] else []
                return ["".join(_character(code) for code in codes) + "".join(behind)]
            if rest and rest[0].text.endswith("+") and len(rest) > 1:
                return [_character(rest[0].text[:-1]) + "".join(self._expression(rest[1:]))]
            return [_character(value) for value in values]
        method = rest[0].text[2:].lower().split(".")[-1]
        group = next((token for token in rest if token.kind == "group"), None)
        arguments = self._arguments(group.text) if group is not None else []
        return [self._static(name, method, arguments)]

    def _static(self, name: str, method: str, arguments: list[str]) -> str:
        short = name.rsplit(".", 1)[-1]
        first = arguments[0] if arguments else ""
        if short in ("directory", "file", "filesystem") and method in ("delete", "deletedirectory", "deletefile"):
            recursive = len(arguments) > 1 and arguments[1].lower() not in ("false", "0")
            flags = [Word("-r")] if recursive or method == "deletedirectory" else []
            self.add_equal(["rm"], [*flags, self.pattern(first)], f"[{short}]::{method}")
            return ""
        if short in ("file", "directory") and arguments:
            program = "cat" if method.startswith(("read", "open", "exists", "get", "enumerate")) else "tee"
            self.add_equal([program], [Word(first)], f"[{short}]::{method}")
            return OUTPUT
        if short == "process" and method == "start":
            words = [word for argument in arguments for word in argument.split()]
            self.run_words([Word(word) for word in words], "Process.Start")
            return OUTPUT
        if method == "frombase64string":
            return _from_base64(first)
        if short == "scriptblock" and method == "create":
            self.run_text(first, "scriptblock")
        if method in ("getstring", "create", "new"):
            return first
        if short == "path" and method == "combine":
            return "\\".join(argument.rstrip("\\/") for argument in arguments) + ("\\" if len(arguments) == 1 else "")
        if short == "environment" and method == "getfolderpath":
            return self.home if first.lower() in ("userprofile", "40") else UNKNOWN
        if short == "environment" and method == "getenvironmentvariable":
            return "".join(self._variable("env:" + first))
        if short == "string" and method in ("join", "concat"):
            return arguments[0].join(arguments[1:]) if method == "join" else "".join(arguments)
        return OUTPUT

    def _method(self, method: str, owner: str, arguments: list[str]) -> str:
        if method in ("downloadstring", "downloaddata", "getstringasync"):
            return FETCHED
        if method in ("invoke", "invokereturnasis"):
            self.run_text(owner, "Invoke")
            return OUTPUT
        if method in ("delete",):
            self.add_equal(["rm"], [Word("-r"), self.pattern(owner)], ".Delete()")
            return ""
        if method in ("win32shutdown", "reboot", "shutdown"):
            self.add_equal(["shutdown"], [], f".{method}()")
            return ""
        if method in ("getstring", "tostring", "trim", "tolower", "toupper"):
            value = owner if method not in ("getstring",) else "".join(arguments)
            return value.lower() if method == "tolower" else value
        if method == "replace" and len(arguments) == 2:
            return owner.replace(arguments[0], arguments[1])
        if method == "frombase64string":
            return _from_base64("".join(arguments))
        return OUTPUT

    # What the reader of commands provides.

    def block(self, text: str, *, piped: list[str] | None = None, origin: str = "") -> list[str]:
        """Read the statements of a text."""
        raise NotImplementedError

    def pipeline(self, tokens: list[Token]) -> list[str]:
        """Read one statement."""
        raise NotImplementedError

    def run_text(self, text: str, origin: str) -> list[str]:
        """Read a text that PowerShell runs."""
        raise NotImplementedError

    def run_words(self, words: list[Word], origin: str) -> list[str]:
        """Read a command given as words."""
        raise NotImplementedError

    def add_equal(self, program: list[str], words: Iterable[Word], origin: str) -> None:
        """List the equal of a cmdlet in the other shell."""
        raise NotImplementedError

    def pattern(self, text: str) -> Word:
        """A word in which PowerShell itself matches stars."""
        return Word(text, any(character in text for character in "*?["))


def statements_of(tokens: list[Token]) -> list[list[Token]]:
    """Statements: a line break ends one unless a pipe, a comma or a keyword goes on behind it."""
    found: list[list[Token]] = []
    current: list[Token] = []
    for index, token in enumerate(tokens):
        ends = token.kind == "mark" and token.text in _STATEMENT_ENDS
        if token.text == "\n" and token.kind == "mark" and current:
            at = index
            while at < len(tokens) and tokens[at].text == "\n":
                at += 1
            following = tokens[at] if at < len(tokens) else None
            goes_on = current[-1].kind == "mark" and current[-1].text in ("|", ",", "&&", "||")
            next_joins = following is not None and (
                following.text == "|" or following.text.lower() in ("else", "elseif", "catch", "finally")
            )
            header = current[0].text.lower() in KEYWORDS and following is not None and following.kind == "block"
            if goes_on or next_joins or header:
                continue
        starts_call = token.kind == "mark" and token.text == "&" and _is_complete(current)
        if starts_call:
            # `first & second`: the first runs in the background.
            found.append(current)
            current = [token]
        elif ends:
            if current:
                found.append(current)
            current = []
        else:
            current.append(token)
    if current:
        found.append(current)
    return found


def _is_complete(current: list[Token]) -> bool:
    """Whether a statement may end here, with nothing in it that waits for a value."""
    if not current:
        return False
    last = current[-1]
    return last.kind != "mark" and not (
        last.kind == "word" and (last.text.endswith("=") or last.text.lower() in KEYWORDS | {"in", "+", "!"})
    )


def split_at(tokens: list[Token], mark: str) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "mark" and token.text == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def term_count(tokens: list[Token], start: int) -> int:
    """How many glued tokens make one term of an expression: a plus between two ends the first."""
    count = 1
    while _is_glued(tokens, start + count):
        token = tokens[start + count]
        if token.kind == "word" and (token.text == "+" or token.text.startswith("+[")):
            break
        count += 1
    return count


def glued_count(tokens: list[Token], start: int) -> int:
    count = 1
    while _is_glued(tokens, start + count):
        count += 1
    return count


def _is_glued(tokens: list[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].is_glued and tokens[index].kind != "mark"


def _combined(values: list[str], operator: str, operand: list[str]) -> list[str]:
    match operator:
        case "+" if values and len(values) == 1 and len(operand) == 1:
            return [bounded(values[0] + operand[0])]
        case "-join":
            return ["".join(operand).join(values)]
        case "-f" if values:
            text = values[0]
            for number, value in enumerate(operand):
                text = text.replace("{" + str(number) + "}", value)
            return [text]
        case "-replace" if values and operand:
            by = operand[1] if len(operand) > 1 else ""
            changed = replaced(operand[0], by, values[0], flags=re.IGNORECASE)
            return [OUTPUT if changed is None else bounded(changed)]
        case _:
            # In place: an array of a hundred thousand would be copied once for each element.
            values.extend(operand)
            return values


def _picked(text: str, first: int, last: int) -> list[str]:
    """The characters of a text by a range of indexes, as `[-1..-9]` reverses it."""
    step = 1 if last >= first else -1
    indexes = range(first, last + step, step)
    if len(indexes) > 10_000 or not is_constant(text):
        return [OUTPUT]
    return [text[index] for index in indexes if -len(text) <= index < len(text)]


def _character(value: str) -> str:
    try:
        return chr(int(value, 0))
    except (ValueError, OverflowError):
        return value


def _from_base64(text: str) -> str:
    if not is_constant(text):
        return DECODED
    try:
        content = base64.b64decode(text)
    except (ValueError, binascii.Error):
        return DECODED
    encoding = "utf-16-le" if content[1:2] == b"\0" else "utf-8"
    return content.decode(encoding, "replace")
