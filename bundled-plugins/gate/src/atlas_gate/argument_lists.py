"""Programs that run a command once for each line they read: `xargs` and `parallel`."""

from __future__ import annotations

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, UNKNOWN, Part, Word, is_constant
from atlas_gate.reader import Handler, Reader
from atlas_gate.words import shell_split

# More items than this are read as those of one command: each would be read anew.
_EACH_LIMIT = 100


def _xargs(reader: Reader, part: Part) -> str:
    with_value = (*"IinPLdaEs", "replace", "max-args", "max-procs", "delimiter", "arg-file", "max-lines")
    index = first_operand(part.arguments, with_value=tuple(v for v in with_value if v not in ("i", "replace")))
    options = read_options(part.arguments[:index], with_value=tuple(v for v in with_value if v != "i"))
    source = options.value("a", "arg-file")
    text = part.input if source is None else reader.read_file(reader.state.path(source), is_script=False) or OUTPUT
    command = part.arguments[index:]
    if not command:
        return text
    placeholder = options.value("I", "replace") or ("{}" if options.has("i") else None)
    text = text or OUTPUT
    delimiter = options.value("d", "delimiter")
    if placeholder:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        outputs = [
            reader.run_words([Word(word.text.replace(placeholder, line), word.is_pattern) for word in command], "xargs")
            for line in lines
        ]
        return "".join(outputs)
    if options.has("0", "null"):
        items = [item.rstrip("\n") for item in text.split("\0")]
    elif delimiter is not None:
        items = text.strip("\n").split({"\\n": "\n", "\\0": "\0"}.get(delimiter, delimiter))
    else:
        items = shell_split(text)
    words = [Word(item) for item in items if item]
    if options.value("n", "max-args", "L", "max-lines") == "1" and len(words) <= _EACH_LIMIT:
        return "".join([reader.run_words([*command, word], "xargs") for word in words or [Word(OUTPUT)]])
    return reader.run_words([*command, *words], "xargs")


def _parallel(reader: Reader, part: Part) -> str:
    with_value = (*"jNnLSPIda", "jobs", "colsep", "joblog", "tmpdir", "arg-file")
    index = first_operand(part.arguments, with_value=with_value)
    source = read_options(part.arguments[:index], with_value=with_value).value("a", "arg-file")
    texts = [word.text for word in part.arguments[index:]]
    cut = next((number for number, text in enumerate(texts) if text in (":::", "::::", ":::+")), len(texts))
    items = [text for text in texts[cut + 1 :] if text not in (":::", ":::+", "::::")]
    if cut == len(texts) or texts[cut] == "::::":
        files = [source] if source is not None else items
        contents = [reader.read_file(reader.state.path(file), is_script=False) or UNKNOWN for file in files]
        items = [line for text in contents or [part.input or OUTPUT] for line in text.splitlines() if line]
    command = " ".join(texts[:cut])
    for item in items:
        if not command:
            reader.unread(part, item)
        quoted = Word(item).shown() if is_constant(item) else item
        line = command.replace("{}", quoted) if "{}" in command else f"{command} {quoted}" if command else item
        reader.run_text(line, "parallel")
    return OUTPUT


HANDLERS: dict[str, Handler] = {**dict.fromkeys(("xargs", "gxargs"), _xargs), "parallel": _parallel}
