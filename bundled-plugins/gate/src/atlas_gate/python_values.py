"""What expressions of Python come to, as far as assignments, joins, formatting and base64 go."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from atlas_gate.parts import FETCHED, UNKNOWN
from atlas_gate.python_calls import FETCHING_CALLS, KNOWN_CALLS
from atlas_gate.syntax import TEXT_LIMIT

# Loops over constant lists are followed this many times in all; nested ones multiply.
TURNS_LIMIT = 2_000
Value: TypeAlias = "str | list[Value] | None"


class Values:
    """The names of a source and what is known of their values, kept up by who walks through it.

    ``names`` are the dotted names that names stand for, ``stars`` the modules all of whose names were imported.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._home = environment.get("HOME", "")
        self._turns = 0
        self.stars: list[str] = []
        self.names: dict[str, str] = {}
        self.known: dict[str, Value] = {}

    def dotted(self, node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return self.names.get(node.id) or next(
                (f"{module}.{node.id}" for module in self.stars if f"{module}.{node.id}" in KNOWN_CALLS), node.id
            )
        if isinstance(node, ast.Attribute):
            head = self.dotted(node.value)
            return f"{head}.{node.attr}" if head else ""
        if isinstance(node, ast.Call):
            name = self.dotted(node.func)
            if name in ("__import__", "importlib.import_module") and node.args:
                module = self.value(node.args[0])
                return module if isinstance(module, str) else ""
            if name == "getattr" and len(node.args) > 1:
                attribute = self.value(node.args[1])
                return f"{self.dotted(node.args[0])}.{attribute}"
        return ""

    def value(self, node: ast.AST | None) -> Value:
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Constant(value=int(number)):
                return str(number)
            case ast.ListComp(elt=element, generators=[only]) | ast.GeneratorExp(elt=element, generators=[only]):
                return self._comprehended(element, only)
            case ast.Constant(value=bytes(content)):
                return content.decode("utf-8", "replace")
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.value(item) for item in items]
            case ast.JoinedStr(values=items):
                return "".join(self.text(item) for item in items)
            case ast.FormattedValue(value=inner):
                return self.text(inner)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                first, second = self.value(left), self.value(right)
                if isinstance(first, list) and isinstance(second, list):
                    return first + second
                return self.text(left) + self.text(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return f"{self.text(left).rstrip('/')}/{self.text(right)}"
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return _formatted(self.text(left), self.value(right))
            case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int(count))) if 0 <= count < 100:
                text = self.text(left)
                return text * count if len(text) * count < TEXT_LIMIT else None
            case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=step)) if (
                number_in(step) == "-1"
            ):
                return self.text(value)[::-1]
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))):
                return self._environment.get(key) if self.dotted(inner) == "os.environ" else None
            case ast.Attribute(value=inner, attr="text" | "content") if self.value(inner) == FETCHED:
                return FETCHED
            case ast.Attribute(value=inner, attr="parent"):
                return self.text(inner).rstrip("/").rpartition("/")[0] or "/"
            case ast.Call():
                return self._call_value(node)
            case _:
                return None

    def _comprehended(self, element: ast.expr, only: ast.comprehension) -> Value:
        values = self.value(only.iter)
        if not isinstance(only.target, ast.Name) or not isinstance(values, list | str):
            return None
        found: list[Value] = []
        for value in self.turns_of(list(values)):
            self.known[only.target.id] = value
            found.append(self.value(element))
        return found

    def text(self, node: ast.AST) -> str:
        value = self.value(node)
        return value if isinstance(value, str) and len(value) < TEXT_LIMIT else UNKNOWN

    def _call_value(self, node: ast.Call) -> Value:
        name = self.dotted(node.func)
        arguments = [self.value(argument) for argument in node.args]
        first = arguments[0] if arguments else None
        tail = name.rsplit(".", 1)[-1]
        if name in FETCHING_CALLS:
            return FETCHED
        if name.endswith("Path.home"):
            return self._home
        if tail in ("Path", "PosixPath", "PurePath", "join") and (name.endswith(("Path", "path.join"))):
            return "/".join(text if isinstance(text, str) else UNKNOWN for text in arguments).replace("//", "/")
        if tail in ("expanduser", "expandvars", "abspath", "realpath", "str", "quote", "fspath", "bytes") and first:
            return self._expanded(first) if isinstance(first, str) else first
        if name in ("os.environ.get", "os.getenv") and isinstance(first, str):
            return self._environment.get(first)
        if name == "shlex.split" and isinstance(first, str):
            return list(first.split())
        if isinstance(first, str) and (decoder := _DECODERS.get(tail)):
            try:
                return decoder(first)
            except (ValueError, binascii.Error):
                return None
        if tail == "chr":
            return _character(first)
        if tail == "map" and len(arguments) == 2 and isinstance(arguments[1], list):
            return [_character(value) for value in arguments[1]] if self.dotted(node.args[0]) == "chr" else None
        if name == "codecs.decode" and isinstance(first, str) and arguments[1:] in (["rot13"], ["rot_13"]):
            return codecs.encode(first, "rot13")
        if isinstance(node.func, ast.Attribute):
            return self._method_value(node.func, arguments)
        return None

    def _expanded(self, text: str) -> str:
        for name, value in self._environment.items():
            text = text.replace(f"${name}", value).replace(f"${{{name}}}", value)
        return text.replace("~", self._home, 1)

    def _method_value(self, function: ast.Attribute, arguments: list[Value]) -> Value:
        owner = self.value(function.value)
        first = arguments[0] if arguments else None
        if isinstance(first, list) and function.attr == "join" and isinstance(owner, str):
            texts = [text if isinstance(text, str) else UNKNOWN for text in first]
            grows = len(owner) * len(texts) + sum(map(len, texts))
            return owner.join(texts) if grows < TEXT_LIMIT else None
        if not isinstance(owner, str):
            return None
        if owner == FETCHED and function.attr in ("read", "getvalue", "decode"):
            return FETCHED
        match function.attr:
            case "decode" | "encode" | "strip" | "expanduser" | "resolve" | "absolute" | "as_posix" | "rstrip":
                return owner.replace("~", self._home, 1) if function.attr == "expanduser" else owner.strip()
            case "lower" | "upper":
                return owner.lower() if function.attr == "lower" else owner.upper()
            case "split":
                return list(owner.split(first if isinstance(first, str) else None))
            case "replace" if len(arguments) == 2 and isinstance(first, str) and isinstance(arguments[1], str):
                grows = owner.count(first) * len(arguments[1])
                return owner.replace(first, arguments[1]) if grows < TEXT_LIMIT else None
            case "format":
                return re.sub(r"\{\w*\}", lambda _: str(arguments.pop(0) or UNKNOWN) if arguments else UNKNOWN, owner)
            case "joinpath":
                return "/".join([owner, *(text if isinstance(text, str) else UNKNOWN for text in arguments)])
            case _:
                return None

    def turns_of(self, values: list[Value]) -> Iterator[Value]:
        """The values a loop takes, as long as all loops together stay below a limit; always the first."""
        for number, value in enumerate(values):
            self._turns += 1
            if number and self._turns > TURNS_LIMIT:
                return
            yield value


_DECODERS: dict[str, Callable[[str], str]] = {
    "b64decode": lambda text: base64.b64decode(text).decode("utf-8", "replace"),
    "decodebytes": lambda text: base64.b64decode(text).decode("utf-8", "replace"),
    "b32decode": lambda text: base64.b32decode(text).decode("utf-8", "replace"),
    "unhexlify": lambda text: bytes.fromhex(text).decode("utf-8", "replace"),
    "fromhex": lambda text: bytes.fromhex(text).decode("utf-8", "replace"),
}


def number_in(node: ast.AST | None) -> str | None:
    """The whole number that stands there, as text."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_in(node.operand)
        return None if inner is None else "-" + inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(node.value)
    return None


def _character(value: Value) -> str | None:
    if not isinstance(value, str) or not value.isdecimal() or len(value) > 7 or int(value) > 0x10FFFF:
        return None
    return chr(int(value))


def _formatted(pattern: str, value: Value) -> str:
    values = list(value) if isinstance(value, list) else [value]
    return re.sub(r"%[sd]", lambda _: str((values.pop(0) if values else None) or UNKNOWN), pattern)
