"""Programs that start others in a terminal, or again and again."""

from __future__ import annotations

import re

from atlas_gate.options import first_operand
from atlas_gate.parts import OUTPUT, Part, Word, name_set, program_name
from atlas_gate.reader import Handler, Reader

_STARTED = re.compile(r"(?:--exec|--startas|-x|-a)[ =](\S+)")

_TMUX_SHOWS = name_set(
    "rename-window renamew rename-session rename display-message display list-windows lsw list-sessions ls "
    "list-panes lsp select-window selectw select-pane selectp kill-window killw kill-session kill-pane killp "
    "set-option set setw set-window-option set-buffer setb attach attach-session a capture-pane capturep has-session "
    "has show show-options source-file source bind-key info"
)

_LAUNCHERS = name_set(
    "tmux screen nodemon concurrently watchexec gnome-terminal xterm konsole alacritty kitty wezterm dtach abduco "
    "start-stop-daemon capsh zellij terminator xfce4-terminal foot honcho foreman run-one cage sway hyprctl i3-msg"
)

_DESTROYERS = name_set(
    "rm dd shred wipefs mkfs reboot shutdown poweroff halt sh bash zsh dash ksh fish sudo env rimraf"
)


def _launch(reader: Reader, part: Part) -> str:
    """A program that starts others in a terminal or again and again: its texts and words are commands."""
    if part.name == "tmux" and _TMUX_SHOWS.intersection(
        part.texts[first_operand(part.arguments, with_value="LSfc") :][:1]
    ):
        return OUTPUT
    program = _STARTED.search(" ".join(part.texts)) if part.name == "start-stop-daemon" else None
    if program is not None:
        rest = part.arguments[part.texts.index("--") + 1 :] if "--" in part.texts else ()
        return reader.run_words((Word(program[1]), *rest), part.name)
    for number, word in enumerate(part.arguments):
        if " " in word.text.strip():
            reader.run_text(word.text, part.name)
        elif names_dangerous(word) and number < len(part.arguments) - 1:
            reader.run_words(part.arguments[number:], part.name)
            break
    return OUTPUT


def names_dangerous(word: Word) -> bool:
    """Whether a word names a shell or one of the programs that destroy the most."""
    name = program_name(word.text)
    return name in _DESTROYERS or name.startswith("mkfs.")


HANDLERS: dict[str, Handler] = {**dict.fromkeys(_LAUNCHERS, _launch)}
