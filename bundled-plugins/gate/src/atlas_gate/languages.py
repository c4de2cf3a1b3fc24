"""Interpreters: where their source is, and what it does as parts of the line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from atlas_gate.deeds import Deed
from atlas_gate.lisp_code import lisp_deeds
from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, UNKNOWN, Part, Redirect, Word, is_constant, name_set, program_name
from atlas_gate.paths import SYSTEM_FOLDERS
from atlas_gate.python_code import python_deeds
from atlas_gate.reader import Handler, Reader
from atlas_gate.script_code import script_deeds

# Characters of code that are looked through: Python's own parser takes a second for a megabyte.
CODE_LIMIT: Final = 262_144
# A shell handed to the other end of a connection.
_CONNECTS = re.compile(r"\b(?:socket|TCPSocket|UDPSocket|fsockopen|sockaddr_in|IO::Socket)\b|net\.(?:connect|Socket)")
_HANDS_OVER = re.compile(r"pty\.spawn|\bdup2\b|/bin/(?:ba|z|da|k)?sh\b[^'\"]*(?:-i|<&|>&)|['\"]>&")


@dataclass(frozen=True, slots=True)
class Language:
    """How an interpreter takes its source on the command line."""

    name: str
    code_options: tuple[str, ...]
    with_value: tuple[str, ...]
    only_checks: tuple[str, ...] = ()


_PYTHON = Language("python", ("c",), ("c", "m", "W", "X"))
_NODE = Language(
    "javascript",
    ("e", "p", "eval", "print"),
    ("e", "p", "r", "eval", "print", "require", "import"),
    only_checks=("-c", "--check"),
)
_PERL = Language("perl", ("e", "E"), ("e", "E", "M", "I", "m"), only_checks=("-c", "-wc", "-cw"))
_RUBY = Language("perl", ("e",), ("e", "r", "I", "C"), only_checks=("-c", "-wc", "-cw"))
_PHP_CODE = ("r", "B", "R", "E", "run", "process-begin", "process-code", "process-end")
_PHP = Language("php", _PHP_CODE, (*_PHP_CODE, "d", "f"), only_checks=("-l",))
_LUA = Language("lua", ("e",), ("e", "l"))
_OTHER = Language(
    "other", ("e", "E", "c", "eval", "execute", "print"), ("e", "E", "c", "eval", "execute", "print", "l", "s")
)
_LISP = Language("lisp", ("c", "e", "eval", "E"), (*"cels", "eval", "load", "E"), only_checks=("--version", "--help"))
_ERLANG = Language("other", ("eval",), ("eval",))
_APPLESCRIPT = Language("applescript", ("e",), ("e", "l"))

_OTHER_NAMES = name_set(
    "r rscript julia jshell groovy scala elixir iex ghc runghc octave swift kotlin crystal nim raku"
)
_LISP_NAMES = name_set("guile sbcl ecl clisp clojure clj bb racket janet csi chez scheme fennel hy")

LANGUAGES: dict[str, Language] = {
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3", "ipython", "py"), _PYTHON),
    **{f"python3.{minor}": _PYTHON for minor in range(6, 20)},
    **dict.fromkeys(("node", "nodejs", "bun", "tsx", "ts-node"), _NODE),
    "deno": Language("javascript", ("eval",), ()),
    "perl": _PERL,
    **dict.fromkeys(("ruby", "irb", "pry", "jruby"), _RUBY),
    "php": _PHP,
    **dict.fromkeys(("lua", "luajit", "lua5.4", "lua5.3", "lua5.2", "lua5.1", "texlua"), _LUA),
    "osascript": _APPLESCRIPT,
    **dict.fromkeys(_OTHER_NAMES, _OTHER),
    **dict.fromkeys(_LISP_NAMES, _LISP),
    "erl": _ERLANG,
}


def run_language(reader: Reader, part: Part) -> str:
    """Find the source an interpreter is given, and list what it does."""
    language = LANGUAGES[part.name]
    words = part.arguments
    if language is _PYTHON:
        words = _python_words(words)
    if language is _NODE:
        # `-pe` is `-p` and `-e` of one text.
        words = tuple(Word("-e") if re.fullmatch(r"-[ipe]+[pe]", word.text) else word for word in words)
    if part.name == "deno":
        words = tuple(word for word in words if word.text not in ("run", "eval"))
    if language is _ERLANG:
        words = tuple(Word("-" + word.text) if word.text in ("-eval", "-run") else word for word in words)
    start = first_operand(words, with_value=language.with_value)
    options = read_options(words[:start], with_value=language.with_value)
    if any(word.text in language.only_checks for word in words[:start]):
        return OUTPUT
    sources = [value for name, value in (*options.values, *options.long) if name in language.code_options]
    if part.name == "deno" and "eval" in part.texts and words:
        sources = [words[-1].text]
    module = options.value("m") if language is _PYTHON else None
    if sources:
        source = "\n".join(sources)
        reader.unread(part, source, quiet_output=True, is_code=True)
        return run_code(reader, source, language.name, f"{part.name} -{language.code_options[0]}")
    if module is not None:
        return _run_module(reader, part, module, words[start:])
    if start < len(words) and words[start].text != "-":
        if language is _PYTHON and program_name(words[start].text) == "atlas":
            return reader.run_words(words[start:], part.name, stdin=part.input)
        if language is _PHP and program_name(words[start].text) in ("artisan", "console", "drush", "wp"):
            reader.add(Part(words[start:]))
        for path in reader.operand_paths(words[start]):
            text = part.input if path in ("/dev/stdin", "/dev/fd/0") else reader.read_file(path)
            if text is not None:
                reader.unread(part, text, quiet_output=True, is_code=True)
                run_code(reader, text, language.name, words[start].shown())
            else:
                reader.unread_script(part, path)
    elif part.input:
        reader.unread(part, part.input, is_code=True)
        run_code(reader, part.input, language.name, part.name)
    return OUTPUT


def _python_words(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """`-c` and `-m` end Python's options: what follows their value belongs to the program."""
    for index, word in enumerate(words):
        text = word.text
        if not text.startswith("-") or text.startswith("--") or text == "-":
            return words
        if text[-1:] in ("c", "m") or "c" in text[1:]:
            return (*words[: index + 2], Word("-"), *words[index + 2 :])
    return words


def _run_module(reader: Reader, part: Part, module: str, rest: tuple[Word, ...]) -> str:
    path = module.replace(".", "/")
    if module == "timeit":
        source = "\n".join(word.text for word in rest if not re.fullmatch(r"-\w*", word.text))
        return run_code(reader, source, "python", "python -m timeit")
    if module == "pdb":
        commands = [value for name, value in read_options(rest, with_value=("c",)).values if name == "c"]
        run_code(reader, "\n".join(command.lstrip("!") for command in commands), "python", "python -m pdb")
    for candidate in (f"{path}.py", f"{path}/__main__.py"):
        text = reader.read_file(reader.state.path(candidate))
        if text is not None:
            run_code(reader, text, "python", f"python -m {module}")
            return OUTPUT
    arguments = rest[1:] if rest[:1] and rest[0].text == "-" else rest
    return reader.run_words([Word(module), *arguments], "python -m", stdin=part.input)


def run_code(reader: Reader, source: str, language: str, origin: str) -> str:
    """List what a source does as parts: commands it runs, paths it deletes. Answers what it prints."""
    reader.note_script(source)
    if len(source) > CODE_LIMIT:
        source = source[:CODE_LIMIT] + UNKNOWN
        reader.faults.append("its code is longer than is read")
    home = reader.world.home
    environment = {"HOME": home, "USERPROFILE": home, "ATLAS_HOME": reader.world.atlas_home}
    deeds: list[Deed] | None
    if language == "python":
        deeds = python_deeds(source, environment)
    elif language == "lisp":
        deeds = list(lisp_deeds(source, home, reader.world.atlas_home, reader.deadline.step))
    else:
        deeds = script_deeds(source, language, environment, reader.deadline.step)
    if _CONNECTS.search(source) and _HANDS_OVER.search(source):
        reader.add(Part((Word("nc"), Word("-e"), Word("/bin/sh"))))
    if deeds is None:
        deeds = script_deeds(source, "perl", environment, reader.deadline.step)
    before = reader.origin
    reader.origin = (*before, origin)
    try:
        for deed in deeds:
            _run_deed(reader, deed, language, is_tainted=not is_constant(source))
    finally:
        reader.origin = before
    printed = [deed.texts[0] + "\n" for deed in deeds if deed.kind == "print"]
    return "".join(printed) or OUTPUT


def _run_deed(reader: Reader, deed: Deed, language: str, *, is_tainted: bool) -> None:
    texts = deed.texts
    if is_tainted and deed.kind == "shell":
        reader.unread(Part((Word(language),)), texts[0])
    match deed.kind:
        case "shell":
            reader.run_text(texts[0], language)
        case "words":
            reader.run_words([Word(text) for text in texts], language)
        case "delete":
            reader.add(Part((Word("rm"), Word("-r"), Word(texts[0]))))
        case "remove":
            reader.add(Part((Word("rm"), Word(texts[0]))))
        case "open":
            reader.add(Part((Word("cat"), Word(texts[0]))))
        case "write":
            reader.add(Part((), redirects=(Redirect("", ">", Word(texts[0])),)))
        case "code":
            reader.unread(Part((Word(language),)), texts[0], quiet_output=True, is_code=True)
            if is_constant(texts[0]):
                run_code(reader, texts[0], language, "exec")
        case "kill":
            reader.add(Part((Word("kill"), Word(f"-{texts[1]}"), Word(texts[0]))))
        case "delete-some":
            # Which of the files under it go is not known: as `find` with a test does, it counts where they matter.
            path = reader.state.path(texts[0])
            if path in SYSTEM_FOLDERS or (reader.world.home + "/").startswith(path.rstrip("/") + "/"):
                reader.add(Part((Word("rm"), Word("-r"), Word(f"{path.rstrip('/')}/{UNKNOWN}"))))
        case "import":
            reader.add(Part((Word(texts[0]), Word("imported"))))
        case "print":
            pass
        case "forever-fork":
            reader.add(Part((Word(language),), suspicion="fork-bomb"))


HANDLERS: dict[str, Handler] = dict.fromkeys(LANGUAGES, run_language)
