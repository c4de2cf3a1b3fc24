"""Programs with a language of their own that can leave to a shell: editors, debuggers, databases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from atlas_gate.languages import run_code
from atlas_gate.options import read_options
from atlas_gate.parts import OUTPUT, Part, Word, is_constant, name_set
from atlas_gate.reader import Handler, Reader

_EDITORS = name_set("vi vim nvim ex ed view vimdiff rvim rview gvim red vis kak vifm ranger emacs less more most")
_DEBUGGERS = frozenset(("gdb", "lldb", "rust-gdb", "rust-lldb", "cgdb"))
_DATABASES = name_set(
    "psql pgcli mysql mariadb mycli sqlite3 sqlite litecli duckdb sqlplus sqlcl usql cockroach clickhouse-client"
)
# A line of an editor: what it applies to, then `!command`, or `read !command` and `write !command`.
_EDITOR_LINE = re.compile(
    r"\s*+:?\s*+(?:sil(?:ent)?!?\s++)?[\d%.,$'<>+-]*(?:(?:r|read|w|write|e|f)\s++)?!\s*+(.+)"
    r"|\s*+:?\s*+(?:te|term|terminal|shell)!?\s++(.+)",
    re.DOTALL,
)
_DEBUGGER_LINE = re.compile(r"\s*+(?:!\s*+|(?:platform\s++)?shell\s++|make\s++)(.+)", re.DOTALL)
_DATABASE_LINE = re.compile(
    r"\s*+(?:\\!|!|\.(?:sh|she|shel|shell|sys|syst|syste|system)\s|(?:shell|system|host|\\o|\\w|\.output|\.once|\.import|pager)\s++\|?)"
    r"\s*+(.+)",
    re.DOTALL,
)
# `\o file` and `.output file` write a file: only behind a bar do they run something.
_WRITES_FILE = re.compile(r"\s*+(?:\\o|\\w|\.output|\.once|\.import)\s++[^|\s]")
_ANYWHERE = re.compile(
    r"(?i:\bcopy\b[^;]{0,2000}?\bprogram)\s++'(?P<program>(?:[^']|'')*)'"
    r"|(?:system\(|execute\(|popen\(|shell-command)\s*+(?P<q>['\"])(?P<called>.*?)(?P=q)\s*+\)"
    r"|\\g(?:x|set)?\s*+\|\s*+(?P<sent>.+)"
    r"|\bedit\([^()]*,\s*+'(?P<edited>[^']*)'\s*+\)",
    re.DOTALL,
)
_PROCESS = re.compile(r"\((?:call-process|start-process|process-file)\b([^()]*)\)")
_CODE_LINE = re.compile(
    r"\s*+:?\s*+(?P<language>py3?|python3?|pyx|script|lua|perl|rub(?:y)?)\s++(?P<code>(?!<<)\S.*)", re.DOTALL
)
_CODE_LANGUAGES = {"lua": "lua", "perl": "perl", "rub": "perl", "ruby": "perl"}
_TCL_LIST = re.compile(r"\{\*\}\[list\s++([^\[\]]*)\]")
_TCL_RUNS = re.compile(r"(?:^|[;\n{\[])\s*+(?:spawn|exec|system)\s++((?:\{[^{}]*\}|[^;\n{}\]])+)")

# Texts in which a mark leaves to a shell, wherever it stands among the words or the input. Each is bounded:
# a mark that never closes must not be looked for from every place to the end.
_MARKS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.DOTALL)
    for names, pattern in (
        ("m4", r"e?syscmd\(`?([^')]*)"),
        (
            "tex latex pdftex pdflatex xelatex lualatex luatex",
            r"\\write18\s*+\{([^{}]*)\}|\\input\s*+\{?\|\"?([^\"{}]*)",
        ),
        ("gs ghostscript", r"%pipe%([^)]{0,2000})\)"),
        ("rpm rpmbuild rpmspec", r"%\(([^)]{0,2000})\)"),
        ("gnuplot", r"system\(?\s*+[\"']([^\"']*)[\"']|(?:^|[\n;])\s*+!\s*+([^\n;]+)"),
        ("maxima bpftrace stap", r"system\(\s*+\"([^\"]*)\""),
        ("socat", r"(?i:exec|system|shell):[\"']?([^,\"']*)"),
        (
            "fzf sk",
            r"(?:execute(?:-silent|-multi)?|become|reload(?:-sync)?|transform[\w-]*|(?:change-)?preview)"
            r"(?:\(([^)]{0,2000})\)|\[([^\]]{0,2000})\]|\{([^}]{0,2000})\}|:(\S.*))",
        ),
        ("osascript", r"do\s++script\s++\"([^\"]*)\"|doShellScript\(\s*+[\"']([^\"']*)"),
        ("bind", r"\"\s*+:\s*+\"?([^\"]+)"),
    )
    for name in names.split()
}
MARKED = frozenset(_MARKS)


def with_marks(handler: Handler) -> Handler:
    """The handler, with the texts behind a mark read first."""

    def read_both(reader: Reader, part: Part) -> str:
        for text in (*part.texts, part.input):
            for match in _MARKS[part.name].finditer(text):
                for command in match.groups():
                    if command:
                        reader.run_text(command, part.name)
        return handler(reader, part)

    return read_both


def run_bang(reader: Reader, part: Part) -> str:
    """Lines of standard input that leave to a shell by an exclamation mark."""
    options = read_options(part.arguments, with_value=("e", "c"))
    texts = [part.input, *(value for name, value in options.values if name in ("e", "c"))]
    for text in texts:
        for line in text.splitlines():
            leaves = re.match(r"\s*+~?!\s*+(\S.*)", line)
            if leaves is not None and (part.name not in ("mail", "mailx") or line.lstrip().startswith("~")):
                reader.run_text(leaves[1], part.name)
    return OUTPUT


def _expect(reader: Reader, part: Part) -> str:
    texts = [*part.texts, part.input]
    for word in part.arguments:
        if not word.text.startswith("-") and " " not in word.text:
            texts.append(reader.read_file(reader.state.path(word)) or "")
    for text in texts:
        for match in _TCL_RUNS.finditer(_TCL_LIST.sub(r"\1", text)):
            reader.run_text(re.sub(r"\{([^{}]*)\}", r"'\1'", match[1]), part.name)
    return OUTPUT


def _editor(reader: Reader, part: Part) -> str:
    texts = part.texts
    if "--args" in texts and part.name in _DEBUGGERS:
        end = texts.index("--args")
        reader.run_words(part.arguments[end + 1 :], part.name)
        texts = texts[:end]
    for text in _commands(texts):
        _leave(reader, text, part.name)
    for before, text in pairwise(texts):
        script = reader.read_file(reader.state.path(text)) if before in ("-s", "-S", "-x", "--source") else None
        for line in (script or "").splitlines():
            _leave(reader, line, part.name)
    for line in part.input.splitlines():
        _leave(reader, line, part.name)
    return OUTPUT


def _emacs(reader: Reader, part: Part) -> str:
    """`--eval` is code, `-l` and `--script` name files of it; words for an editor come on standard input."""
    texts = part.texts
    for at, text in enumerate(texts):
        name, equals, value = text.lstrip("-").partition("=")
        value = value if equals else texts[at + 1] if at + 1 < len(texts) else ""
        if not text.startswith("-") or not name:
            continue
        if len(name) > 1 and ("eval".startswith(name) or "execute".startswith(name)):
            run_code(reader, value, "lisp", f"{part.name} --eval")
        elif name == "l" or (len(name) > 1 and name in ("load", "script")):
            source = reader.read_file(reader.state.path(value))
            if source is not None:
                run_code(reader, source, "lisp", value)
    return _editor(reader, part)


def _database(reader: Reader, part: Part) -> str:
    for text in (*_commands(part.texts), part.input):
        for line in text.splitlines():
            _leave(reader, line, part.name)
    options = read_options(part.arguments, with_value=("f", "file", "c", "d", "U", "h", "p"))
    script = options.value("f", "file")
    if script and part.name in ("psql",):
        content = reader.read_file(reader.state.path(script))
        if content is not None:
            reader.add(Part((Word(part.name), Word("-c"), Word(content))))
    return OUTPUT


def _commands(texts: list[str]) -> Iterator[str]:
    """The words that may be a command of the program: `+command`, the value of an option, any other word."""
    for text in texts:
        if text.startswith("--") and "=" in text:
            yield text.partition("=")[2]
        elif re.match(r"-\w+[\\.!]", text):
            yield re.sub(r"^-\w+", "", text)
        else:
            yield text.removeprefix("+")


def _leave(reader: Reader, text: str, name: str) -> None:
    """Commands like `:!rm` of vi, `shell rm` of gdb, `.shell rm` of sqlite and `\\! rm` of psql."""
    line = _EDITOR_LINE if name in _EDITORS else _DEBUGGER_LINE if name in _DEBUGGERS else _DATABASE_LINE
    match = line.match(text)
    if match is not None and not _WRITES_FILE.match(text):
        command = next(group for group in match.groups() if group)
        if is_constant(command):
            reader.run_text(command, name)
    for found in _ANYWHERE.finditer(text):
        command = next((found[group] for group in ("program", "called", "sent", "edited") if found[group]), "")
        reader.run_text(command.replace("''", "'"), name)
    process = _PROCESS.search(text)
    if process:
        reader.run_words([Word(one) for one in re.findall(r'"((?:\\.|[^"\\])*)"', process[1])], name)
    code = _CODE_LINE.fullmatch(text) if name in _EDITORS or name in _DEBUGGERS else None
    if code is not None:
        run_code(reader, code["code"], _CODE_LANGUAGES.get(code["language"], "python"), name)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("expect", "tclsh", "wish"), _expect),
    **dict.fromkeys(("ftp", "sftp", "lftp", "dc", "mail", "mailx"), run_bang),
    **dict.fromkeys((*_EDITORS, *_DEBUGGERS), _editor),
    **dict.fromkeys(("emacs", "emacsclient"), _emacs),
    **dict.fromkeys(_DATABASES, _database),
}
