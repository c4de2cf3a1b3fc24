"""Reads a program's options the way most programs read theirs, whatever their order and form."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from atlas_gate.parts import Word

_HELP = frozenset(("--help", "-h"))


@dataclass(frozen=True, slots=True)
class Options:
    """Short letters, long names with what follows their `=`, and the operands that are left."""

    letters: str
    long: tuple[tuple[str, str], ...]
    operands: tuple[Word, ...]
    values: tuple[tuple[str, str], ...] = ()

    def has(self, letters: str = "", *names: str) -> bool:
        """Whether any of the letters is there, or any of the long names or a start of one, as `--re`."""
        if any(letter in self.letters for letter in letters):
            return True
        return any(given and name.startswith(given) for given, _ in self.long for name in names)

    def value(self, *names: str) -> str | None:
        """What was given for an option, by letter or by long name."""
        for given, value in (*self.values, *self.long):
            if given in names:
                return value
        return None


def asks_for_help(words: Sequence[Word]) -> bool:
    """`--help` behind nothing but names: behind an option it may be the option's value."""
    texts = [word.text for word in words]
    return bool(texts) and texts[-1] in _HELP and not any(text.startswith("-") for text in texts[:-1])


def read_options(words: Sequence[Word], *, with_value: Collection[str] = ()) -> Options:
    """Options before and behind operands, up to `--`. `with_value` names letters and long names."""
    letters: list[str] = []
    long: list[tuple[str, str]] = []
    values: list[tuple[str, str]] = []
    operands: list[Word] = []
    index = 0
    while index < len(words):
        text = words[index].text
        index += 1
        if text == "--":
            operands.extend(words[index:])
            break
        if text.startswith("--"):
            name, equals, value = text[2:].partition("=")
            if not equals and name in with_value and index < len(words):
                value = words[index].text
                index += 1
            long.append((name, value))
        elif text.startswith("-") and len(text) > 1:
            for position, letter in enumerate(text[1:], start=2):
                letters.append(letter)
                if letter in with_value:
                    rest = text[position:]
                    if not rest and index < len(words):
                        rest = words[index].text
                        index += 1
                    values.append((letter, rest))
                    break
        else:
            operands.append(words[index - 1])
    return Options("".join(letters), tuple(long), tuple(operands), tuple(values))


def first_operand(words: Sequence[Word], *, with_value: Collection[str] = ()) -> int:
    """Where the options of a wrapper end and its command begins."""
    index = 0
    while index < len(words):
        text = words[index].text
        if text == "--":
            return index + 1
        if not text.startswith("-") or text == "-":
            return index
        index += 1
        if text.startswith("--"):
            if "=" not in text and text[2:] in with_value:
                index += 1
        elif any(letter in with_value for letter in text[1:]):
            # Only the last letter of a bundle can leave its value to the next word.
            taking = next(position for position, letter in enumerate(text[1:], 1) if letter in with_value)
            index += taking == len(text) - 1
    return index
