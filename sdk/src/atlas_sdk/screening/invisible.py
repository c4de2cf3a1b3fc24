"""Characters that nobody sees. Joiners inside words of some scripts and inside emoji are ordinary writing."""

from __future__ import annotations

import re
import unicodedata

# Everything that may be invisible; what is ordinary among it is judged one by one.
SUSPECT = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINERS = "\u200c\u200d"
_MARKS = "\u200e\u200f\u061c"
# Scripts whose words are written with joiners: Arabic, Syriac, N'Ko, those of India and around it, Khmer, Mongolian.
_JOINED = re.compile("[\u0600-\u07ff\u0840-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefe]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]")
_FLAG = re.compile("\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
                   "|\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
                   "|\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f")  # fmt: skip
"""The three flags that are spelled in tag characters: England, Scotland, Wales."""


def hides(text: str) -> bool:
    """Whether a text holds characters that nobody sees and no writing needs."""
    text = _FLAG.sub("\U0001f3f4", text)
    rtl: bool | None = None
    for found in SUSPECT.finditer(text):
        at, char = found.start(), found.group()
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        if char in _JOINERS and (_joins(before, after) or (char == "\u200c" and _JOINED.match(before or " "))):
            continue
        if char in _MARKS:
            rtl = _RIGHT_TO_LEFT.search(text) is not None if rtl is None else rtl
            if rtl:
                continue
        if "\ufe00" <= char <= "\ufe0f" and before and _takes_selector(before):
            continue
        if "\U000e0100" <= char <= "\U000e01ef" and before and "\u3400" <= before <= "\U000323af":
            continue
        if "\u180b" <= char <= "\u180d" and "\u1820" <= before <= "\u18aa":
            continue
        if char in "\u115f\u1160" and ("\u1100" <= before <= "\u11ff" or "\u1100" <= after <= "\u11ff"):
            continue
        return True
    return False


def _joins(before: str, after: str) -> bool:
    """Whether a joiner stands between two letters of a script that joins, or two pieces of an emoji."""
    if not before or not after:
        return False
    if _JOINED.match(before) and _JOINED.match(after):
        return True
    return _is_pictorial(before) and _is_pictorial(after)


def _is_pictorial(char: str) -> bool:
    return char == "\ufe0f" or unicodedata.category(char) in ("So", "Sk") or "\U0001f3fb" <= char <= "\U0001f3ff"


def _takes_selector(char: str) -> bool:
    """Whether a variation selector may follow: symbols, keycaps, ideographs; never a letter or another selector."""
    if char in "0123456789#*":
        return True
    return unicodedata.category(char) in ("So", "Sm", "Po", "Sk", "Sc", "Lo", "Mn") and not "\ufe00" <= char <= "\ufe0f"
