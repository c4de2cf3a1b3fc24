"""Programs that run a command later: `crontab`, `at` and `batch`."""

from __future__ import annotations

import re

from atlas_gate.options import read_options
from atlas_gate.parts import OUTPUT, Part, without_marks
from atlas_gate.reader import Handler, Reader


def _crontab(reader: Reader, part: Part) -> str:
    """Read the commands of a table that is put in place."""
    operands = read_options(part.arguments, with_value=("u",)).operands
    text = part.input
    if operands and operands[0].text != "-":
        text = reader.read_file(reader.state.path(operands[0])) or ""
    for line in without_marks(text).splitlines():
        entry = re.match(r"\s*(?:@\w+|(?:[\d*/,\-A-Za-z]+\s+){5})\s*(\S.*)", line)
        if entry:
            reader.run_text(entry[1], "crontab")
    return OUTPUT


def _at(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=tuple("fqt"))
    source = options.value("f")
    text = part.input if source is None else reader.read_file(reader.state.path(source)) or OUTPUT
    if text and not options.has("lrdc"):
        reader.unread(part, text)
        reader.run_text(text, "at")
    return OUTPUT


HANDLERS: dict[str, Handler] = {"crontab": _crontab, **dict.fromkeys(("at", "batch"), _at)}
