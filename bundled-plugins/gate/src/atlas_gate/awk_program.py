"""`awk`: where its program is, and what it runs and writes."""

from __future__ import annotations

import re

from atlas_gate.awk_code import awk_deeds
from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, UNKNOWN, Part, Redirect, Word, is_constant
from atlas_gate.reader import Handler, Reader

_RUNS = re.compile(r"\bsystem\b|\|")


def _awk(reader: Reader, part: Part) -> str:
    words = part.arguments
    index = first_operand(words, with_value=("F", "v", "f", "assign"))
    named = read_options(words[:index], with_value=("F", "v", "f", "file")).value("f", "file")
    if named is not None or index < len(words):
        text = words[index].text if named is None else part.input if named in ("-", "/dev/stdin") else ""
        if named is not None and not text:
            text = reader.read_file(reader.state.path(named)) or ""
        printed = re.fullmatch(r"\s*\{\s*print\s+\$(\d+)\s*;?\s*\}\s*", text)
        separator = read_options(words[:index], with_value=("F", "v", "f")).value("F")
        if printed and is_constant(part.input) and part.input and index == len(words) - 1:
            rows = [line.split(separator) for line in part.input.splitlines()]
            column = int(printed[1]) - 1
            return "".join((row[column] if 0 <= column < len(row) else " ".join(row)) + "\n" for row in rows)
        values = dict(setting.partition("=")[::2] for setting in _awk_settings(words[:index]))
        for name, value in (("HOME", reader.world.home), ("ATLAS_HOME", reader.world.atlas_home)):
            values[f"ENVIRON {name}"] = value
        lines = part.input
        if not lines and "$0" in text and _RUNS.search(text):
            files = words[index + 1 :] if named is None else words[index:]
            lines = "".join(reader.read_file(reader.state.path(word), is_script=False) or UNKNOWN for word in files)
        for kind, command, fed in awk_deeds(text, values, lines, reader.deadline.step):
            if kind == "write":
                reader.add(Part((), redirects=(Redirect("", ">", Word(command)),)))
            elif kind == "open":
                reader.add(Part((Word("cat"), Word(command))))
            else:
                reader.unread(part, command)
                reader.run_text(command, "awk", stdin=fed)
    return OUTPUT


def _awk_settings(words: tuple[Word, ...]) -> list[str]:
    options = read_options(words, with_value=("F", "v", "f", "assign", "file"))
    return [value for name, value in (*options.values, *options.long) if name in ("v", "assign")]


HANDLERS: dict[str, Handler] = {**dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk)}
