"""Reads a PowerShell line into the same parts, for the same rules.

Cmdlets with an equal in the other shell are listed twice: as written, for the person and the user's
globs, and as that equal (`Remove-Item -Recurse x` as `rm -r x`), for the rules.
"""

from __future__ import annotations

import base64
import binascii
import fnmatch
import re
from collections.abc import Iterable

from atlas_gate.parts import DECODED, FETCHED, OUTPUT, UNKNOWN, Part, Redirect, Word, is_constant, name_set
from atlas_gate.powershell_commands import ALIASES, COMMANDS, KEYWORDS, Call
from atlas_gate.powershell_tokens import Token, closing, cut, unescaped
from atlas_gate.reader import DEPTH_LIMIT, Reader
from atlas_gate.syntax import UnreadableError, bounded

_INSIDE_STRING = re.compile(r"`.|\$\{([^}]*)\}|\$((?:\w+:)?\w+)|\$(\()", re.DOTALL)
_ASSIGNS = re.compile(r"[+\-*/%]?=")
_METHOD = re.compile(r"\.(\w+)$")
_PROPERTY = re.compile(r"\.(\w+)")
_KEEPS_PATH = name_set("fullname path providerpath definition source name value")
_STATEMENT_ENDS = frozenset((";", "\n", "&&", "||"))


class PowerShellReader:
    """Walks a PowerShell text and lists its commands in a reader, which keeps the parts."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.home = reader.world.home
        self.aliases = dict(ALIASES)
        self.functions: dict[str, str] = {}
        self.variables: dict[str, list[str]] = {
            "home": [self.home],
            "env:userprofile": [self.home],
            "env:home": [self.home],
            "env:homepath": [self.home.partition(":")[2] or self.home],
            "env:homedrive": ["C:"],
            "env:systemdrive": ["C:"],
            "env:systemroot": ["C:\\Windows"],
            "env:windir": ["C:\\Windows"],
            "env:programfiles": ["C:\\Program Files"],
            "env:programdata": ["C:\\ProgramData"],
            "env:public": ["C:\\Users\\Public"],
            "env:appdata": [self.home + "\\AppData\\Roaming"],
            "env:localappdata": [self.home + "\\AppData\\Local"],
            "env:temp": [self.home + "\\AppData\\Local\\Temp"],
            "env:tmp": [self.home + "\\AppData\\Local\\Temp"],
            "env:atlas_home": [reader.world.atlas_home],
            "true": ["True"],
            "false": ["False"],
            "null": [""],
            "args": [],
        }
        self._depth = 0

    def read(self, text: str) -> None:
        """Read the whole line; what cannot be read is noted as a fault."""
        try:
            self.block(text)
        except UnreadableError as error:
            self.reader.faults.append(str(error))
        except RecursionError:
            self.reader.faults.append("it is nested too deeply")

    def block(self, text: str, *, piped: list[str] | None = None, origin: str = "") -> list[str]:
        """Read the statements of a text, and answer what they put out."""
        self._depth += 1
        before = self.reader.origin
        if origin:
            self.reader.origin = (*before, origin)
        try:
            if self._depth > DEPTH_LIMIT:
                self.reader.faults.append("it goes too deep to be read")
                return [OUTPUT]
            if piped is not None:
                self.variables["_"] = self.variables["psitem"] = piped
            output: list[str] = []
            for statement in _statements(cut(text)):
                output.extend(self._pipeline(statement))
            return output
        finally:
            self._depth -= 1
            self.reader.origin = before

    def _pipeline(self, tokens: list[Token]) -> list[str]:
        tokens = self._without_keywords(tokens)
        assigned = self._assigned(tokens)
        if assigned is not None:
            name, appends, rest = assigned
            values = self._pipeline(rest)
            self.variables[name] = [*self.variables.get(name, []), *values] if appends else values
            bounded("".join(self.variables[name]))
            return []
        piped: list[str] = []
        for number, stage in enumerate(_split(tokens, "|")):
            piped = self._stage(stage, piped if number else None)
        return piped

    def _without_keywords(self, tokens: list[Token]) -> list[Token]:
        """Read the blocks and conditions of `if`, `try` and the like; what is left is a plain statement."""
        while tokens and tokens[0].kind == "word" and tokens[0].text.lower() in KEYWORDS:
            word = tokens[0].text.lower()
            tokens = tokens[1:]
            if word in ("function", "filter") and tokens:
                body = next((token.text for token in tokens if token.kind == "block"), "")
                self.functions[tokens[0].text.lower()] = body
                self.block(body)
                return []
            if word in ("return", "throw", "exit"):
                return tokens
            while tokens and (tokens[0].kind in ("group", "block", "type") or tokens[0].text == "\n"):
                if tokens[0].kind == "group" and word == "foreach":
                    self._loop_header(tokens[0].text)
                elif tokens[0].kind == "group" and word == "param":
                    pass
                elif tokens[0].kind in ("group", "block"):
                    self.block(tokens[0].text)
                tokens = tokens[1:]
        return tokens

    def _loop_header(self, text: str) -> None:
        tokens = cut(text)
        if len(tokens) > 2 and tokens[0].kind == "variable" and tokens[1].text.lower() == "in":
            values = self._pipeline(tokens[2:])
            self.variables[tokens[0].text.lower()] = values
        else:
            self.block(text)

    def _assigned(self, tokens: list[Token]) -> tuple[str, bool, list[Token]] | None:
        at = 1 if tokens and tokens[0].kind == "type" and len(tokens) > 1 else 0
        if len(tokens) <= at + 1 or tokens[at].kind != "variable":
            return None
        operator = _ASSIGNS.match(tokens[at + 1].text)
        if tokens[at + 1].kind != "word" or operator is None:
            return None
        rest = tokens[at + 2 :]
        remainder = tokens[at + 1].text[operator.end() :]
        if remainder:
            rest = [Token("word", remainder), *rest]
        return tokens[at].text.lower().removeprefix("global:").removeprefix("script:"), operator.group() == "+=", rest

    def _stage(self, tokens: list[Token], piped: list[str] | None) -> list[str]:
        if not tokens:
            return []
        first = tokens[0]
        if first.text in ("&", ".") and first.kind in ("mark", "word") and len(tokens) > 1:
            target = tokens[1]
            if target.kind == "block":
                return self.block(target.text, piped=piped)
            count = _glued_count(tokens, 1)
            values = self._operand(tokens[1 : 1 + count])
            return self._command(values[0] if values else UNKNOWN, tokens[1 + count :], piped)
        if first.kind == "word" and not re.match(r"-?\d|[+!-]", first.text):
            count = _glued_count(tokens, 0)
            return self._command("".join(self._operand(tokens[:count])), tokens[count:], piped)
        at = next((at for at, token in enumerate(tokens) if token.kind == "mark" and token.text.endswith(">")), None)
        if at is None:
            return self._expression(tokens)
        values = self._expression(tokens[:at])
        _, _, redirects = self._words(tokens[at:])
        self.reader.add(Part((), redirects=tuple(redirects)))
        for redirect in redirects:
            self.reader.state.files[self.reader.state.path(redirect.target)] = "\n".join(values)
        return []

    # Values.

    def _expression(self, tokens: list[Token]) -> list[str]:
        """An expression: operands joined by operators, of which adding and joining are followed."""
        values: list[str] = []
        operator = ""
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.kind == "mark" and token.text == ",":
                operator, position = ",", position + 1
                continue
            if token.kind == "word" and (token.text in ("+", "!") or re.fullmatch(r"-[a-zA-Z]+", token.text)):
                operator, position = token.text.lower(), position + 1
                if operator == "-join" and not values:
                    rest = self._expression(tokens[position:])
                    return ["".join(rest)]
                continue
            count = _glued_count(tokens, position)
            operand = self._operand(tokens[position : position + count])
            position += count
            # A comma binds tighter than any operator: `'{0}' -f 'a','b'`.
            while operator and position + 1 < len(tokens) and tokens[position].text == ",":
                count = _glued_count(tokens, position + 1)
                operand = [*operand, *self._operand(tokens[position + 1 : position + 1 + count])]
                position += 1 + count
            values = _combined(values, operator, operand)
            operator = ""
        return values

    def _operand(self, tokens: list[Token]) -> list[str]:
        """One argument: glued tokens make one text, a lone array or group keeps its values."""
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
                return [part for inner in _statements(cut(token.text)) for part in self._table_entry(inner)]
            case _:
                return []

    def _table_entry(self, tokens: list[Token]) -> list[str]:
        head = "".join(token.text for token in tokens[:2]) if tokens[1:2] and tokens[1].text == "=" else ""
        rest = tokens[2:] if head else tokens[1:]
        name, equals, value = (head or (tokens[0].text if tokens else "")).partition("=")
        if not equals:
            return []
        values = [value] if value else self._pipeline(rest)
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
            match = _INSIDE_STRING.search(text, position)
            if match is None:
                output.append(text[position:])
                return bounded("".join(output))
            output.append(text[position : match.start()])
            position = match.end()
            if match[3]:
                end = closing(text, position, ")")
                output.append(" ".join(self.block(text[position:end])))
                position = end + 1
            elif match[1] or match[2]:
                output.append(" ".join(self._variable(match[1] or match[2])))
            else:
                output.append(unescaped(match.group()))

    def _arguments(self, text: str) -> list[str]:
        return [value for part in _split(cut(text), ",") for value in self._pipeline(part)]

    def _type_call(self, tokens: list[Token]) -> list[str]:
        """`[Type]::Method(arguments)` and casts."""
        name = tokens[0].text.lower()
        rest = tokens[1:]
        if not rest or not rest[0].text.startswith("::"):
            values = self._expression(rest) if rest else []
            if name != "char":
                return values
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

    # Commands.

    def _command(self, name: str, tokens: list[Token], piped: list[str] | None) -> list[str]:
        words, blocks, redirects = self._words(tokens)
        shown = [Word(name), *words]
        lower = name.lower()
        if FETCHED in name or DECODED in name:
            self.reader.unread(Part(tuple(shown)), name)
        self.reader.add(Part(tuple(shown), redirects=tuple(redirects), input="\n".join(piped or [])))
        resolved = self.aliases.get(lower, lower)
        resolved = (
            resolved.rsplit("\\", 1)[-1] if "\\" in resolved and not resolved.endswith((".ps1", ".bat")) else resolved
        )
        if "*" in resolved or "?" in resolved:
            resolved = next((one for one in COMMANDS if fnmatch.fnmatchcase(one, resolved)), resolved)
        if resolved != lower and lower in self.aliases:
            self.reader.add(Part((Word(resolved), *words)))
        call = Call(resolved, words, blocks, piped if piped is not None else [])
        body = self.functions.get(resolved)
        if body is not None:
            self.variables["args"] = [word.text for word in words]
            return self.block(body, origin=name)
        command = COMMANDS.get(resolved)
        if command is not None:
            output = command(self, call)
        elif resolved.endswith(".ps1"):
            output = self.run_file(resolved, [word.text for word in words])
        else:
            output = self._native(resolved, call)
        for block in blocks:
            self.block(block, piped=piped or [OUTPUT], origin=name)
        return output

    def _native(self, name: str, call: Call) -> list[str]:
        """Any other program: what looks through it in the other shell does so here."""
        part = Part((Word(name), *call.words), input="\n".join(call.piped) + ("\n" if call.piped else ""))
        program = part.name
        handler = self.reader.programs.by_name.get(program)
        if program != name.lower() or program != self.reader.parts[-1].name:
            self.reader.add(part)
        if handler is not None:
            return [handler(self.reader, part)]
        return [OUTPUT]

    def _words(self, tokens: list[Token]) -> tuple[list[Word], list[str], list[Redirect]]:
        words: list[Word] = []
        blocks: list[str] = []
        redirects: list[Redirect] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            if token.kind == "mark":
                position += 1
                if token.text.endswith(">") and position < len(tokens):
                    count = _glued_count(tokens, position)
                    target = "".join(self._operand(tokens[position : position + count]))
                    redirects.append(Redirect("", token.text.lstrip("0123456789*"), Word(target)))
                    position += count
                continue
            count = _glued_count(tokens, position)
            operand = tokens[position : position + count]
            position += count
            if count == 1 and token.kind == "block":
                blocks.append(token.text)
            elif token.kind == "word" and re.match(r"-\w+:", token.text):
                switch, _, value = token.text.partition(":")
                following = self._operand(operand[1:]) if count > 1 else [value]
                if following and following[0].lower() not in ("false", "0"):
                    words.append(Word(switch))
                if following and following[0].lower() not in ("true", "false", "1", "0", ""):
                    words.extend(self.pattern(value) for value in following)
            else:
                words.extend(self.pattern(value) for value in self._operand(operand))
        return words, blocks, redirects

    # What the commands call.

    def pattern(self, text: str) -> Word:
        """A word in which PowerShell itself matches stars."""
        return Word(text, any(character in text for character in "*?["))

    def add_equal(self, program: list[str], words: Iterable[Word], origin: str) -> None:
        """List the equal of a cmdlet in the other shell."""
        before = self.reader.origin
        self.reader.origin = (*before, origin)
        self.reader.add(Part((*(Word(word) for word in program), *words)))
        self.reader.origin = before

    def run_text(self, text: str, origin: str) -> list[str]:
        """Read a text that PowerShell runs."""
        self.reader.unread(Part((Word(origin),)), text)
        return self.block(text, origin=origin) if is_constant(text) or len(text.strip()) > 1 else [OUTPUT]

    def run_words(self, words: list[Word], origin: str) -> list[str]:
        """Read a command given as words."""
        if not words:
            return [OUTPUT]
        before = self.reader.origin
        self.reader.origin = (*before, origin)
        try:
            tokens = [Token("single", word.text) for word in words[1:]]
            return self._command(words[0].text, tokens, None)
        finally:
            self.reader.origin = before

    def run_file(self, path: str, arguments: list[str]) -> list[str]:
        """Read a script by its path."""
        text = self.reader.read_file(self.reader.state.path(Word(path)))
        if text is None:
            return [OUTPUT]
        self.variables["args"] = arguments
        return self.run_text(text, path)


def _statements(tokens: list[Token]) -> list[list[Token]]:
    """Statements: a line break ends one unless a pipe, a comma or a keyword goes on behind it."""
    found: list[list[Token]] = []
    current: list[Token] = []
    for index, token in enumerate(tokens):
        ends = token.kind == "mark" and token.text in _STATEMENT_ENDS
        if token.text == "\n" and token.kind == "mark" and current:
            following = next((later for later in tokens[index:] if later.text != "\n"), None)
            goes_on = current[-1].kind == "mark" and current[-1].text in ("|", ",", "&&", "||")
            next_joins = following is not None and (
                following.text == "|" or following.text.lower() in ("else", "elseif", "catch", "finally")
            )
            header = current[0].text.lower() in KEYWORDS and following is not None and following.kind == "block"
            if goes_on or next_joins or header:
                continue
        if ends:
            if current:
                found.append(current)
            current = []
        else:
            current.append(token)
    if current:
        found.append(current)
    return found


def _split(tokens: list[Token], mark: str) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "mark" and token.text == mark:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _glued_count(tokens: list[Token], start: int) -> int:
    count = 1
    while start + count < len(tokens) and tokens[start + count].is_glued and tokens[start + count].kind != "mark":
        count += 1
    return count


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
            try:
                return [re.sub(operand[0], operand[1] if len(operand) > 1 else "", values[0], flags=re.IGNORECASE)]
            except re.error:
                return [OUTPUT]
        case _:
            return [*values, *operand]


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
