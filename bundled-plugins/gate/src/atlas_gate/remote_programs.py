"""Programs that run a command on another machine, or through the options of `ssh`."""

from __future__ import annotations

import re

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, Part
from atlas_gate.reader import Handler, Reader
from atlas_gate.shell_escapes import run_bang


def _ssh(reader: Reader, part: Part) -> str:
    with_value = tuple("bcDEeFIiJLlmOopQRSWwBP")
    options = read_options(part.arguments, with_value=with_value)
    for name, value in options.values:
        if name == "o" and value.lower().replace("=", " ").startswith(("proxycommand ", "localcommand ")):
            reader.run_text(value.replace("=", " ").partition(" ")[2], "ssh -o")
    words = part.arguments[first_operand(part.arguments, with_value=with_value) :]
    if len(words) < 2:
        if part.input:
            reader.run_text(part.input, "ssh")
        return OUTPUT
    remote = [word.text for word in words[1:] if word.text != "--"]
    reader.run_text(" ".join(remote), "ssh", stdin=part.input)
    return OUTPUT


def _transfer(reader: Reader, part: Part) -> str:
    """`sftp`, `scp` and their kind: options of ssh, and lines that leave to a shell."""
    for name, value in read_options(part.arguments, with_value=tuple("oSFiPcJlDBbRsX")).values:
        command = re.match(r"(?:proxycommand|localcommand)[ =](.*)", value, re.IGNORECASE | re.DOTALL)
        if name == "o" and command is not None:
            reader.run_text(command[1], f"{part.name} -o")
        elif name == "S" and value:
            reader.run_text(value, f"{part.name} -S")
    return run_bang(reader, part)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("ssh", "mosh"), _ssh),
    **dict.fromkeys(("scp", "sftp"), _transfer),
    "sshpass": lambda reader, part: reader.run_words(
        part.arguments[first_operand(part.arguments, with_value=tuple("pfdP")) :], "sshpass", stdin=part.input
    ),
}
