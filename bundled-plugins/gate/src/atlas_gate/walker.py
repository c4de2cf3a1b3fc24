"""Walks the tree of a line as its shell would: every branch is taken, subshells get a state of their own."""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.deadline import Deadline, TooLongError
from atlas_gate.expansion import Expander
from atlas_gate.fork_bomb import is_fork_bomb
from atlas_gate.parser import parse_again
from atlas_gate.parts import OUTPUT, UNKNOWN, Assignment, Part, Redirect, Word, is_constant
from atlas_gate.state import State, Value
from atlas_gate.syntax import (
    AssignmentNode,
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
    Simple,
    UnreadableError,
    bounded,
)
from atlas_gate.world import World

# How many commands the line may come to beyond those written in it: loops and functions multiply.
REPEAT_LIMIT: Final = 20_000
# How deep texts that are evaluated again may hold others that are.
EVALUATION_LIMIT: Final = 8
_COMPARES: Final = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))

_KEYED_ELEMENT = re.compile(r"\[([^\]]+)\]=(.*)", re.DOTALL)


class Walker:
    """Owns the shell's state and the parts found. What a simple command does is the reader's, which builds on it."""

    def __init__(self, world: World, deadline: Deadline) -> None:
        self.world = world
        self.deadline = deadline
        self.parts: list[Part] = []
        self.faults: list[str] = []
        self.state = State(home=world.home, folder=world.cwd, variables=dict(world.environment))
        self.state.variables.setdefault("HOME", world.home)
        self.state.variables.setdefault("ATLAS_HOME", world.atlas_home)
        self.state.variables.setdefault("IFS", " \t\n")
        self.origin: tuple[str, ...] = ()
        self.input = ""
        self.is_captured = False
        self._repeats = 0
        self._processes = 0
        self._evaluations = 0
        self.loops = 0

    def _run(self, node: Node, stdin: str) -> str:
        self.deadline.step()
        match node:
            case Simple():
                return self._simple(node, stdin)
            case Sequence(items):
                return bounded("".join([self._run(item, stdin) for item in items]))
            case Pipeline(commands):
                return self._pipeline(commands, stdin)
            case Group():
                return self._group(node, stdin)
            case For():
                return self._for(node, stdin)
            case Loop():
                return self._loop(node, stdin)
            case Case(subject, patterns, arms):
                for text in (subject, *patterns):
                    self._expander().single(text)
                return "".join([self._run(arm, stdin) for arm in arms])
            case Function(name, body):
                self._define(name, body)
                return ""
            case Condition():
                self._condition(node)
                return ""

    def _condition(self, node: Condition) -> None:
        expander = self._expander()
        values = [expander.single(word) for word in node.words]
        if node.is_arithmetic:
            for value in values:
                expander.arithmetic(value)
            return
        for before, operator, after in zip(["", *values], values, [*values[1:], ""], strict=False):
            if operator == "-v":
                self.evaluate(after)
            elif operator in _COMPARES:
                expander.arithmetic(before)
                expander.arithmetic(after)

    def evaluate(self, text: str) -> str:
        """Expand a text once more, as bash does with the subscript of a name it is given as a word."""
        if "$" not in text and "`" not in text:
            return text
        self._evaluations += 1
        try:
            if self._evaluations > EVALUATION_LIMIT:
                raise UnreadableError("it is evaluated again and again")
            return self._expander().single(parse_again(text, self.deadline), tilde=False)
        except TooLongError:
            raise
        except UnreadableError as error:
            self.faults.append(str(error))
            return OUTPUT
        finally:
            self._evaluations -= 1

    def evaluate_arithmetic(self, text: str) -> str:
        """What an expression comes to that a builtin is given as a word."""
        return self._expander().arithmetic(text)

    def _define(self, name: str, body: Node) -> None:
        self.state.functions[name] = body
        if is_fork_bomb(name, body):
            self.parts.append(Part((Word(name),), origin=self.origin, folder=self.state.folder, suspicion="fork-bomb"))

    def _pipeline(self, commands: tuple[Node, ...], stdin: str) -> str:
        text = stdin
        before, captured = self.state, self.is_captured
        for number, command in enumerate(commands):
            is_last = number == len(commands) - 1
            self.state = before.copy()
            self.is_captured = captured or not is_last
            text = self._run(command, text)
        if before.variables.get("lastpipe"):
            before = self.state
        self.state, self.is_captured = before, captured
        return text

    def _group(self, node: Group, stdin: str) -> str:
        redirects, fed = self._redirects(node.redirections)
        if redirects:
            self.add(Part((), redirects=redirects))
        before = self.state
        if node.is_subshell:
            self.state = before.copy()
        try:
            output = self._run(node.body, stdin if fed is None else fed)
        finally:
            if node.is_subshell:
                self.state = before
        return self._written(redirects, output)

    def _for(self, node: For, stdin: str) -> str:
        if node.words is None:
            values = list(self.state.positional) or [UNKNOWN]
        else:
            values = [word.expanded() for text in node.words for word in self._expander().fields(text)]
        output: list[str] = []
        for number, value in enumerate(values):
            self._count(number)
            self.state.variables[node.variable] = value
            output.append(self._run(node.body, stdin))
        return bounded("".join(output))

    def _loop(self, node: Loop, stdin: str) -> str:
        before, self.input = self.input, stdin
        self.loops += 1
        output: list[str] = []
        number = 0
        try:
            while True:
                left = self.input
                self._run(node.condition, "")
                output.append(self._run(node.body, ""))
                number += 1
                self._count(number)
                if self.input == left or not self.input or not is_constant(self.input):
                    return "".join(output)
        finally:
            self.input = before
            self.loops -= 1

    def _count(self, repeats: int) -> None:
        if repeats:
            self._repeats += 1
            if self._repeats > REPEAT_LIMIT:
                raise UnreadableError("it repeats too much to be read")

    def _expander(self) -> Expander:
        return Expander(self.state, self._capture, self._open_process, self.deadline.step, self.evaluate)

    def _capture(self, script: Sequence) -> str:
        before, captured, origin = self.state, self.is_captured, self.origin
        self.state, self.is_captured, self.origin = before.copy(), True, (*origin, "$( )")
        try:
            return self._run(script, "")
        finally:
            self.state, self.is_captured, self.origin = before, captured, origin

    def _open_process(self, script: Sequence, direction: str) -> str:
        if direction == ">":
            self._processes += 1
            path = f"/dev/fd/{62 - self._processes}"
            self.state.files[path] = self._capture(script) and ""
            return path
        output = self._capture(script)
        self._processes += 1
        path = f"/dev/fd/{62 - self._processes}"
        self.state.files[path] = output
        return path

    def _redirects(self, redirections: tuple[Redirection, ...]) -> tuple[tuple[Redirect, ...], str | None]:
        """The files opened, and the text fed to standard input where one is."""
        if not redirections:
            return (), None
        redirects: list[Redirect] = []
        fed: str | None = None
        for redirection in redirections:
            expander = self._expander()
            if redirection.document is not None:
                body = expander.single(redirection.document.body, tilde=False)
                fed = self._feed(redirection.descriptor, body, fed)
                continue
            target = expander.single(redirection.target)
            if redirection.operator == "<<<":
                fed = self._feed(redirection.descriptor, target + "\n", fed)
                continue
            if redirection.operator in ("<&", ">&") and target.rstrip("-").isdigit():
                if redirection.operator == "<&":
                    fed = self.state.files.get(f"/dev/fd/{target}", fed)
                continue
            operator = ">" if redirection.operator == ">&" else redirection.operator
            redirects.append(Redirect(redirection.descriptor, operator, Word(target)))
            if operator == "<":
                content = self.read_file(self.state.path(target), is_script=False)
                fed = self._feed(redirection.descriptor, UNKNOWN if content is None else content, fed)
        return tuple(redirects), fed

    def _feed(self, descriptor: str, text: str, fed: str | None) -> str | None:
        """Give a text to standard input, or keep it for the descriptor it was opened under."""
        if descriptor in ("", "0"):
            return text
        self.state.files[f"/dev/fd/{descriptor}"] = text
        return fed

    def _written(self, redirects: tuple[Redirect, ...], output: str) -> str:
        """Note what the redirects write, and answer what is left on standard output."""
        for redirect in redirects:
            if not redirect.writes or redirect.descriptor not in ("", "1"):
                continue
            path = self.state.path(redirect.target)
            already = self.state.files.get(path, "") if redirect.operator.endswith(">>") else ""
            self.state.files[path] = already + output
            output = ""
        return output

    # Variables.

    def _assignment(self, node: AssignmentNode, expander: Expander) -> Assignment:
        """What an assignment in front of a command sets, for that command only."""
        if node.elements is not None:
            return Assignment(node.name, " ".join(w.text for e in node.elements for w in expander.fields(e)))
        if node.subscript is not None:
            expander.arithmetic(expander.single(node.subscript))
        return Assignment(node.name, expander.single(node.value))

    def _assign(self, node: AssignmentNode, expander: Expander) -> Assignment:
        """Set a variable of the shell itself."""
        if node.elements is not None:
            elements = tuple(
                word.text if word.text.startswith("[") else word.expanded()
                for element in node.elements
                for word in expander.fields(element)
            )
            for element in elements:
                keyed = _KEYED_ELEMENT.fullmatch(element)
                if keyed is not None:
                    self.state.variables[f"{node.name}[{keyed[1]}]"] = keyed[2]
            before = self.state.lookup(node.name) if node.appends else ()
            self.set_variable(node.name, (*((before,) if isinstance(before, str) else before), *elements))
            return Assignment(node.name, " ".join(elements))
        value = expander.single(node.value)
        name = node.name
        if node.subscript is not None:
            subscript = expander.single(node.subscript)
            expander.arithmetic(subscript)
            name = f"{name}[{subscript}]"
        if node.appends and self.state.is_set(name):
            already = self.state.lookup(name)
            value = already + value if isinstance(already, str) else value
        self.set_variable(name, value)
        return Assignment(name, value)

    def set_variable(self, name: str, value: Value) -> None:
        """Set a variable; an element of an array also goes into the array's list."""
        name = self.state.references.get(name, name)
        self.state.variables[name] = bounded(value) if isinstance(value, str) else value
        array, bracket, subscript = name.partition("[")
        if bracket and isinstance(value, str):
            elements = self.state.variables.get(array, ())
            elements = (elements,) if isinstance(elements, str) else elements
            index = int(subscript[:-1]) if subscript[:-1].isdigit() else len(elements)
            if index <= len(elements):
                self.state.variables[array] = (*elements[:index], value, *elements[index + 1 :])

    # What the reader provides.

    def add(self, part: Part) -> Part:
        """Put a part on the list, with where it was found."""
        raise NotImplementedError

    def read_file(self, path: str, *, is_script: bool = True) -> str | None:
        """A file's text: as the line has written it, else as the world holds it."""
        raise NotImplementedError

    def _simple(self, node: Simple, stdin: str) -> str:
        raise NotImplementedError
