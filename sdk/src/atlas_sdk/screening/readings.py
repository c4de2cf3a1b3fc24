"""The ways a text may be read: as it stands, with look-alike letters as what they look like, spelled out, decoded.

Each reading is in lower case and without accents on Latin letters, so that the rules are written once.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

from .invisible import SUSPECT

MOST_DECODED = 64
"""How many encoded pieces of a text are looked into: more is no note that somebody wrote."""

# Letters of other scripts, and of none, that are drawn as a Latin letter is drawn.
_PAIRS = (
    "аa вb сc ԁd еe ѐe ёe ғf ԍg һh нh іi їi ӏl јj кk ԟk мm оo рp ԛq гr ѕs тt уy үy ѵv ԝw хx ѡw пn иn ьb ԃd зz ꞓc "
    "αa βb γy ϲc εe ηn ιi κk νv οo ρp σo τt υu χx ωw ζz ϳj μu πn "
    "օo ոn սu աw ցg զq քp հh յj ѕs ɑa ɡg ɩi ıi ʟl ɴn ʀr ʏy ꜱs ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz ɢg ʜh ɪi "
    "ⅼl ∣l ǀl ℓl ɐa ǝe øo łl đd ħh ŧt ßb æa œo ꭱr ꮪs"
)
_LOOKS = {ord(pair[0]): pair[1] for pair in _PAIRS.split() if len(pair) == 2}
_DIGITS = str.maketrans("01345789@$!|", "oieastbgasil")
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{20,4096}={0,2}(?![A-Za-z0-9+/=_-])")
_HEX = re.compile(r"(?<![0-9a-fA-F])(?:[0-9a-fA-F]{2}){12,2048}(?![0-9a-fA-F])")
_SPELLED = re.compile(r"(?<!\w)(?:[^\W_][ .\-_*·•]{1,3}){5,400}[^\W_](?!\w)")
_GAP = re.compile(r"[ .\-_*·•]{2,}")
_MIXED = re.compile(r"(?<![^\W_])[^\W_]*[0-9@$!|][^\s]*")
_WRAPPED = re.compile(r"[A-Za-z0-9+/_-]{4,400}={0,2}")
_LISTED = re.compile(r"\s*(?:[-*•–>]\s+|\d{1,3}[.)]\s+)?(\S{1,40})\s*")
_FEWEST_LINES = 4
# Letters in black circles and boxes, and those that flags are made of, which no normal form turns into letters.
_BOXED = {first + at: chr(ord("a") + at) for first in (0x1F150, 0x1F170, 0x1F1E6) for at in range(26)}
_SPACES = re.compile(r"\s+")
_SPACE = re.compile(r"[^\S\n]+")


def readings(text: str) -> tuple[str, ...]:
    """Return the different readings of a text, the plain one first."""
    found: dict[str, None] = {}
    for wide in dict.fromkeys(_plain(one) for one in _unescaped(text)):
        plain = _SPACE.sub(" ", wide)
        looks = plain.translate(_LOOKS)
        found |= {plain: None, looks: None}
        if spelled := _spelled_out(wide.translate(_LOOKS)):
            found[spelled] = None
        if any(char in looks for char in "01345789@$"):
            found[_MIXED.sub(lambda match: match.group().translate(_DIGITS), looks)] = None
    for decoded in (*_decoded(text), *_one_a_line(text), *_boxed(text)):
        found[_SPACE.sub(" ", _plain(decoded))] = None
    return tuple(found)


def _unescaped(text: str) -> Iterator[str]:
    yield text
    if "&" in text and ";" in text and (other := html.unescape(text)) != text:
        yield other
    if "%" in text and (other := unquote(text)) != text:
        yield other
    if "\\u" in text or "\\x" in text:
        yield re.sub(
            r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))", lambda found: chr(int(found[1] or found[2], 16)), text
        )


def _plain(text: str) -> str:
    """Return a text in one case and form, without what is invisible and without accents on Latin letters."""
    text = SUSPECT.sub("", unicodedata.normalize("NFKC", text)).casefold()
    if not text.isascii():
        letters: list[str] = []
        latin = False
        for char in unicodedata.normalize("NFD", text):
            if unicodedata.combining(char):
                if latin:
                    continue
            else:
                latin = char < "\u0250" or "\u1e00" <= char <= "\u1eff"
            letters.append(char)
        text = unicodedata.normalize("NFC", "".join(letters))
        text = text.replace("\u2019", "'").replace("\u2018", "'").replace("\u201c", '"').replace("\u201d", '"')
    return text


def _spelled_out(text: str) -> str:
    """Return a text whose words were spelled letter by letter, or nothing. A wider gap ends a word."""

    def joined(found: re.Match[str]) -> str:
        run = found.group()
        if _GAP.search(run):
            return " ".join("".join(re.findall(r"\w", word)) for word in _GAP.split(run))
        return "".join(re.findall(r"\w", run))

    changed = _SPELLED.sub(joined, text)
    return changed if changed != text else ""


def _one_a_line(text: str) -> Iterator[str]:
    """Yield words that stand one a line, as the line they make."""
    run = list[str]()
    for line in (*text.split("\n"), "the end"):
        if found := _LISTED.fullmatch(line):
            run.append(found[1])
        elif line.strip():
            if len(run) >= _FEWEST_LINES:
                yield " ".join(run)
            run = []


def _boxed(text: str) -> Iterator[str]:
    if not text.isascii() and (other := text.translate(_BOXED)) != text:
        yield other


def _decoded(text: str, times: int = 2) -> Iterator[str]:
    """Yield what base64 and hex in a text say, where that is text; it may be encoded once more."""
    for data in _encoded(text):
        try:
            said = data.decode()
        except UnicodeDecodeError:
            continue
        if not _SPACES.sub("", said).isprintable():
            continue
        if _SPACES.search(said.strip()):
            yield said
        if times > 1:
            yield from _decoded(said, times - 1)


def _encoded(text: str) -> Iterator[bytes]:
    for found in islice(_BASE64.finditer(text), MOST_DECODED):
        yield from _from_base64(found.group())
    for joined in _wrapped(text):
        yield from _from_base64(joined)
    for found in islice(_HEX.finditer(text), MOST_DECODED):
        yield bytes.fromhex(found.group())


def _from_base64(text: str) -> Iterator[bytes]:
    raw = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        yield base64.b64decode(raw + "=" * (-len(raw) % 4))
    except (binascii.Error, ValueError):
        return


def _wrapped(text: str) -> Iterator[str]:
    """Yield base64 that was broken by white space into pieces of one length, of which the last may be shorter."""
    run = list[str]()
    for piece in (*text.split(), ""):
        fits = _WRAPPED.fullmatch(piece) is not None
        if run and fits and len(piece) == len(run[0]):
            run.append(piece)
            continue
        if run:
            last = piece if fits and len(piece) < len(run[0]) else ""
            if len(run) > 1 or last:
                yield "".join(run) + last
        run = [piece] if fits else []
