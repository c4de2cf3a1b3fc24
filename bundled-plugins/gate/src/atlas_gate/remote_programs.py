"""Programs that run a command on another machine, or through the options of `ssh`."""

from __future__ import annotations

from itertools import pairwise

from atlas_gate.options import first_operand
from atlas_gate.parts import OUTPUT, Part
from atlas_gate.reader import Handler, Reader


def _ssh(reader: Reader, part: Part) -> str:
    with_value = tuple("bcDEeFIiJLlmOopQRSWwBP")
    words = part.arguments[first_operand(part.arguments, with_value=with_value) :]
    if len(words) < 2:
        if part.input:
            reader.run_text(part.input, "ssh")
        return OUTPUT
    remote = [word.text for word in words[1:] if word.text != "--"]
    reader.run_text(" ".join(remote), "ssh", stdin=part.input)
    return OUTPUT


def _on_many(reader: Reader, part: Part) -> str:
    """`pdsh -w hosts command`: the command is the rest, behind options that mostly take a value."""
    words = part.arguments[first_operand(part.arguments, with_value=tuple("wxlhHogtpue")) :]
    reader.run_text(" ".join(word.text for word in words), part.name, stdin=part.input)
    return OUTPUT


def _salt(reader: Reader, part: Part) -> str:
    """`salt target cmd.run text`."""
    for before, text in pairwise(part.texts):
        if before in ("cmd.run", "cmd.shell", "cmd.run_all", "cmd.run_stdout"):
            reader.run_text(text, "salt")
    return OUTPUT


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("ssh", "mosh", "autossh", "rsh", "slogin"), _ssh),
    **dict.fromkeys(("pdsh", "clush", "dsh", "pssh", "parallel-ssh"), _on_many),
    "salt": _salt,
    "sshpass": lambda reader, part: reader.run_words(
        part.arguments[first_operand(part.arguments, with_value=tuple("pfdP")) :], "sshpass", stdin=part.input
    ),
}
