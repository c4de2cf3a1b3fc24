"""Programs with an option whose value is a command they run."""

from __future__ import annotations

from atlas_gate.options import read_options
from atlas_gate.parts import OUTPUT, Part, Word
from atlas_gate.reader import Handler, Reader


def _rg(reader: Reader, part: Part) -> str:
    command = read_options(part.arguments, with_value=("pre", "hostname-bin")).value("pre")
    if command:
        reader.run_words([Word(command)], "rg --pre")
    return OUTPUT


def _tar(reader: Reader, part: Part) -> str:
    for at, text in enumerate(part.texts):
        for option in (
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--info-script",
            "--rsh-command",
            "--new-volume-script",
        ):
            if text.startswith(option):
                value = text.partition("=")[2] or "".join(part.texts[at + 1 : at + 2])
                reader.run_text(value.removeprefix("exec="), f"tar {option}")
        if text in ("-I", "-F") and at + 1 < len(part.texts):
            reader.run_text(part.texts[at + 1], "tar -I")
    return OUTPUT


def _option_command(*names: str) -> Handler:
    """A program whose options name a command: `sort --compress-program`, `rsync -e`, `man -P`."""

    def handler(reader: Reader, part: Part) -> str:
        options = read_options(part.arguments, with_value=names)
        for name, value in (*options.values, *options.long):
            if name in names and value:
                reader.run_text(value, f"{part.name} {name}")
        return OUTPUT

    return handler


def _zip(reader: Reader, part: Part) -> str:
    for before, text in zip(["", *part.texts], part.texts, strict=False):
        name, _, value = text.partition("=")
        command = text if before in ("-TT", "--unzip-command") else value if name == "--unzip-command" else ""
        if command:
            reader.run_text(command, "zip -TT")
    return OUTPUT


HANDLERS: dict[str, Handler] = {
    "rg": _rg,
    **dict.fromkeys(("tar", "bsdtar"), _tar),
    "sort": _option_command("compress-program"),
    "rsync": _option_command("e", "rsh", "rsync-path"),
    **dict.fromkeys(("split", "gsplit"), _option_command("filter")),
    "man": _option_command("P", "pager", "H"),
    "zip": _zip,
}
