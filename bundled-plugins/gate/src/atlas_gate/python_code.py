"""Looks through Python source for what it does to the machine, by its own parser.

Strings are data: only what a call runs, deletes or opens counts.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence

from atlas_gate.atlas_program import is_atlas_package
from atlas_gate.deeds import Deed, Kind
from atlas_gate.endless_forks import forks_forever
from atlas_gate.parts import UNKNOWN
from atlas_gate.python_calls import (
    DELETING_CALLS,
    IMPORTING_CALLS,
    OPENING_CALLS,
    PATH_METHODS,
    PROCESS_CALLS,
    REMOVING_CALLS,
    SHELL_CALLS,
)
from atlas_gate.python_values import Value, Values, number_in
from atlas_gate.python_walks import Walks


def python_deeds(source: str, environment: Mapping[str, str]) -> list[Deed] | None:
    """What the source does, in its order; None when it is no Python this parser knows."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    walker = _Walker(environment)
    try:
        walker.visit(tree)
        if forks_forever(tree, walker.values.dotted):
            walker.deeds.append(Deed("forever-fork", ()))
    except RecursionError:
        return None
    return walker.deeds


class _Walker(ast.NodeVisitor):
    def __init__(self, environment: Mapping[str, str]) -> None:
        self.deeds: list[Deed] = []
        self.values = Values(environment)
        self.walks = Walks(self.values)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported(alias.name)
            self.values.names[alias.asname or alias.name.split(".")[0]] = (
                alias.name if alias.asname else alias.name.split(".")[0]
            )

    def _imported(self, module: Value) -> None:
        if isinstance(module, str) and is_atlas_package(module):
            self.deeds.append(Deed("import", (module,)))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not node.level:
            self._imported(node.module)
        for alias in node.names:
            if alias.name == "*" and node.module:
                self.values.stars.append(node.module)
            self.values.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                dotted = self.values.dotted(node.value)
                if dotted and isinstance(node.value, ast.Attribute | ast.Name):
                    self.values.names[target.id] = dotted
                self.values.known[target.id] = self.values.value(node.value)

    def visit_For(self, node: ast.For) -> None:
        self._walked(node.iter, node.body)
        values = self.values.value(node.iter)
        if not (isinstance(node.target, ast.Name) and isinstance(values, list) and values):
            self.generic_visit(node)
            return
        self.visit(node.iter)
        for value in self.values.turns_of(values):
            self.values.known[node.target.id] = value
            for statement in node.body:
                self.visit(statement)
        for statement in node.orelse:
            self.visit(statement)

    def _walked(self, walked: ast.expr, body: Sequence[ast.AST], *, is_narrowed: bool = False) -> None:
        if deed := self.walks.deed(walked, body, is_narrowed=is_narrowed):
            self.deeds.append(deed)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node, node.elt, node.generators)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node, node.elt, node.generators)

    def _comprehension(self, node: ast.AST, element: ast.expr, generators: list[ast.comprehension]) -> None:
        first = generators[0]
        self._walked(first.iter, [element], is_narrowed=bool(first.ifs))
        values = self.values.value(first.iter)
        self.generic_visit(node)
        if isinstance(first.target, ast.Name) and isinstance(values, list):
            for value in self.values.turns_of(values):
                self.values.known[first.target.id] = value
                self.visit(element)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = self.values.dotted(node.func)
        arguments = [self.values.value(argument) for argument in node.args]
        keywords = {keyword.arg: self.values.value(keyword.value) for keyword in node.keywords if keyword.arg}
        first = arguments[0] if arguments else keywords.get("args", keywords.get("path"))
        if name in SHELL_CALLS:
            self._add("shell", first)
        elif name in PROCESS_CALLS:
            shell = any(
                keyword.arg == "shell" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
                for keyword in node.keywords
            )
            if isinstance(first, list):
                if shell and first:
                    self._add("shell", first[0])
                else:
                    self._add("words", first)
            elif name.startswith("asyncio"):
                self._add("words", arguments)
            else:
                self._add("shell", first)
        elif name.startswith(("os.exec", "os.spawn")) or name == "os.posix_spawn":
            words = arguments[1:] if name.startswith("os.exec") else arguments[2:]
            flat = words[0] if words and isinstance(words[0], list) else words
            self._add("words", flat)
        elif name in DELETING_CALLS:
            self._add("delete", first)
        elif name in REMOVING_CALLS:
            self._add("remove", first)
        elif name == "shutil.copytree":
            self._add("words", ["cp", "-r", *arguments[:2]])
        elif name == "shutil.make_archive" and arguments:
            root = arguments[2] if len(arguments) > 2 else keywords.get("root_dir", ".")
            self._add("words", ["tar", "-cf", arguments[0], root])
        elif name in OPENING_CALLS:
            mode = arguments[1] if len(arguments) > 1 else keywords.get("mode")
            writes = name in ("open", "io.open") and isinstance(mode, str) and any(letter in mode for letter in "wax+")
            writes = writes or name.startswith(("shutil.", "os.re"))
            for argument in arguments[: 2 if name.startswith(("shutil", "os.")) else 1]:
                self._add("write" if writes else "open", argument)
        elif name in ("exec", "eval", "builtins.exec", "builtins.eval"):
            self._add("code", first)
        elif name in ("print", "sys.stdout.write"):
            self._add("print", " ".join(value if isinstance(value, str) else UNKNOWN for value in arguments))
        elif (
            name == "map"
            and len(node.args) == 2
            and self.values.dotted(node.args[0]) in REMOVING_CALLS | DELETING_CALLS
        ):
            self._walked(node.args[1], [ast.Call(func=node.args[0], args=[], keywords=[])])
        elif name in IMPORTING_CALLS:
            self._imported(first)
        elif name == "os.kill":
            self._add(
                "kill", [number_in(node.args[0] if node.args else None) or UNKNOWN, _signal(node, self.values.dotted)]
            )
        elif isinstance(node.func, ast.Attribute) and node.func.attr in PATH_METHODS:
            path = self.values.value(node.func.value)
            if isinstance(path, str) and ("/" in path or "~" in path):
                kind: Kind = "write" if node.func.attr in ("write_text", "write_bytes", "rename", "touch") else "open"
                kind = "remove" if node.func.attr in ("unlink", "rmdir") else kind
                self._add(kind, path)

    def _add(self, kind: Kind, value: Value) -> None:
        if isinstance(value, list):
            texts = tuple(text if isinstance(text, str) else UNKNOWN for text in value)
        else:
            texts = (value if isinstance(value, str) else UNKNOWN,)
        self.deeds.append(Deed(kind, texts))


def _signal(node: ast.Call, dotted: Callable[[ast.AST], str]) -> str:
    """The signal of `os.kill`, as `kill` takes it; the hardest one where it is not known."""
    if len(node.args) < 2:
        return "9"
    name = dotted(node.args[1]).rpartition(".")[2]
    return number_in(node.args[1]) or (name if re.fullmatch(r"SIG[A-Z0-9]+", name) else "9")
