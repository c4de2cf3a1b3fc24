"""Every way in which one text may be written down: by people, in JSON, in a URL, in HTML, with marks between. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import codepoint2name

LONG_CHARS = 300
"""A longer text is a sentence, and is looked for as it is written: what may stand in a name would make it slow."""
_NO_SPACES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that are written without spaces: where a word begins cannot be seen."""
DENSE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
"""The signs of Chinese, Japanese and Korean, as a class of an expression."""
_DENSE = re.compile(f"[{DENSE}]")
_UNSPACED = re.compile(f"[{_NO_SPACES}]")
_LETTER = rf"[^\W_{_NO_SPACES}]"
_PLAIN = rf"[^\W{_NO_SPACES}]"
_PACKED = r"\\{1,64}"
"""A backslash, and more for every time it was packed: 64 are six times, and without a bound a run of them is slow."""
_SPACE = (
    rf"(?:\s|{_PACKED}[nrtf]|{_PACKED}u(?:00(?:20|0[9a-d]|1[c-f]|a0|85)|1680|20(?:0[0-9a]|2[89f]|5f)|3000)"
    r"|&(?:nbsp|\#160|\#x0*a0);|%(?:20|0[9ad]|c2%a0)|\+)"
)
_UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff"
"""Signs that nobody sees: soft hyphens, joiners, marks of direction."""
_VOWELS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"
"""Vowel signs of Hebrew and Arabic, and the stroke that stretches a word: written or left out as one likes."""
_VOWELED = re.compile("[\u0590-\u06ff]")
_LEFT_OUT = re.compile(f"[{_UNSEEN}{_VOWELS}]")
_ANY = rf"(?:[{_UNSEEN}{_VOWELS}]|{_PACKED}u(?:00ad|200[b-f]|20[26][0-9a-f]|feff|06[4-6][0-9a-f]|05[9a-c][0-9a-f]))*+"
_TAG = r"</?[a-zA-Z][^<>]{0,80}>"
_GAP = rf"[*_~`{_UNSEEN}]{{0,6}}(?:{_SPACE}|{_TAG})(?:{_SPACE}|{_TAG}|[*_~`>#|{_UNSEEN}])*"
"""Between two words: space, with the marks of Markdown, of a quoted line, or tags beside it."""
_AFTER_ESCAPE = (
    r"(?<=\\[nrtbf])|(?<=\\u00[012][0-9A-Fa-f])|(?<=\\u003[a-fA-F])|(?<=\\u20[0-9A-Fa-f]{2})"
    r"|(?<=%2[0-9A-Fa-f])|(?<=%3[A-Fa-f])|(?<=%0[9AaDd])|(?<=%[57][B-Fb-f])"
)
_NO_LETTER_NEXT = r"(?!\\+u(?!00[0-9aAbB]|20))"
_ALIKE = {sign: signs for signs in ("'’‘ʼ", '"“”„', "-‐‑") for sign in signs}
"""Typography: which of these somebody's keyboard writes says nothing."""
_DOUBLE_S = re.compile("ss|ß|ẞ", re.IGNORECASE)


@dataclass(frozen=True)
class Sign:
    """A sign of a text, as expressions: what may stand before it, the ways it is written, and its first half.

    ``half`` is what a cut in the middle of the sign leaves of it, empty where that is nothing. ``spaced`` says that
    space goes before it, ``opens`` that a word begins with it, as each sign of a script without spaces may.
    """

    text: str
    before: str
    written: str
    half: str
    spaced: bool
    opens: bool


def pattern(text: str) -> re.Pattern[str]:
    """Return what matches a text wherever and however it is written. Its words count whole."""
    bare = _bare(text)
    end = rf"(?!{_LETTER})(?!_{_LETTER}){_NO_LETTER_NEXT}" if re.match(_PLAIN, bare[-1:]) else ""
    body = "".join(sign.before + sign.written for sign in signs(text))
    return re.compile(f"{opening(text)}{body}{end}", re.IGNORECASE)


def opening(text: str) -> str:
    """Return the expression of where a text may begin."""
    bare = _bare(text)
    if bare[:1] == "\\":
        return r"(?<!\\)"  # or every place in a run of them would be a beginning
    return rf"(?:(?<!{_LETTER})(?<!{_LETTER}_)|{_AFTER_ESCAPE})" if re.match(_PLAIN, bare) else ""


def signs(text: str) -> Iterator[Sign]:
    """Yield the signs of a text, one by one: who looks for its beginning need not have all of a long one."""
    short, bare = len(text) <= LONG_CHARS, _bare(text)
    between = _ANY if short and _LEFT_OUT.sub("", text).strip() else ""
    gap = _GAP if short else f"{_SPACE}+"
    for number, word in enumerate(bare.split()):
        for place, (said, written, half) in enumerate(_signs(word, short=short)):
            spaced, opens = number > 0 and place == 0, place == 0 or _UNSPACED.match(said) is not None
            before = gap if spaced else between if place else ""
            yield Sign(text=said, before=before, written=written, half=half, spaced=spaced, opens=opens)


def any_writing(text: str) -> str:
    """Return the expression of a text of a few signs, as it is and as JSON, URLs and HTML write it."""
    return "".join(_sign(sign, short=True) for sign in text)


def _bare(text: str) -> str:
    """Return a text without the signs that may be left out, unless it has no other."""
    bare = _LEFT_OUT.sub("", unicodedata.normalize("NFC", text))
    return bare if bare.strip() else text


def plain_run(text: str) -> str:
    """Return the longest run of plain letters and digits that every way of writing a text holds, or nothing."""
    return max(plain_runs(text), key=len, default="")


def plain_runs(text: str) -> tuple[str, ...]:
    """Return the runs of plain letters and digits that every way of writing a text holds."""
    # A letter that an accent may be written behind stands in both forms; only signs beyond ASCII are in neither.
    bare = _LEFT_OUT.sub("", unicodedata.normalize("NFC", text))
    runs, whole = (re.findall(r"[A-Za-z0-9]+", one) for one in (_DOUBLE_S.sub(" ", bare), bare))
    # "ss" may be written with one sign, which is worth a shorter run, but not next to none.
    return tuple(runs if any(len(one) > 1 for one in runs) else whole)


def left_out_in(text: str) -> str:
    """Return the signs that may stand between any two of a text's, where its script has vowels to leave out."""
    if not _VOWELED.search(text):
        return ""
    return "".join(sign for sign in map(chr, range(0x0590, 0x0700)) if _LEFT_OUT.match(sign))


def weight(text: str) -> int:
    """Return how telling a text is, in letters: a sign of Chinese, Japanese or Korean says as much as two."""
    signs = [sign for sign in _LEFT_OUT.sub("", text) if not sign.isspace()]
    return len(signs) + sum(_DENSE.match(sign) is not None for sign in signs)


def _signs(word: str, *, short: bool) -> Iterator[tuple[str, str, str]]:
    """Yield each sign of a word, the ways it is written, and what a cut in its middle leaves."""
    at = 0
    while at < len(word):
        sign = word[at]
        if sign == "\\":
            run = len(word[at:]) - len(word[at:].lstrip("\\"))
            yield word[at : at + run], rf"\\{{{min(run, 64)},{64 * min(run, 64)}}}", ""
            at += run
        elif short and (double := _DOUBLE_S.match(word, at)):
            yield double[0], "(?:ss|ß|ẞ|" + "|".join(_written("ß", short=True)) + ")", "s"
            at = double.end()
        else:
            accented = unicodedata.normalize("NFD", sign)
            yield sign, _sign(sign, short=short), re.escape(accented[0]) if len(accented) > 1 else ""
            at += 1


def _sign(sign: str, *, short: bool) -> str:
    """Return what matches one sign: itself, with its accent behind it, and as JSON, URLs and HTML write either."""
    if sign.isascii() and sign.isalnum():
        return sign
    alike = _ALIKE.get(sign, sign)
    forms = dict.fromkeys(
        form
        for other in alike
        for one in (other, other.lower(), other.upper())
        for form in (one, unicodedata.normalize("NFD", one))
    )
    return f"(?:{'|'.join(dict.fromkeys(form for one in forms for form in _written(one, short=short)))})"


def _written(text: str, *, short: bool) -> Iterator[str]:
    if text in ('"', "/"):
        yield rf"\\{{0,64}}{re.escape(text)}"
    else:
        yield re.escape(text)
    units = text.encode("utf-16-be", "surrogatepass")
    codes = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    plain = text[0] if len(text) > 1 and text[0].isascii() else ""  # "e" is never packed, the accent behind it is
    yield re.escape(plain) + "".join(rf"{_PACKED}u{code}" for code in codes[len(plain) :])
    if not short or "\ud800" <= text[0] <= "\udfff":
        return
    yield re.escape(plain) + "".join(f"%{byte:02x}" for byte in text[len(plain) :].encode("utf-8", "replace"))
    if len(text) == 1:
        number = ord(text)
        named = f"{codepoint2name[number]}|" if number in codepoint2name else ""
        yield rf"&(?:{named}{'apos|' if text == chr(39) else ''}\#0*{number}|\#x0*{number:x});"
