"""Text of somebody else's, on its way to a terminal."""

from __future__ import annotations

import json
import re
import unicodedata

from .values import Json, whole_text

# C0 and C1 but tab and line feed, and what turns the direction of writing (Unicode 16, Bidi_Control).
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Return a text that can do nothing to a terminal but be read.

    A terminal obeys control characters: they clear what was asked, write over it, or reach the clipboard. Each
    becomes U+FFFD, so that it is seen that something was there.
    """
    return _CONTROLS.sub("\ufffd", whole_text(text).replace("\r\n", "\n"))


def plain_json(value: Json) -> str:
    """Return a value as JSON that a terminal may be shown: the same value, its control characters written out."""
    text = whole_text(json.dumps(value, ensure_ascii=False, indent=2))
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# What is printed and seen by nobody: blank letters and signs, and marks that draw nothing (Unicode 16,
# Default_Ignorable_Code_Point) but those that follow an emoji.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U0001d159") | {
    chr(number) for number in range(0xE0100, 0xE01F0)
}
# Stands for the second column of a wide letter while lines are measured; as no letter of ours it is in no one_line.
_BESIDE = "\ue000"
_MANY_SPACES = re.compile(" {9,}")


def one_line(text: str) -> str:
    """Return a text as one line in which nothing is hidden: what would not be seen as itself is written out.

    A line break becomes ``\\n`` and U+202E ``\\u202e``, so that no text can put a line of its own among ours.
    """
    return "".join(one if one.isprintable() and one not in _BLANKS else _written_out(one) for one in text)


def words(text: str, most: int) -> str:
    """Return a description on one line: its white space as single spaces, at most ``most`` characters.

    It is cut between two words, but for one that is longer than half of that.
    """
    whole = one_line(" ".join(text.split()))
    if len(whole) <= most:
        return whole
    cut = whole[:most].rfind(" ")
    return f"{whole[: cut if cut > most // 2 else most - 1]}…"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun: "1 place", "3 places"; ``many`` where the plural is no s at the end."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def folded(text: str, *, width: int, indent: str) -> str:
    """Return all of a text that is one line, folded and indented, so that no part of it begins where our lines do."""
    import textwrap

    whole = _MANY_SPACES.sub(lambda found: f" [{len(found[0])} spaces] ", one_line(text))
    lines = textwrap.wrap(
        whole if whole.isascii() else "".join(one + _BESIDE * _is_wide(one) for one in whole),
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        expand_tabs=False,
        replace_whitespace=False,
        drop_whitespace=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace(_BESIDE, "")


def _is_wide(letter: str) -> bool:
    """Whether a letter takes two columns of a terminal, which would otherwise fold the line itself, at its edge."""
    return unicodedata.east_asian_width(letter) in "WF"


def _written_out(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")
