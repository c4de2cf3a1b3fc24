"""The few programs whose output is known when their input is: what disguises are made of."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections import deque
from collections.abc import Callable

from atlas_gate.options import read_options
from atlas_gate.parts import DECODED, FETCHED, OUTPUT, UNKNOWN, Part, Word, is_constant, strongest_mark
from atlas_gate.patterns import replaced
from atlas_gate.reader import Handler, Reader
from atlas_gate.scanner import decode_escapes

_PRINTF_FIELD = re.compile(r"%(?:%|[-+ 0#]*\d*(?:\.\d+)?([sbdicqux]))")
_SUBSTITUTION = re.compile(r"s(.)((?:\\.|(?!\1).)*+)\1((?:\\.|(?!\1).)*+)\1([gi]*)")


def passed_on(text: str) -> str:
    """What an unknown program prints, given what it reads: what was fetched stays fetched."""
    mark = strongest_mark(text)
    return mark if mark in (FETCHED, DECODED) else OUTPUT


def _echo(reader: Reader, part: Part) -> str:
    words = list(part.texts)
    escapes = newline = True
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        option = words.pop(0)
        escapes = escapes or "e" in option
        newline = newline and "n" not in option
    text = " ".join([word.expanded() for word in part.arguments][len(part.texts) - len(words) :])
    return (decode_escapes(text.replace("\\0", "\\")) if escapes else text) + ("\n" if newline else "")


def _printf(reader: Reader, part: Part) -> str:
    words = list(part.texts)
    variable = None
    if len(words) > 1 and words[0] == "-v":
        variable, words = words[1], words[2:]
    if words and words[0] == "--":
        words = words[1:]
    text = format_printf(words[0], words[1:]) if words else ""
    if variable is None:
        return text
    reader.set_variable(variable, text)
    return ""


def format_printf(pattern: str, values: list[str]) -> str:
    """What `printf` prints: the format is used again while values are left."""
    output: list[str] = []
    left = deque(values)
    # An escape that spells a percent sign starts no field, so both are read in one pass.
    pieces = [(decode_escapes(text), field) for text, field in _printf_pieces(pattern)]
    while True:
        before = len(left)

        def fill(match: re.Match[str] | None) -> str:
            if match is None:
                return ""
            kind = match.group(1)
            if not kind:
                return "%"
            value = left.popleft() if left else ""
            if kind == "b":
                return decode_escapes(value.replace("\\0", "\\"))
            if kind == "q":
                return Word(value).shown()
            return value[:1] if kind == "c" else value

        output.extend(text + fill(field) for text, field in pieces)
        if not left or len(left) == before:
            return "".join(output)


def _printf_pieces(pattern: str) -> list[tuple[str, re.Match[str] | None]]:
    """The texts of a format, each with the field behind it."""
    pieces: list[tuple[str, re.Match[str] | None]] = []
    position = 0
    for field in _PRINTF_FIELD.finditer(pattern):
        pieces.append((pattern[position : field.start()], field))
        position = field.end()
    return [*pieces, (pattern[position:], None)]


def _cat(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments)
    if not options.operands:
        return part.input
    if not reader.is_captured:
        return OUTPUT
    texts: list[str] = []
    for operand in options.operands:
        if operand.text == "-":
            texts.append(part.input)
            continue
        for path in reader.operand_paths(operand):
            content = reader.read_file(path, is_script=False)
            # What is in a file nobody has read is no program's own answer.
            texts.append(UNKNOWN if content is None else content)
    return "".join(texts)


def _input(reader: Reader, part: Part, operands: tuple[Word, ...]) -> str:
    """What a filter reads: its files, else its standard input."""
    if not operands:
        return part.input
    texts = [reader.read_file(reader.state.path(operand), is_script=False) for operand in operands]
    return "".join(UNKNOWN if text is None else text for text in texts)


def _lines_of(text: str) -> str:
    """What a filter of lines prints of a text that is not known: some of it, so no more is known."""
    return UNKNOWN if strongest_mark(text) == UNKNOWN else passed_on(text)


def _base64(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=("w", "wrap", "i", "o"))
    if not options.has("dD", "decode"):
        return OUTPUT
    decoder = base64.b32decode if part.name == "base32" else base64.b64decode
    return _decoded(_input(reader, part, options.operands), lambda text: decoder(text + "=" * (-len(text) % 4)))


def _xxd(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=("c", "g", "l", "s"))
    if not options.has("r", "revert"):
        return OUTPUT
    return _decoded(_input(reader, part, options.operands), bytes.fromhex)


def _openssl(reader: Reader, part: Part) -> str:
    texts = part.texts
    if "-d" not in texts:
        return passed_on(part.input)
    if texts[:1] == ["base64"] or "-base64" in texts or "-a" in texts:
        return _decoded(part.input, base64.b64decode)
    return DECODED


def _decoded(text: str, decode: object) -> str:
    text = "".join(text.split())
    if not is_constant(text):
        return FETCHED if FETCHED in text else DECODED
    try:
        content = decode(text)  # type: ignore[operator]  # one of the three decoders above
    except (ValueError, binascii.Error):
        return DECODED
    return bytes(content).decode("utf-8", "replace")


def _unpacked(reader: Reader, part: Part) -> str:
    """A decompressor: what it prints is a text nobody has read."""
    return FETCHED if FETCHED in part.input else DECODED


def _rev(reader: Reader, part: Part) -> str:
    text = _input(reader, part, part.arguments)
    if not is_constant(text):
        return passed_on(text)
    return "".join(line.rstrip("\n")[::-1] + "\n" for line in text.splitlines())


def _tac(reader: Reader, part: Part) -> str:
    text = _input(reader, part, part.arguments)
    return "\n".join(reversed(text.splitlines())) + "\n" if is_constant(text) else passed_on(text)


def _tr(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments)
    operands = [_tr_set(word.text) for word in options.operands]
    text = part.input
    if not is_constant(text) or not operands:
        return passed_on(text)
    if options.has("d", "delete"):
        return "".join(character for character in text if character not in operands[0])
    if options.has("c", "complement") or len(operands) < 2 or not operands[1]:
        return OUTPUT
    first, second = operands[0], operands[1]
    second += second[-1] * max(len(first) - len(second), 0)
    return text.translate({ord(left): right for left, right in zip(first, second, strict=False)})


def _tr_set(text: str) -> str:
    text = decode_escapes(text).replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:space:]", " \t\n")

    def spread(match: re.Match[str]) -> str:
        low, high = ord(match.group(1)), ord(match.group(2))
        return "".join(chr(code) for code in range(low, min(high, low + 0x3000) + 1))

    return re.sub(r"(.)-(.)", spread, text, flags=re.DOTALL)


def _sed(reader: Reader, part: Part) -> str:
    """`s/a/b/` on a known text; the commands that run something; anything else is unknown."""
    options = read_options(part.arguments, with_value=("e", "f", "l", "expression", "file"))
    scripts = [value for name, value in (*options.values, *options.long) if name in ("e", "expression")]
    operands = list(options.operands)
    named = options.value("f", "file")
    if not scripts and operands and named is None:
        scripts = [operands.pop(0).text]
    text = _input(reader, part, tuple(operands)) if reader.is_captured else OUTPUT
    if named is not None:
        scripts += (part.input if named == "-" else reader.read_file(reader.state.path(named)) or "").splitlines()
    for script in scripts:
        executed = re.search(r"(?:^|[;\n{]|\d|\$|/)\s*e\s+([^\n]+)", script)
        if executed is not None:
            reader.run_text(executed.group(1), "sed e")
        substitution = _SUBSTITUTION.fullmatch(script.strip())
        whole = re.match(r"s(.)((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1[gip0-9]*e", script.strip())
        if whole is not None:
            reader.run_text(whole.group(3), "sed s///e")
        if substitution is None or not is_constant(text):
            return _lines_of(text)
        _, pattern, replacement, flags = substitution.groups()
        changed = replaced(pattern, _constant(replacement), text, count=0 if "g" in flags else 1)
        if changed is None:
            return OUTPUT
        text = changed
    return text


def _constant(text: str) -> Callable[[object], str]:
    return lambda _: text


def _first_lines(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=("n", "c"))
    text = _input(reader, part, options.operands) if reader.is_captured else OUTPUT
    if not is_constant(text):
        return _lines_of(text)
    # Which lines are kept does not matter much: all of them is the stricter reading.
    return text


def _cut(reader: Reader, part: Part) -> str:
    """`cut` by one field or by characters, on a known text."""
    options = read_options(part.arguments, with_value=("d", "f", "c", "b", "delimiter", "fields", "characters"))
    text = _input(reader, part, options.operands) if reader.is_captured else OUTPUT
    if not is_constant(text):
        return _lines_of(text)
    span = re.fullmatch(r"(\d*)(-?)(\d*)", options.value("c", "b", "f", "fields", "characters") or "")
    if span is None:
        return OUTPUT
    first = int(span[1] or 1) - 1
    last = (int(span[3]) if span[3] else None) if span[2] else first + 1
    delimiter = options.value("d", "delimiter") or "\t"
    lines: list[str] = []
    for line in text.splitlines():
        if options.value("f", "fields") is None:
            lines.append(line[first:last])
        else:
            lines.append(delimiter.join(line.split(delimiter)[first:last]) if delimiter in line else line)
    return "\n".join(lines) + "\n"


def _dd(reader: Reader, part: Part) -> str:
    """`dd` copies its input, from a file or a pipe, to its output."""
    settings = dict(text.split("=", 1) for text in part.texts if "=" in text)
    text = part.input
    if "if" in settings:
        text = reader.read_file(reader.state.path(settings["if"]), is_script=False) or OUTPUT
    if "of" not in settings:
        return text
    reader.state.files[reader.state.path(settings["of"])] = text
    return ""


def _tee(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments)
    for operand in options.operands:
        path = reader.state.path(operand)
        already = reader.state.files.get(path, "") if options.has("a", "append") else ""
        reader.state.files[path] = already + part.input
        if path.startswith("/dev/fd/"):
            reader.run_text(part.input, "tee >( )")
    return part.input


def _fetch(reader: Reader, part: Part) -> str:
    """`curl` and `wget`: what they print or write came from the network."""
    if part.name in ("curl", "aria2c"):
        options = read_options(
            part.arguments, with_value=(*tuple("oHdXuAebFTmwxKcCDEQrUyYzP"), "output", "out", "data", "header")
        )
        target = options.value("o", "output", "out")
        named = options.has("OJ", "remote-name")
    else:
        options = read_options(part.arguments, with_value=("O", "P", "U", "o", "output-document", "e", "t", "T"))
        target = options.value("O", "output-document")
        named = target is None
    if named:
        for operand in options.operands:
            name = operand.text.split("?")[0].rstrip("/").rsplit("/", 1)[-1]
            reader.state.files[reader.state.path(name)] = FETCHED
        return OUTPUT
    if target is not None and target != "-":
        reader.state.files[reader.state.path(target)] = FETCHED
        return OUTPUT
    return FETCHED


def _network(reader: Reader, part: Part) -> str:
    return FETCHED


def _silent(reader: Reader, part: Part) -> str:
    return ""


def _path_name(reader: Reader, part: Part) -> str:
    texts = [text for text in part.texts if not text.startswith("-")]
    if not texts:
        return OUTPUT
    if part.name == "basename":
        name = texts[0].rstrip("/").rsplit("/", 1)[-1]
        return (name.removesuffix(texts[1]) if len(texts) > 1 else name) + "\n"
    if part.name == "dirname":
        head = texts[0].rstrip("/").rpartition("/")
        return (head[0] or head[1] or ".") + "\n"
    return reader.state.path(texts[-1]) + "\n"


def _which(reader: Reader, part: Part) -> str:
    texts = [text for text in part.texts if not text.startswith("-")]
    return f"/usr/bin/{texts[-1]}\n" if texts else OUTPUT


def _type(reader: Reader, part: Part) -> str:
    """`type -P name` and `type -p name` print where a program is."""
    asks = any(text.startswith("-") and ("p" in text or "P" in text) for text in part.texts)
    return _which(reader, part) if asks else ""


def _printenv(reader: Reader, part: Part) -> str:
    value = reader.state.lookup(part.texts[0]) if len(part.words) == 2 else OUTPUT
    return (value if isinstance(value, str) else OUTPUT) + "\n"


def _pwd(reader: Reader, part: Part) -> str:
    return (reader.state.folder or OUTPUT) + "\n"


def _yes(reader: Reader, part: Part) -> str:
    return (" ".join(part.texts) or "y") + "\n"


def _rot13(reader: Reader, part: Part) -> str:
    return codecs.encode(part.input, "rot13") if is_constant(part.input) else passed_on(part.input)


HANDLERS: dict[str, Handler] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _cat,
    "base64": _base64,
    "base32": _base64,
    "xxd": _xxd,
    "openssl": _openssl,
    "rev": _rev,
    "tac": _tac,
    "tr": _tr,
    "sed": _sed,
    "gsed": _sed,
    "cut": _cut,
    "dd": _dd,
    "tee": _tee,
    "curl": _fetch,
    "wget": _fetch,
    "aria2c": _fetch,
    "yes": _yes,
    "pwd": _pwd,
    "printenv": _printenv,
    "rot13": _rot13,
    "which": _which,
    "type": _type,
    "true": _silent,
    "false": _silent,
    ":": _silent,
    **dict.fromkeys(
        ("gunzip", "zcat", "gzip", "bunzip2", "bzcat", "xz", "xzcat", "zstd", "zstdcat", "uudecode"), _unpacked
    ),
    **dict.fromkeys(("head", "tail", "uniq", "fold", "fmt", "column", "paste"), _first_lines),
    **dict.fromkeys(("nc", "ncat", "netcat", "socat", "telnet", "fetch", "http", "lynx", "w3m"), _network),
    **dict.fromkeys(("basename", "dirname", "realpath", "readlink"), _path_name),
}
