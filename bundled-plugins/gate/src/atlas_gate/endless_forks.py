"""Recognises a source that starts processes without end: the fork bomb of a language."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator

from atlas_gate.parts import name_set

Dotted = Callable[[ast.AST], str]

FORKS = name_set("os.fork os.forkpty pty.fork")
_PROCESSES = name_set(
    "multiprocessing.Process multiprocessing.context.Process multiprocessing.process.BaseProcess multiprocess.Process"
)
# Called without end, whatever they are called with.
_ENDLESS = name_set("itertools.count itertools.cycle")
# A loop that waits for its children, or for somebody to serve, is a server's.
_WAITS = name_set("wait waitpid wait3 wait4 waitid accept join")
# Past this many, a loop that forks each time has filled any machine.
_MANY = 10_000

_FORK = r"(?<!\w)(?:pcntl_fork|fork|forkpty)\b"
_WAIT = re.compile(r"\b(?:pcntl_)?(?:waitpid|wait|wait2|accept|detach)\b")
_POSTFIX = re.compile(
    rf"{_FORK}(?: \( \))?(?: \{{ \}})? (?:while (?:\( )?(?:1|true|fork|! 0|! false)|until (?:\( )?(?:0|false|nil))\b"
)
_AGAIN = re.compile(rf"{_FORK}(?: \( \))?(?: ;)? (?:redo|goto)\b")
_TIMER = re.compile(rf"\bsetInterval \( [^;]{{0,120}}{_FORK} \(")
_HEADER = re.compile(
    r"(?<!\w)(?:while \(? ?(?:1|true|! 0|! false)(?: \))?|until \(? ?(?:0|false|nil)(?: \))?|for \( ; (?:1 |true )?; \)"
    r"|loop(?= \{| do)|1 \. step|\( 1 \. \. \) \. each)(?= |$)"
)
_BODY_CHARACTERS = 600


def forks_forever(tree: ast.Module, dotted: Dotted) -> bool:
    """Whether Python forks, or starts processes, in a loop or a call of itself that never ends."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    starting = {one.name for one in functions if _starts(one.body, dotted, frozenset())}
    names = frozenset(starting)
    for node in ast.walk(tree):
        match node:
            case ast.While(test=test, body=body) if _always(test, dotted):
                inner: list[ast.AST] = [test, *body]
            case ast.For(iter=values, body=body) if _endless(values, dotted):
                inner = list(body)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() if any(
                _endless(one.iter, dotted) for one in node.generators
            ):
                inner = [node.elt]
            case ast.FunctionDef(name=name) if not node.args.args and _calls_itself(node, dotted):
                inner = list(node.body)
                if _process_of(inner, name, dotted):
                    return True
            case _:
                continue
        if _starts(inner, dotted, names) and not _waits(inner, dotted):
            return True
    return False


def _calls(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    return (inner for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Call))


def _starts(nodes: Iterable[ast.AST], dotted: Dotted, functions: frozenset[str]) -> bool:
    makes = begins = False
    for call in _calls(nodes):
        name = dotted(call.func)
        if name in FORKS or name in functions:
            return True
        if name == "subprocess.Popen" and any(_is_itself(inner, dotted) for inner in ast.walk(call)):
            return True
        makes = makes or _is_process(call, dotted)
        begins = begins or (isinstance(call.func, ast.Attribute) and call.func.attr == "start")
    return makes and begins


def _is_process(call: ast.Call, dotted: Dotted) -> bool:
    return dotted(call.func) in _PROCESSES


def _is_itself(node: ast.AST, dotted: Dotted) -> bool:
    """The source's own file, as `__file__` or `sys.argv[0]`."""
    return (isinstance(node, ast.Name) and node.id == "__file__") or (
        isinstance(node, ast.Subscript) and dotted(node.value) == "sys.argv"
    )


def _waits(nodes: Iterable[ast.AST], dotted: Dotted) -> bool:
    for call in _calls(nodes):
        name = dotted(call.func)
        is_text = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant | ast.JoinedStr)
        tail = call.func.attr if isinstance(call.func, ast.Attribute) else name.rpartition(".")[2]
        if tail in _WAITS and not is_text and not name.endswith("path.join"):
            return True
    return False


def _calls_itself(function: ast.FunctionDef, dotted: Dotted) -> bool:
    return _process_of(function.body, function.name, dotted) or any(
        isinstance(call.func, ast.Name) and call.func.id == function.name and not call.args
        for call in _calls(function.body)
    )


def _process_of(nodes: Iterable[ast.AST], name: str, dotted: Dotted) -> bool:
    """Whether a process is made whose target is the function of this name, with nothing to end it by."""
    for call in _calls(nodes):
        if _is_process(call, dotted):
            keywords = {keyword.arg: keyword.value for keyword in call.keywords}
            target = keywords.get("target")
            if isinstance(target, ast.Name) and target.id == name and "args" not in keywords:
                return True
    return False


def _always(test: ast.AST, dotted: Dotted) -> bool:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_always(value, dotted) for value in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_always(value, dotted) for value in values)
        case ast.Compare(left=ast.Constant(value=left), ops=[ast.Eq()], comparators=[ast.Constant(value=right)]):
            return bool(left == right)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return bool(items)
        case ast.Call() if dotted(test.func) in FORKS:
            return True
        case _:
            return False


def _endless(values: ast.AST, dotted: Dotted) -> bool:
    if not isinstance(values, ast.Call):
        return False
    name = dotted(values.func)
    if name in _ENDLESS or (name == "itertools.repeat" and len(values.args) == 1):
        return True
    if name == "iter":
        return len(values.args) == 2
    if name == "range" and values.args:
        return _number(values.args[-1] if len(values.args) < 3 else values.args[1]) >= _MANY
    return False


def _number(node: ast.AST) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, power = _number(left), _number(right)
            return base**power if 0 <= power < 64 and base < _MANY else 0
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _number(left) * _number(right)
        case _:
            return 0


def tokens_fork_forever(tokens: Iterable[tuple[str, str]]) -> bool:
    """The same for the tokens of another language, with strings and comments left out."""
    text = " ".join(token for kind, token in tokens if kind in ("name", "mark", "number"))
    if "fork" not in text:
        return False
    if _POSTFIX.search(text) or _AGAIN.search(text) or _TIMER.search(text):
        return True
    for header in _HEADER.finditer(text):
        body = _loop_body(text[header.end() : header.end() + _BODY_CHARACTERS])
        if re.search(_FORK, body) and not _WAIT.search(body):
            return True
    return False


def _loop_body(text: str) -> str:
    """What a loop repeats: its braces, up to its `end`, or its one statement."""
    text = text.lstrip()
    if text.startswith("{"):
        depth = 0
        for at, character in enumerate(text):
            depth += (character == "{") - (character == "}")
            if not depth:
                return text[:at]
        return text
    if text.startswith(("do", ";")):
        return re.split(r"\bend\b", text)[0]
    return text.partition(";")[0]
