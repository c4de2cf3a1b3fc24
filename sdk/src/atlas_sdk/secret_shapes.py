"""What a secret looks like to somebody who does not know its value.

The lists are in `secret_shapes.toml`, read and compiled when a text is first masked.
Patterns repeat without backtracking and no stretch is read over and over, so time grows with the text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

LOOK = 64  # characters of a value that are enough to judge it

_Span = tuple[int, int]


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _data() -> dict[str, dict[str, str]]:
    import tomllib

    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def _words(section: str, key: str) -> frozenset[str]:
    return frozenset(_data()[section][key].split())


_MARKER = r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{4,5})?|(Private-Lines): \d++"
# A line of a block: base64 that is long, or short and no word; a header such as `DEK-Info: …`.
_LINE = (
    r"(?:[A-Za-z0-9+/=_-]{16,}+|(?=[A-Za-z]*+[0-9+/=])[A-Za-z0-9+/=]++"
    r"|[A-Z][A-Za-z]*+-?[A-Z]?[a-z]*+: [^\n\\]*+)"
)
_BODY = rf"(?:(?:\\+[nrt]|[\s>|\"',+])*+{_LINE}(?![^\s\\\"',]))*+"


def _blocks(text: str) -> Iterator[_Span]:
    """Find the bodies of private keys, also of those whose beginning or end is missing."""
    begun, done = -1, 0
    markers = list(_pattern(_MARKER).finditer(text)) if "PRIVATE KEY" in text or "Private-L" in text else []
    for marker in [*markers, None]:
        if marker and marker.group(1) == "END":
            yield (begun if begun >= 0 else _back(text, marker.start(), done)), marker.start()
            begun = -1
        else:
            if begun >= 0 and (body := _pattern(_BODY).match(text, begun)):
                yield body.span()
            begun = marker.end() if marker else -1
        done = marker.end() if marker else done


def _back(text: str, end: int, stop: int) -> int:
    """Return where the lines of base64 before `end` begin."""
    start, shortest = end, 4  # the last line of a block is what was left over
    while start > stop and text[start - 1] in "\n\r \t":
        last = start
        while last > stop and text[last - 1] in "\n\r \t":
            last -= 1
        before = text.rfind("\n", stop, last) + 1 or stop
        if not _pattern(rf"[ \t]*+[A-Za-z0-9+/=]{{{shortest},}}+").fullmatch(text, before, last):
            break
        start, shortest = before, 16
    return start


def _urls(text: str) -> Iterator[_Span]:
    """Find passwords and tokens before the host of an address."""
    for found in _pattern(r"://([^\s:/@\"'<>`]{0,256}+)(?::([^\s/\"'<>`]{1,512}))?@").finditer(text):
        group = 2 if found.group(2) else 1
        value = found.group(group)
        if not _is_stand_in(value) and (group == 2 or _is_random(value)):
            yield found.span(group)


_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=\[\d\dm))"


@cache
def _prefixes() -> re.Pattern[str]:
    table = "|".join(_data()["prefixes"]).replace(",}", ",}+")
    return re.compile(f"{_START}(?:{table})".replace("@", "[A-Za-z0-9_-]").replace("~", "[A-Za-z0-9]"))


def _prefixed(text: str) -> Iterator[_Span]:
    """Find keys that say by their first letters who issued them."""
    return (found.span() for found in _prefixes().finditer(text) if not _is_wordy(found.group()))


_COLOUR = r"(?:\x1b\[[\d;]{0,20}+m){0,4}+"
_SIGN = rf"(?:\[\w{{0,20}}\])?+{_COLOUR}\\*+[\"']?+\]?+[ \t]*+(=>|:=|==?|:(?!:)|%3[Dd]|>)[ \t]*+{_COLOUR}"
_SPACE = r"(?i:(?<=word)|(?<=token)|(?<=secret)|(?<=key)|(?<=phrase)|(?<=pass))[ \t]++((?:is|was)[ \t:]++)?"
_NAME = rf"(?<![\w.-])([\w.-]++)(?:{_SIGN}|{_SPACE})"
_QUOTED = r"\\++[\"']([^\"'\\\n]*+)|\"((?:[^\"\\\n]|\\.)++)(?=\")|'((?:[^'\\\n]|\\.)++)(?=')|`([^`\n]++)(?=`)"
_BARE = (
    r"(?:[^\s\"'`<>,;&|)}\]\\\x1b]|\\(?![nrt\"'\\])"
    r"|[,;&|)}\]](?![\s\"'`,;&|)}\]\x1b\\]|$|[\w.-]++[\"']?[:=]))++"
)
_SCHEME = r"\\*+[\"']?(?i:(?:bearer|basic|token|apikey|api-key|negotiate|ntlm|key|bot)[ \t]++)?"
_WHOLE = r"[\"']?(?i:(?:digest|hawk|oauth|aws4[\w-]*+|sharedkey(?:lite)?|signature|mac)[ \t])[^\r\n]++"
_COOKIES = r"(?:=\"[^\"\n]*+\"|[^\r\n'\"\\])*+"
_PAIR = r"(?<![^\s=;,\"'])([^\s=;,\"']++)=\"?([^\s;,\"']++)"
_COMMAND = (
    r"(?:\blogin[ \t]++\S{1,256}+[ \t]++password|\b(?i:identified by)|\brequirepass|\bsshpass -p)"
    r"[ \t]*+[\"']?([^\s\"']++)"
    r"|(?<!\S)(?:-u|--user)[ =][\"']?[A-Za-z][^\s:\"']{0,64}+:((?=[^\s\"'\d]{0,64}+\d)[^\s\"'/]++)"
)
_HINT = r"(?i)pass|pw|token|secret|key|auth|cred|cookie|jwt|bearer|sid|sess|sig|code|otp"
_STRONG = r"pass|.*(?:passw(?:or)?[dt]|pass(?:phras|cod)e|pwd?|secret|token|(?:api|access|secret|private|auth)key)"


def _named(text: str) -> Iterator[_Span]:
    """Find values that a command, a name, a header or a flag before them gives away."""
    for command in _pattern(_COMMAND).finditer(text):
        yield command.span(command.lastindex or 0)
    hint, done, jar, bare = _pattern(_HINT), 0, 0, (0, 0)
    for found in _pattern(_NAME).finditer(text):
        if found.start() < done or not hint.search(found.group(1)):
            continue
        before, sign, at = text[max(0, found.start() - 3) : found.start()], found.group(2), found.end()
        kind = _kind(_clean(found.group(1)[-80:], before))
        if not kind or (sign == ">" and not before.endswith("<")):
            continue
        if sign and kind == "cookie":
            if at >= jar and (run := _pattern(_COOKIES).match(text, at)):
                jar = run.end()
                yield from _cookies(text, at, jar)
            continue
        if sign and kind == "header":
            if whole := _pattern(_WHOLE).match(text, at):
                done = whole.end()
                yield whole.span()
                continue
            scheme = _pattern(_SCHEME).match(text, at)
            at = scheme.end() if scheme else at
        quoted = _pattern(_QUOTED).match(text, at)
        if quoted:
            start, end = quoted.span(quoted.lastindex or 0)
        else:
            start = at + (text[at : at + 1] in ("'", '"', "`"))
            if not bare[0] <= start < bare[1]:
                bare = (start, stop.end()) if (stop := _pattern(_BARE).match(text, start)) else (start, start)
            end = bare[1]
        said = text[start : min(end, start + LOOK)]
        if said and _gives_away(found, kind, before, said, bool(quoted), end) and not _is_stand_in(said):
            done = end
            yield start, end


def _cookies(text: str, at: int, end: int) -> Iterator[_Span]:
    for pair in _pattern(_PAIR).finditer(text, at, end):
        name, value = pair.group(1).lower(), pair.group(2)
        plain = len(value) < 8 and (value.isalpha() or value.isdigit())
        if name not in _words("names", "cookie_attributes") and not plain and not _is_stand_in(value):
            yield pair.span(2)


def _gives_away(found: re.Match[str], kind: str, before: str, value: str, quoted: bool, end: int) -> bool:
    """Judge a value by its name, by what stands between them, and by itself."""
    name, sign, verb = found.groups()
    query = before.endswith(("?", "&"))
    if not sign and not (kind == "strong" and name.startswith("--")):
        told = verb and kind == "strong" and len(value) > 5 and any(letter.isdigit() for letter in value)
        return bool(told) or (_is_random(value) and (bool(verb) or value.lower() != value))
    if kind in ("maybe", "query") or sign == "==":
        random = _is_random(value) or (query and len(value) >= 16 and not _is_wordy(value))
        return random and (kind != "query" or query)
    if len(value) < 6 and (value.isdigit() or name.lower().endswith("pass")):
        return False
    if quoted or not (value.isalpha() and value.islower() and len(value) < 16):
        return True
    # One plain word after a colon is as likely talk (`token: expired`), unless a password stands alone.
    alone = "p" in name.lower() and not _pattern(r",? [a-z]+ ").match(found.string, end)
    return kind != "header" and (alone or found.group()[-1] not in " \t")


def _clean(name: str, before: str) -> str:
    """Take off what an escape or a colour code before the name left on it."""
    if before.endswith(("\\", "%")):
        return name[1 if before.endswith("\\") else 2 :]
    return _pattern(r"^\d{1,3}m").sub("", name) if before.endswith(("[", ";")) else name


@lru_cache(4096)
def _kind(name: str) -> str:
    """Say what a name makes of its value: strong, maybe, query, header, cookie, or nothing."""
    words = [word.lower() for word in _pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+").findall(name)]
    while len(words) > 1 and words[-1] in _words("names", "tails"):
        words.pop()
    last, before = words[-1] if words else "", words[-2] if len(words) > 1 else ""
    if last in ("authorization", "cookie"):
        return "header" if last == "authorization" else "cookie"
    if last in _words("names", "query"):
        return "strong" if before in ("access", "amz") else "query"
    if before in _words("names", {"token": "token_after", "key": "key_public"}.get(last, "none")):
        return ""
    if (last == "key" and before in _words("names", "key_of")) or _pattern(_STRONG).fullmatch(last):
        return "strong"
    return "maybe" if last in _words("names", "maybe") else ""


_STAND_IN = (
    r".*\*\*\*.*|[*•.xX#?_-]*+|\$(?:\{.*|\(.*|[A-Z_][A-Z0-9_]*+)|%\w++%|\{\{?.*|<.*|\[.*|@.*"
    r"|[A-Za-z_][\w.]*+(?:\(.*|\[\w*+)|https?://.*|(?:env|vault|keyring|file|op|secret|aws-sm)://?.*"
    r"|(?:ssh-|ecdsa-|sk-ssh-|age1)\S{10,}+.*"
    r"|(?:process\.env|os\.environ|self|this|config|settings|env|args|options|secrets|request)[.\[].*"
)


def _is_stand_in(value: str) -> bool:
    """Whether a value only says that there is one, or where it is kept."""
    if value.lower() in _words("values", "plain") or _pattern(f"(?:{_STAND_IN})").fullmatch(value):
        return True
    is_path = _pattern(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\].*").fullmatch(value)
    return bool(is_path) and all(_is_wordy(part) for part in _pattern(r"[/\\~:]++").split(value) if part)


def _is_wordy(value: str) -> bool:
    """Whether a value is words and numbers with marks between them, as names of things are."""
    piece = r"(?:[A-Za-z][a-z]{0,19}|[A-Z]{1,12}|\d{1,8})"
    return bool(_pattern(rf"\.*+{piece}(?:[-_.+/]++{piece})*+").fullmatch(value))


def _is_random(value: str) -> bool:
    """Whether a value of sixteen characters or more looks drawn by lot, and is no digest or id."""
    if not _pattern(r"(?=[^0-9]*+[0-9])(?=[^A-Za-z]*+[A-Za-z])[A-Za-z0-9+/=_.~%-]{16,}+").fullmatch(value):
        return False
    uuid, ulid = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"[0-7][0-9A-HJKMNP-TV-Z]{25}"
    digest = rf"(?i:[0-9a-f]++|{uuid}|(?:sha\d{{1,3}}|md5)[-:].*)|{ulid}"
    return not _pattern(digest).fullmatch(value) and not _is_wordy(value)


FINDERS = (_blocks, _urls, _prefixed, _named)
