"""Reads a PowerShell line into the same parts, for the same rules.

Cmdlets with an equal in the other shell are listed twice: as written, for the person and the user's
globs, and as that equal (`Remove-Item -Recurse x` as `rm -r x`), for the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from atlas_gate.parts import DECODED, FETCHED, OUTPUT, UNKNOWN, Part, Redirect, Word, is_constant
from atlas_gate.patterns import matches
from atlas_gate.powershell_commands import ALIASES, COMMANDS, KEYWORDS, Call
from atlas_gate.powershell_tokens import Token
from atlas_gate.powershell_values import PowerShellValues, glued_count, split_at, statements_of
from atlas_gate.reader import DEPTH_LIMIT, Reader
from atlas_gate.syntax import UnreadableError, bounded
from atlas_gate.walker import REPEAT_LIMIT

_ASSIGNS = re.compile(r"[+\-*/%]?=")


class PowerShellReader(PowerShellValues):
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
        # What listings of a whole tree put out: the folder, and the names they kept to.
        self.walked: dict[str, tuple[str, str]] = {}
        self._depth = 0
        self._called: set[tuple[int, tuple[str, ...]]] = set()

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
            for statement in statements_of(self._cut(text)):
                output.extend(self.pipeline(statement))
            return output
        finally:
            self._depth -= 1
            self.reader.origin = before

    def pipeline(self, tokens: list[Token]) -> list[str]:
        self.reader.deadline.step()
        tokens = self._without_keywords(tokens)
        assigned = self._assigned(tokens)
        if assigned is not None:
            name, appends, rest = assigned
            values = self.pipeline(rest)
            self.variables[name] = _appended(self.variables.get(name, []), values) if appends else values
            bounded("".join(self.variables[name]))
            return []
        piped: list[str] = []
        for number, stage in enumerate(split_at(tokens, "|")):
            piped = self._stage(stage, piped if number else None)
        return piped

    def _without_keywords(self, tokens: list[Token]) -> list[Token]:
        """Read the blocks and conditions of `if`, `try` and the like; what is left is a plain statement."""
        while tokens and tokens[0].kind == "word" and tokens[0].text.lower() in KEYWORDS:
            self.reader.deadline.step(1 + len(tokens) // 64)
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
        tokens = self._cut(text)
        if len(tokens) > 2 and tokens[0].kind == "variable" and tokens[1].text.lower() == "in":
            values = self.pipeline(tokens[2:])
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
            count = glued_count(tokens, 1)
            values = self._operand(tokens[1 : 1 + count])
            return self._command(values[0] if values else UNKNOWN, tokens[1 + count :], piped)
        if first.kind == "word" and not re.match(r"-?\d|[+!-]", first.text):
            count = glued_count(tokens, 0)
            return self._command("".join(self._operand(tokens[:count])), tokens[count:], piped)
        at = next((at for at, token in enumerate(tokens) if token.kind == "mark" and token.text.endswith(">")), None)
        if at is None:
            return self._expression(tokens)
        values = self._expression(tokens[:at])
        _, _, redirects = self._words(tokens[at:])
        self.reader.add(Part((), redirects=tuple(redirects)))
        for redirect in redirects:
            if redirect.operator == ">" and not "".join(values):
                self.add_equal(["truncate", "-s", "0"], [redirect.target], "$null")
            self.reader.state.files[self.reader.state.path(redirect.target)] = "\n".join(values)
        return []

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
            resolved = next((one for one in COMMANDS if matches(one, resolved)), resolved)
        if resolved != lower and lower in self.aliases:
            self.reader.add(Part((Word(resolved), *words)))
        self.reader.deadline.step(1 + len(words) // 16)
        call = Call(resolved, words, blocks, piped if piped is not None else [])
        body = self.functions.get(resolved)
        if body is not None:
            called = (id(body), tuple(word.text for word in words))
            if called in self._called:
                return [OUTPUT]  # with the same words it would do the same again
            self._called.add(called)
            if len(self._called) > REPEAT_LIMIT:
                raise UnreadableError("it repeats too much to be read")
            self.variables["args"] = list(called[1])
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
                    count = glued_count(tokens, position)
                    target = "".join(self._operand(tokens[position : position + count]))
                    redirects.append(Redirect("", token.text.lstrip("0123456789*"), Word(target)))
                    position += count
                continue
            count = glued_count(tokens, position)
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


def _appended(before: list[str], values: list[str]) -> list[str]:
    """What `+=` makes: a longer text or a longer list, which is not known, so both."""
    if len(before) == 1 and len(values) == 1:
        return [bounded(before[0] + values[0])] if not before[0].startswith("-") else [*before, *values]
    return [*before, *values]
