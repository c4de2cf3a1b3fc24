"""Programs with a language of their own that can leave to a shell: editors, debuggers, databases."""

from __future__ import annotations

import re

from atlas_gate.options import read_options
from atlas_gate.parts import OUTPUT, Part, Word, is_constant
from atlas_gate.reader import Handler, Reader


def run_bang(reader: Reader, part: Part) -> str:
    """Lines of standard input that leave to a shell by an exclamation mark."""
    texts = [part.input, *(value for value in [read_options(part.arguments, with_value=("e",)).value("e")] if value)]
    for text in texts:
        for line in text.splitlines():
            leaves = re.match(r"\s*~?!\s*(\S.*)", line)
            if leaves is not None and (part.name not in ("mail", "mailx") or line.lstrip().startswith("~")):
                reader.run_text(leaves[1], part.name)
    return OUTPUT


def _expect(reader: Reader, part: Part) -> str:
    texts = [*part.texts, part.input]
    for word in part.arguments:
        if not word.text.startswith("-") and " " not in word.text:
            texts.append(reader.read_file(reader.state.path(word)) or "")
    for text in texts:
        for match in re.finditer(r"(?:^|[;\n{])\s*(?:spawn|exec|system)\s+([^;\n}]+)", text):
            reader.run_text(match[1], part.name)
    return OUTPUT


def _editor(reader: Reader, part: Part) -> str:
    for at, text in enumerate(part.texts):
        value = text[1:] if text.startswith("+") else ""
        if text in ("-c", "--cmd", "--eval", "-eval", "-ex", "--ex", "--eval-command", "-s", "-S") and at + 1 < len(
            part.texts
        ):
            value = part.texts[at + 1]
        if value:
            _escape_to_shell(reader, value, part.name)
            script = reader.read_file(reader.state.path(value)) if text in ("-s", "-S", "-x") else None
            for line in (script or "").splitlines():
                _escape_to_shell(reader, line, part.name)
    if part.input:
        for line in part.input.splitlines():
            _escape_to_shell(reader, line, part.name)
    return OUTPUT


def _escape_to_shell(reader: Reader, text: str, name: str) -> None:
    """Commands like `:!rm` of vi, `shell rm` of gdb, `.shell rm` of sqlite and `\\! rm` of psql."""
    match = re.match(
        r"\s*(?::?\s*(?:silent!?\s+)?!|\\!|\.(?:shell|system)\s|(?:shell|system|make)\s)\s*(.+)", text, re.DOTALL
    )
    if match and is_constant(match[1]):
        reader.run_text(match[1], name)
    copied = re.search(r"\bcopy\b.*\bprogram\s+'((?:[^']|'')*)'", text, re.IGNORECASE | re.DOTALL)
    if copied:
        reader.run_text(copied[1].replace("''", "'"), name)
    process = re.search(r"\((?:call-process|start-process|process-file)\b([^()]*)\)", text)
    if process:
        reader.run_words([Word(one) for one in re.findall(r'"((?:\\.|[^"\\])*)"', process[1])], name)
    started = re.match(r"\s*:?(?:te|term|terminal)!?\s+(.+)", text, re.DOTALL)
    if started and name in ("vim", "nvim"):
        reader.run_text(started[1], name)
    called = re.search(r"(?:system\(|execute\(|popen\(|shell-command)\s*(['\"])(.*?)\1\s*\)", text)
    if called:
        reader.run_text(called[2], name)


def _database(reader: Reader, part: Part) -> str:
    for text in part.texts:
        for line in text.splitlines():
            _escape_to_shell(reader, line, part.name)
    for line in part.input.splitlines():
        _escape_to_shell(reader, line, part.name)
    options = read_options(part.arguments, with_value=("f", "file", "c", "d", "U", "h", "p"))
    script = options.value("f", "file")
    if script and part.name in ("psql",):
        content = reader.read_file(reader.state.path(script))
        if content is not None:
            reader.add(Part((Word(part.name), Word("-c"), Word(content))))
    return OUTPUT


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("expect", "tclsh", "wish"), _expect),
    **dict.fromkeys(("ftp", "lftp", "dc", "mail", "mailx"), run_bang),
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "ed", "gdb", "lldb", "emacs", "less", "more"), _editor),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3"), _database),
}
