"""Looks through Python source for what it does to the machine, by its own parser.

Strings are data: only what a call runs, deletes or opens counts. Constants are folded as far as
assignments, joins, formatting and base64 go.
"""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from atlas_gate.atlas_program import is_atlas_package
from atlas_gate.endless_forks import FORKS, forks_forever
from atlas_gate.parts import FETCHED, UNKNOWN, name_set
from atlas_gate.syntax import TEXT_LIMIT

Kind = OneOf[
    "shell", "words", "delete", "delete-some", "remove", "open", "write", "code", "print", "forever-fork", "kill",
    "import",
]  # fmt: skip
# Loops over constant lists are followed this many times in all; nested ones multiply.
TURNS_LIMIT = 2_000
Value: TypeAlias = "str | list[Value] | None"


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing a source does: a shell text or words it runs, or a path it deletes, opens or writes."""

    kind: Kind
    texts: tuple[str, ...]


_SHELL_CALLS = name_set(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput "
    "asyncio.create_subprocess_shell anyio.run_process trio.run_process sh popen2.popen2"
)
_PROCESS_CALLS = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")
) | frozenset(("asyncio.create_subprocess_exec", "pty.spawn", "pexpect.spawn", "pexpect.run"))
_DELETING_CALLS = frozenset(("shutil.rmtree", "rmtree"))
_REMOVING_CALLS = frozenset(("os.remove", "os.unlink", "os.rmdir", "os.removedirs"))
_OPENING_CALLS = name_set(
    "open io.open os.open sqlite3.connect shutil.copy shutil.copyfile shutil.copytree shutil.move "
    "os.rename os.replace os.symlink os.listdir os.scandir glob.glob os.walk"
)
_WALKING_CALLS = name_set("os.walk os.fwalk os.listdir os.scandir walk listdir scandir")
# `for one in sorted(os.walk(x))` goes through as much.
_PASSES_ON = name_set("sorted list tuple reversed set iter enumerate map filter tqdm itertools.chain")
_BROAD_NAME = re.compile(r"(?:[*?.]|\[[^\]]{0,64}\])+")
_KNOWN_CALLS = FORKS | _SHELL_CALLS | _PROCESS_CALLS | _DELETING_CALLS | _REMOVING_CALLS | _OPENING_CALLS
_IMPORTING_CALLS = name_set(
    "__import__ builtins.__import__ importlib.import_module importlib.__import__ importlib.util.find_spec "
    "runpy.run_module pkgutil.resolve_name pydoc.locate"
)
_FETCHING_CALLS = name_set(
    "urllib.request.urlopen requests.get requests.request httpx.get urllib2.urlopen requests.post"
)
_PATH_METHODS = name_set(
    "read_text read_bytes write_text write_bytes open unlink rmdir rename replace touch mkdir iterdir glob"
)


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
        if forks_forever(tree, walker.dotted):
            walker.deeds.append(Deed("forever-fork", ()))
    except RecursionError:
        return None
    return walker.deeds


class _Walker(ast.NodeVisitor):
    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self.home = environment.get("HOME", "")
        self.deeds: list[Deed] = []
        self.turns = 0
        self.stars: list[str] = []
        self.walks: set[tuple[int, str]] = set()
        self.names: dict[str, str] = {}
        self.values: dict[str, Value] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._imported(alias.name)
            self.names[alias.asname or alias.name.split(".")[0]] = (
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
                self.stars.append(node.module)
            self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                dotted = self.dotted(node.value)
                if dotted and isinstance(node.value, ast.Attribute | ast.Name):
                    self.names[target.id] = dotted
                self.values[target.id] = self._value(node.value)

    def visit_For(self, node: ast.For) -> None:
        self._walked(node.iter, node.body)
        values = self._value(node.iter)
        if not (isinstance(node.target, ast.Name) and isinstance(values, list) and values):
            self.generic_visit(node)
            return
        self.visit(node.iter)
        for value in self._turns(values):
            self.values[node.target.id] = value
            for statement in node.body:
                self.visit(statement)
        for statement in node.orelse:
            self.visit(statement)

    def _walked(self, walked: ast.expr, body: Sequence[ast.AST], *, is_narrowed: bool = False) -> None:
        """A loop over what is in a folder that deletes what it comes to, deletes what is in the folder."""
        while isinstance(walked, ast.Call) and self.dotted(walked.func) in _PASSES_ON and walked.args:
            walked = walked.args[-1]
        found = self._folder_walked(walked)
        if found is None:
            return
        folder, name = found
        if (id(walked), folder) in self.walks:
            return  # a loop around it comes to the same again
        self.walks.add((id(walked), folder))
        removing = [one for statement in body for one in ast.walk(statement) if self._removes(one)]
        if not removing:
            return
        guarded = {
            id(one)
            for statement in body
            for node in ast.walk(statement)
            if isinstance(node, ast.If | ast.IfExp) and self._keeps_to_some(node.test)
            for one in ast.walk(node)
        }
        if name:
            self._add("remove", f"{folder.rstrip('/')}/{name}")
        elif is_narrowed or all(id(one) in guarded for one in removing):
            self._add("delete-some", folder)
        else:
            self._add("delete", folder)

    def _keeps_to_some(self, test: ast.expr) -> bool:
        return any(isinstance(one, ast.Compare | ast.Call) and not self._only_tells(one) for one in ast.walk(test))

    def _folder_walked(self, node: ast.AST) -> tuple[str, str] | None:
        """The folder a call goes through, and the names it keeps to, if any."""
        if not isinstance(node, ast.Call):
            return None
        name = self.dotted(node.func)
        if name in _WALKING_CALLS:
            folder = self._value(node.args[0]) if node.args else "."
            return (folder, "") if isinstance(folder, str) else None
        if name in ("glob.glob", "glob.iglob", "iglob") and node.args:
            pattern = self._value(node.args[0])
            return _split_pattern(pattern) if isinstance(pattern, str) else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("rglob", "glob", "iterdir", "walk"):
            folder = self._value(node.func.value)
            pattern = self._value(node.args[0]) if node.args else "*"
            if isinstance(folder, str) and isinstance(pattern, str):
                return _split_pattern(f"{folder.rstrip('/')}/{pattern}")
        return None

    def _removes(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call):
            return False
        name = self.dotted(node.func)
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr in ("unlink", "rmdir") and not node.args
        return name in _REMOVING_CALLS or name in _DELETING_CALLS or is_method or name == "os.truncate"

    def _only_tells(self, node: ast.AST) -> bool:
        """Whether a test tells a file from a folder, which keeps to nothing."""
        return isinstance(node, ast.Call) and self.dotted(node.func).rpartition(".")[2] in (
            "is_file", "isfile", "is_dir", "isdir", "exists", "islink", "is_symlink", "access", "join", "path"
        )  # fmt: skip

    def _turns(self, values: list[Value]) -> Iterator[Value]:
        """The values a loop takes, as long as all loops together stay below a limit; always the first."""
        for number, value in enumerate(values):
            self.turns += 1
            if number and self.turns > TURNS_LIMIT:
                return
            yield value

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node, node.elt, node.generators)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node, node.elt, node.generators)

    def _comprehension(self, node: ast.AST, element: ast.expr, generators: list[ast.comprehension]) -> None:
        first = generators[0]
        self._walked(first.iter, [element], is_narrowed=bool(first.ifs))
        values = self._value(first.iter)
        self.generic_visit(node)
        if isinstance(first.target, ast.Name) and isinstance(values, list):
            for value in self._turns(values):
                self.values[first.target.id] = value
                self.visit(element)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = self.dotted(node.func)
        arguments = [self._value(argument) for argument in node.args]
        keywords = {keyword.arg: self._value(keyword.value) for keyword in node.keywords if keyword.arg}
        first = arguments[0] if arguments else keywords.get("args", keywords.get("path"))
        if name in _SHELL_CALLS:
            self._add("shell", first)
        elif name in _PROCESS_CALLS:
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
        elif name in _DELETING_CALLS:
            self._add("delete", first)
        elif name in _REMOVING_CALLS:
            self._add("remove", first)
        elif name == "shutil.copytree":
            self._add("words", ["cp", "-r", *arguments[:2]])
        elif name == "shutil.make_archive" and arguments:
            root = arguments[2] if len(arguments) > 2 else keywords.get("root_dir", ".")
            self._add("words", ["tar", "-cf", arguments[0], root])
        elif name in _OPENING_CALLS:
            mode = arguments[1] if len(arguments) > 1 else keywords.get("mode")
            writes = name in ("open", "io.open") and isinstance(mode, str) and any(letter in mode for letter in "wax+")
            writes = writes or name.startswith(("shutil.", "os.re"))
            for argument in arguments[: 2 if name.startswith(("shutil", "os.")) else 1]:
                self._add("write" if writes else "open", argument)
        elif name in ("exec", "eval", "builtins.exec", "builtins.eval"):
            self._add("code", first)
        elif name in ("print", "sys.stdout.write"):
            self._add("print", " ".join(value if isinstance(value, str) else UNKNOWN for value in arguments))
        elif name == "map" and len(node.args) == 2 and self.dotted(node.args[0]) in _REMOVING_CALLS | _DELETING_CALLS:
            self._walked(node.args[1], [ast.Call(func=node.args[0], args=[], keywords=[])])
        elif name in _IMPORTING_CALLS:
            self._imported(first)
        elif name == "os.kill":
            self._add("kill", [_number(node.args[0] if node.args else None) or UNKNOWN, _signal(node, self.dotted)])
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _PATH_METHODS:
            path = self._value(node.func.value)
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

    def dotted(self, node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return self.names.get(node.id) or next(
                (f"{module}.{node.id}" for module in self.stars if f"{module}.{node.id}" in _KNOWN_CALLS), node.id
            )
        if isinstance(node, ast.Attribute):
            head = self.dotted(node.value)
            return f"{head}.{node.attr}" if head else ""
        if isinstance(node, ast.Call):
            name = self.dotted(node.func)
            if name in ("__import__", "importlib.import_module") and node.args:
                module = self._value(node.args[0])
                return module if isinstance(module, str) else ""
            if name == "getattr" and len(node.args) > 1:
                attribute = self._value(node.args[1])
                return f"{self.dotted(node.args[0])}.{attribute}"
        return ""

    def _value(self, node: ast.AST | None) -> Value:
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
                return self.values.get(name)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self._value(item) for item in items]
            case ast.JoinedStr(values=items):
                return "".join(self._text(item) for item in items)
            case ast.FormattedValue(value=inner):
                return self._text(inner)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                first, second = self._value(left), self._value(right)
                if isinstance(first, list) and isinstance(second, list):
                    return first + second
                return self._text(left) + self._text(right)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return f"{self._text(left).rstrip('/')}/{self._text(right)}"
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                return _formatted(self._text(left), self._value(right))
            case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int(count))) if 0 <= count < 100:
                text = self._text(left)
                return text * count if len(text) * count < TEXT_LIMIT else None
            case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=step)) if (
                _number(step) == "-1"
            ):
                return self._text(value)[::-1]
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))):
                return self.environment.get(key) if self.dotted(inner) == "os.environ" else None
            case ast.Attribute(value=inner, attr="text" | "content") if self._value(inner) == FETCHED:
                return FETCHED
            case ast.Attribute(value=inner, attr="parent"):
                return self._text(inner).rstrip("/").rpartition("/")[0] or "/"
            case ast.Call():
                return self._call_value(node)
            case _:
                return None

    def _comprehended(self, element: ast.expr, only: ast.comprehension) -> Value:
        values = self._value(only.iter)
        if not isinstance(only.target, ast.Name) or not isinstance(values, list | str):
            return None
        found: list[Value] = []
        for value in self._turns(list(values)):
            self.values[only.target.id] = value
            found.append(self._value(element))
        return found

    def _text(self, node: ast.AST) -> str:
        value = self._value(node)
        return value if isinstance(value, str) and len(value) < TEXT_LIMIT else UNKNOWN

    def _call_value(self, node: ast.Call) -> Value:
        name = self.dotted(node.func)
        arguments = [self._value(argument) for argument in node.args]
        first = arguments[0] if arguments else None
        tail = name.rsplit(".", 1)[-1]
        if name in _FETCHING_CALLS:
            return FETCHED
        if name.endswith("Path.home"):
            return self.home
        if tail in ("Path", "PosixPath", "PurePath", "join") and (name.endswith(("Path", "path.join"))):
            return "/".join(text if isinstance(text, str) else UNKNOWN for text in arguments).replace("//", "/")
        if tail in ("expanduser", "expandvars", "abspath", "realpath", "str", "quote", "fspath", "bytes") and first:
            return self._expanded(first) if isinstance(first, str) else first
        if name in ("os.environ.get", "os.getenv") and isinstance(first, str):
            return self.environment.get(first)
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
        for name, value in self.environment.items():
            text = text.replace(f"${name}", value).replace(f"${{{name}}}", value)
        return text.replace("~", self.home, 1)

    def _method_value(self, function: ast.Attribute, arguments: list[Value]) -> Value:
        owner = self._value(function.value)
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
                return owner.replace("~", self.home, 1) if function.attr == "expanduser" else owner.strip()
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


def _split_pattern(pattern: str) -> tuple[str, str]:
    """The folder in front of the stars, and the last name where it keeps to some files."""
    names = pattern.split("/")
    first = next((at for at, name in enumerate(names) if re.search(r"[*?\[]", name)), len(names) - 1)
    last = names[-1]
    return "/".join(names[:first]) or "/", "" if _BROAD_NAME.fullmatch(last) else last


_DECODERS: dict[str, Callable[[str], str]] = {
    "b64decode": lambda text: base64.b64decode(text).decode("utf-8", "replace"),
    "decodebytes": lambda text: base64.b64decode(text).decode("utf-8", "replace"),
    "b32decode": lambda text: base64.b32decode(text).decode("utf-8", "replace"),
    "unhexlify": lambda text: bytes.fromhex(text).decode("utf-8", "replace"),
    "fromhex": lambda text: bytes.fromhex(text).decode("utf-8", "replace"),
}


def _number(node: ast.AST | None) -> str | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else "-" + inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(node.value)
    return None


def _signal(node: ast.Call, dotted: Callable[[ast.AST], str]) -> str:
    """The signal of `os.kill`, as `kill` takes it; the hardest one where it is not known."""
    if len(node.args) < 2:
        return "9"
    name = dotted(node.args[1]).rpartition(".")[2]
    return _number(node.args[1]) or (name if re.fullmatch(r"SIG[A-Z0-9]+", name) else "9")


def _character(value: Value) -> str | None:
    if not isinstance(value, str) or not value.isdecimal() or len(value) > 7 or int(value) > 0x10FFFF:
        return None
    return chr(int(value))


def _formatted(pattern: str, value: Value) -> str:
    values = list(value) if isinstance(value, list) else [value]
    return re.sub(r"%[sd]", lambda _: str((values.pop(0) if values else None) or UNKNOWN), pattern)
