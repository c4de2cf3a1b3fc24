"""Programs that make another name for a file: copies, links, and what `ls` prints of them."""

from __future__ import annotations

import re

from atlas_gate.options import read_options
from atlas_gate.parts import OUTPUT, Part, Word, is_constant
from atlas_gate.reader import Handler, Reader

_PROGRAM_PATH = re.compile(r"/(?:usr/)?(?:local/)?s?bin/[^/]+")


def _list(reader: Reader, part: Part) -> str:
    """`ls -d` prints the names it is given; what is in a folder is not known."""
    options = read_options(part.arguments, with_value=("I", "w"))
    programs = bool(options.operands) and all(_PROGRAM_PATH.fullmatch(word.text) for word in options.operands)
    patterns = bool(options.operands) and all(word.is_pattern for word in options.operands)
    if (options.has("d", "directory") and options.operands) or programs or (patterns and not options.has("lR")):
        return "".join(word.expanded() + "\n" for word in options.operands)
    return OUTPUT


def _link(reader: Reader, part: Part) -> str:
    operands = read_options(part.arguments, with_value=("t", "S")).operands
    if operands:
        target = operands[1] if len(operands) > 1 else Word(operands[0].text.rstrip("/").rsplit("/", 1)[-1])
        source = operands[0].text
        path = reader.state.path(target)
        if path != reader.state.path(source):
            reader.link(path, reader.state.path(source))
    return ""


def _copied_file(reader: Reader, part: Part) -> str:
    """A copy is read as its original; a link made in the line is followed."""
    operands = read_options(part.arguments, with_value=("t", "S", "m", "o", "g")).operands
    if len(operands) == 2:
        source, target = reader.state.path(operands[0]), reader.state.path(operands[1])
        content = reader.state.files.get(source)
        if content is None and is_constant(source):
            raw = reader.world.read_file(source)
            content = None if raw is None else reader.read_file(source, is_script=False)
        if content is not None:
            reader.state.files[target] = content
        elif part.name != "mv" and _PROGRAM_PATH.fullmatch(source):
            reader.state.programs[target] = source
    return ""


def _hash(reader: Reader, part: Part) -> str:
    """`hash -p path name` makes the shell run a path under another name."""
    options = read_options(part.arguments, with_value=("p",))
    path = options.value("p")
    if path:
        for word in options.operands:
            reader.state.aliases[word.text] = path
    return ""


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("cp", "mv", "install"), _copied_file),
    "ln": _link,
    "ls": _list,
    "hash": _hash,
}
