"""Shells, and the builtins of the shell: what runs text, and what changes the shell's own state."""

from __future__ import annotations

import re
from dataclasses import replace

from atlas_gate.code_variables import CODE_VARIABLES, read_code_variable
from atlas_gate.command_variables import COMMAND_VARIABLES, run_command_variables
from atlas_gate.filters import passed_on
from atlas_gate.launchers import names_dangerous
from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, UNKNOWN, Part, Word, is_constant, name_set
from atlas_gate.reader import Handler, Reader

SHELLS = (
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "ksh93",
    "mksh",
    "ash",
    "fish",
    "rbash",
    "yash",
    "csh",
    "tcsh",
    "osh",
    "ysh",
    "oksh",
    "elvish",
    "nu",
    "xonsh",
)

# Programs whose words are names or texts, not commands.
_SPEAKS_OF = name_set(
    "grep egrep fgrep zgrep ag ack man whatis apropos help info tldr whereis locate cowsay figlet say logger wall mail "
    "notify-send zenity brew apt apt-get apt-cache dpkg dnf yum pacman snap touch mkdir test [ ps pgrep ls tree stat "
    "file compgen complete hash unalias unset kill wc diff pip pip3 gem asdf code composer nuget choco scoop winget "
    "port pkg emerge zypper apk opam luarocks cpan helm terraform tofu"
)
# What a shell runs when it shows a prompt.
_PROMPT_RUNS = re.compile(r"\$\(([^()]+)\)|`([^`]+)`")
_START_FILES = frozenset(("BASH_ENV", "ENV"))
_START_OPTIONS = ("rcfile", "init-file")
_VALUE_OPTIONS = ("o", "O", "rcfile", "init-file")


def run_assignments(reader: Reader, part: Part) -> None:
    """Read what a program would run out of the variables set in front of it."""
    run_command_variables(reader, part)
    for assignment in part.assignments:
        if assignment.name in _START_FILES and assignment.value:
            _run_start_file(reader, part, assignment.value, assignment.name)
        elif assignment.name.startswith("PS") and assignment.value and part.name in SHELLS:
            for inside in _PROMPT_RUNS.finditer(assignment.value):
                reader.run_text(inside[1] or inside[2], assignment.name)


def _run_start_file(reader: Reader, part: Part, path: str, origin: str) -> None:
    text = reader.read_file(reader.state.path(path))
    if text is not None:
        reader.unread(part, text)
        reader.run_text(text, origin)


def run_shell(reader: Reader, part: Part) -> str:
    """`bash -c text`, `bash script` or text on standard input."""
    words = part.arguments
    start_file = reader.state.variables.get("BASH_ENV")
    if isinstance(start_file, str) and start_file and "BASH_ENV" not in {one.name for one in part.assignments}:
        _run_start_file(reader, part, start_file, "BASH_ENV")
    has_command = only_reads = False
    index = 0
    while index < len(words):
        text = words[index].text
        if text == "--" or text == "-":
            index += 1
            break
        if not text.startswith(("-", "+")):
            break
        index += 1
        if text.startswith("--"):
            name, equals, value = text[2:].partition("=")
            following = words[index].text if index < len(words) else ""
            if name == "command":
                return reader.run_text(value if equals else following, f"{part.name} --command", stdin=part.input)
            if name in _START_OPTIONS:
                _run_start_file(reader, part, value if equals else following, name)
            index += name in _VALUE_OPTIONS and not equals
            continue
        has_command = has_command or "c" in text
        only_reads = only_reads or ("n" in text and text.startswith("-"))
        index += sum(letter in "oO" for letter in text[1:])
    if only_reads:
        return ""
    operands = words[index:]
    if has_command:
        if not operands:
            return OUTPUT
        positional = tuple(word.text for word in operands[2:])
        name = operands[1].text if len(operands) > 1 else part.name
        reader.unread(part, operands[0].text)
        return reader.run_text(operands[0].text, f"{part.name} -c", positional=positional, name=name, stdin=part.input)
    if operands and not any(re.fullmatch(r"-\w*s\w*", word.text) for word in words[:index]):
        return run_script(reader, part, operands[0], operands[1:])
    reader.unread(part, part.input)
    if not part.input:
        return OUTPUT
    return reader.run_text(part.input, part.name, positional=tuple(word.text for word in operands))


def run_script(
    reader: Reader, part: Part, script: Word, arguments: tuple[Word, ...], *, same_shell: bool = False
) -> str:
    """Read the file a command runs as a shell script."""
    if script.text in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
        text: str | None = part.input
        paths = [script.text]
    else:
        paths = reader.operand_paths(script)
        text = None
    output = OUTPUT
    for path in paths:
        text = text if text is not None and path == script.text else reader.read_file(path)
        if text is None:
            reader.unread_script(part, path)
        if text is None or "\0" in text[:1024]:
            continue
        reader.unread(part, text, quiet_output=same_shell)
        output = reader.run_text(
            text,
            script.shown(),
            positional=tuple(word.text for word in arguments),
            name=script.text,
            stdin=part.input,
            same_shell=same_shell,
        )
    return output


def _eval(reader: Reader, part: Part) -> str:
    text = " ".join(text for text in part.texts if text != "--")
    reader.unread(part, text, quiet_output=True)
    return reader.run_text(text, "eval", stdin=part.input, same_shell=True)


def _source(reader: Reader, part: Part) -> str:
    words = part.arguments[1:] if part.texts[:1] == ["--"] else part.arguments
    if not words:
        return OUTPUT
    return run_script(reader, part, words[0], words[1:], same_shell=True)


def _cd(reader: Reader, part: Part) -> str:
    if part.name == "popd":
        reader.state.folder = None
        return ""
    operands = [word for word in part.arguments if not re.fullmatch(r"-[LPe@n]*|--", word.text) or word.text == "-"]
    if not operands:
        home = reader.state.lookup("HOME")
        reader.state.folder = home if isinstance(home, str) else None
        return ""
    path = reader.state.path(operands[0])
    known = is_constant(path) and operands[0].text != "-" and not operands[0].is_pattern
    reader.state.folder = path if known else None
    return ""


def _declare(reader: Reader, part: Part) -> str:
    is_reference = part.name in ("declare", "typeset", "local") and any(
        text.startswith("-") and "n" in text for text in part.texts
    )
    for text in part.texts:
        name, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*\+?", name):
            continue
        if is_reference:
            reader.state.references[name] = value
            reader.state.variables.pop(name, None)
            continue
        if not isinstance(reader.state.variables.get(name), tuple):
            reader.set_variable(name, value)
        if name in COMMAND_VARIABLES and value:
            reader.run_text(value, name)
        elif name in CODE_VARIABLES and part.name != "local":
            read_code_variable(reader, part, name, value)
    return ""


def _read(reader: Reader, part: Part) -> str:
    fills_array = part.name in ("mapfile", "readarray")
    with_value = ("d", "n", "O", "s", "u", "C", "c") if fills_array else ("d", "n", "N", "p", "t", "u", "i", "a")
    options = read_options(part.arguments, with_value=with_value)
    source = part.input or reader.input
    line, newline, rest = source.partition("\n")
    if reader.input and source == reader.input:
        reader.input = rest if newline else ""
    if fills_array:
        name = options.operands[0].text if options.operands else "MAPFILE"
        reader.set_variable(name, tuple(source.replace(OUTPUT, UNKNOWN).splitlines()) or (UNKNOWN,))
        return ""
    array = options.value("a")
    if array is not None:
        reader.set_variable(array, tuple(reader.split(line)) or (UNKNOWN,))
        return ""
    names = [word.text for word in options.operands] or ["REPLY"]
    if not source:
        for name in names:
            reader.set_variable(name, UNKNOWN)
        return ""
    # A line of a file is no program's own answer: whoever runs it runs what is not known.
    line = line.replace(OUTPUT, UNKNOWN)
    chunks = reader.split(line) if len(names) > 1 else [line.strip()]
    for number, name in enumerate(names):
        last = number == len(names) - 1
        reader.set_variable(name, " ".join(chunks[number:]) if last else "".join(chunks[number : number + 1]))
    return ""


def _set(reader: Reader, part: Part) -> str:
    texts = part.texts
    if "--" in texts:
        reader.state.positional = tuple(texts[texts.index("--") + 1 :])
    elif texts and not texts[0].startswith(("-", "+")):
        reader.state.positional = tuple(texts)
    return ""


def _shift(reader: Reader, part: Part) -> str:
    count = int(part.texts[0]) if part.texts and part.texts[0].isdigit() else 1
    reader.state.positional = reader.state.positional[count:]
    return ""


def _unset(reader: Reader, part: Part) -> str:
    for text in part.texts:
        if text in reader.state.variables and text not in ("HOME", "ATLAS_HOME"):
            reader.state.variables[text] = " \t\n" if text == "IFS" else ""
        reader.state.functions.pop(text, None)
    return ""


def _alias(reader: Reader, part: Part) -> str:
    for text in part.texts:
        name, equals, value = text.partition("=")
        if equals:
            reader.state.aliases[name] = value
    return ""


def _trap(reader: Reader, part: Part) -> str:
    words = [text for text in part.texts if text != "--"]
    if len(words) > 1 and words[0] not in ("", "-", "-l", "-p"):
        reader.run_text(words[0], "trap", same_shell=False)
    return ""


def _command(reader: Reader, part: Part) -> str:
    index = first_operand(part.arguments)
    flags = "".join(word.text for word in part.arguments[:index])
    if "v" in flags or "V" in flags:
        return f"/usr/bin/{part.arguments[index].text}\n" if index < len(part.arguments) else OUTPUT
    return reader.run_words(part.arguments[index:], part.name, stdin=part.input)


def _exec(reader: Reader, part: Part) -> str:
    index = first_operand(part.arguments, with_value=("a",))
    if index >= len(part.arguments):
        return ""
    return reader.run_words(part.arguments[index:], "exec", stdin=part.input)


def _shopt(reader: Reader, part: Part) -> str:
    return ""


def _suspect_words(reader: Reader, part: Part) -> None:
    """An unknown program may be a wrapper: what its words would run is suspected, never taken as run."""
    if part.name in _SPEAKS_OF or reader.is_suspecting:
        return
    for number, word in enumerate(part.arguments):
        if names_dangerous(word):
            reader.suspect(part.arguments[number:], part.name)
            return


def run_program(reader: Reader, part: Part) -> str:
    """A script run by its path: the first line says what reads it."""
    text = part.words[0].text
    _suspect_words(reader, part)
    if "/" not in text or text.startswith(("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/")):
        return passed_on(part.input)
    path = reader.operand_paths(part.words[0])[0]
    content = reader.read_file(path, is_script=False)
    if content is None or "\0" in content[:1024] or content.startswith("\x7fELF"):
        return OUTPUT
    content = reader.read_file(path) or ""
    first = content.partition("\n")[0]
    if first.startswith("#!"):
        interpreter = [Word(word) for word in first[2:].split()]
        if interpreter and interpreter[0].text.endswith("/env"):
            interpreter = [word for word in interpreter[1:] if not word.text.startswith("-")]
        if interpreter and not interpreter[0].text.endswith(SHELLS):
            return reader.run_words([*interpreter, *part.words], "#!", stdin=part.input)
    elif (extension := path.rsplit(".", 1)[-1]) in ("py", "js", "rb", "pl"):
        program = {"py": "python3", "js": "node", "rb": "ruby", "pl": "perl"}[extension]
        return reader.run_words([Word(program), *part.words], "script", stdin=part.input)
    return run_script(reader, replace(part, redirects=()), part.words[0], part.arguments)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(SHELLS, run_shell),
    "eval": _eval,
    "source": _source,
    ".": _source,
    **dict.fromkeys(("cd", "pushd", "popd", "chdir"), _cd),
    **dict.fromkeys(("declare", "typeset", "local", "export", "readonly"), _declare),
    **dict.fromkeys(("read", "mapfile", "readarray"), _read),
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "alias": _alias,
    "trap": _trap,
    "command": _command,
    "builtin": _command,
    "exec": _exec,
    "shopt": _shopt,
}
