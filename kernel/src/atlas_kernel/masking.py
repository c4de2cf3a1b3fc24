"""Take secrets out of text before anybody reads or keeps it.

Two nets: the values we know, in every form they travel in, and the shapes of those we do not.
Every pattern is tried at most once a position and repeats without backtracking, so time grows with the text only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

MASK = "***"
SHORTEST_KNOWN = 4  # a shorter value would take ordinary text with it
SHORTEST_FORM = 8  # the same for what an encoding makes of a value

_Span = tuple[int, int]


class Masker:
    """Masks the values it was told of and whatever looks like a secret.

    Masking a second time changes nothing.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._forms: list[str] = []
        for value in known:
            self.add(value)

    def add(self, value: str) -> None:
        """Mask this value from here on. One under four characters is left to its shape."""
        forms = {form for form in _forms(value) if form and MASK not in form}
        self._forms = sorted({*self._forms, *forms}, key=lambda form: (-len(form), form))

    def mask(self, text: str) -> str:
        """Return the text with each secret replaced by three asterisks, and nothing else changed."""
        for find in (self._known, self._known_across_lines, _blocks, _urls, _prefixed, _named):
            text = _replace(text, find(text))
        return text

    def _known(self, text: str) -> Iterator[_Span]:
        for form in self._forms:
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form)
                start = text.find(form, start + len(form))

    def _known_across_lines(self, text: str) -> Iterator[_Span]:
        """Find values that a wrap, a continuation or a colour cuts in two."""
        breaks = list(_pattern(r"\\?\r?\n[ \t]*+|\x1b\[[\d;]*+m").finditer(text)) if self._forms else []
        if not breaks:
            return
        starts, gaps, pieces, at, removed = [0], [0], [], 0, 0
        for found in breaks:
            pieces.append(text[at : found.start()])
            removed += found.end() - found.start()
            at = found.end()
            starts.append(at - removed)
            gaps.append(removed)
        joined = "".join([*pieces, text[at:]])
        for start, end in self._known(joined):
            yield (
                start + gaps[bisect_right(starts, start) - 1],
                end + gaps[bisect_right(starts, end - 1) - 1],
            )


def _replace(text: str, spans: Iterable[_Span]) -> str:
    """Put the mask in place of the spans; those that overlap become one."""
    kept, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            kept += [text[at:start], MASK]
        at = max(at, end)
    return "".join([*kept, text[at:]]) if kept else text


def _forms(value: str) -> Iterator[str]:
    import base64
    import html
    import json
    import urllib.parse

    if len(value.strip()) < SHORTEST_KNOWN:
        return
    plain = {value, value.strip()}
    if "\n" in value:
        plain |= {line for line in map(str.strip, value.splitlines()) if len(line) >= 16 and line[0] != "-"}
    quote = urllib.parse.quote
    for one in plain:
        data = one.encode("utf-8", "surrogatepass")
        escaped = {json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1], repr(one)[1:-1]}
        escaped |= {json.dumps(form)[1:-1] for form in escaped}
        yield from (one, *escaped, html.escape(one), html.escape(one, quote=False), one.replace("'", "'\\''"))
        quoted = {quote(data, safe=safe) for safe in ("", "/", "~()*!.'", ":/?#[]@!$&'()*+,;=")}
        quoted.add(urllib.parse.quote_plus(data))
        yield from quoted
        yield from (_pattern("%[0-9A-F]{2}").sub(lambda hit: hit.group().lower(), form) for form in quoted)
        if len(data) * 2 >= SHORTEST_FORM:
            yield from (data.hex(), data.hex().upper(), data.hex(" "), data.hex(":"), data.hex(":").upper())
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            whole = encode(data).decode()
            yield from (form for form in (whole, whole.rstrip("=")) if len(form) >= SHORTEST_FORM)
            for before in range(3):
                # What the value alone decides, wherever it stands inside a longer text that was encoded.
                form = encode(b"\0" * before + data).decode()[-(-8 * before // 6) : 8 * (before + len(data)) // 6]
                if len(form) >= SHORTEST_FORM:
                    yield form


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# ---- blocks ----

_MARKER = r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{4,5})?|(Private-Lines): \d++"
_BREAK = r"(?:\\+[nrt]|[\s>|\"',+])"
# A line of a block: base64 that is long, or short and no word; a header such as `DEK-Info: …`.
_LINE = r"(?:[A-Za-z0-9+/=_-]{16,}+|(?=[A-Za-z]*+[0-9+/=])[A-Za-z0-9+/=]++|[A-Z][A-Za-z]*+-?[A-Z]?[a-z]*+: [^\n\\]*+)"


def _blocks(text: str) -> Iterator[_Span]:
    """Find the bodies of private keys, also of those whose beginning or end is missing."""
    if "PRIVATE KEY" not in text and "Private-Lines" not in text:
        return
    begun: int | None = None
    done = 0
    for marker in _pattern(_MARKER).finditer(text):
        if marker.group(1) == "END":
            start = begun if begun is not None else _back(text, marker.start(), done)
            if start < marker.start():
                yield start, marker.start()
            begun, done = None, marker.end()
            continue
        if begun is not None:
            yield from _onward(text, begun)
        begun = done = marker.end()
    if begun is not None:
        yield from _onward(text, begun)


def _onward(text: str, start: int) -> Iterator[_Span]:
    body = _pattern(rf"(?:{_BREAK}*+{_LINE}(?![^\s\\\"',]))*+").match(text, start)
    if body and body.end() > start:
        yield start, body.end()


def _back(text: str, end: int, stop: int) -> int:
    """Return where the lines of base64 before `end` begin."""
    start = end
    while start > stop and text[start - 1] in "\n\r \t":
        before = text.rfind("\n", stop, start - 1) + 1 or stop
        if not _pattern(r"[A-Za-z0-9+/=]{4,}+\s*+").fullmatch(text, before, start):
            break
        start = before
    return start


# ---- addresses ----


def _urls(text: str) -> Iterator[_Span]:
    """Find passwords and tokens before the host of an address."""
    if "://" not in text:
        return
    for found in _pattern(r"://([^\s:/@\"'<>`]{0,256}+)(?::([^\s/\"'<>`]{1,512}))?@").finditer(text):
        group = 2 if found.group(2) else 1
        value = found.group(group)
        if not _is_stand_in(value) and (group == 2 or _is_random(value)):
            yield found.span(group)


# ---- keys with a prefix ----

_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\[\dm)|(?<=\[\d\dm))"
# Issuers' prefixes as of 2026-07, and what follows: `~` is a letter or digit, `@` also `_` and `-`.
_PREFIXES = r"""
sk-@{20,} xai-@{20,} pplx-~{20,} gsk_~{20,} csk-~{20,} tvly-@{20,} nvapi-@{20,} r8_~{20,} fw_~{20,} hf_~{20,}
api_org_~{20,} jina_@{30,} voyage-~{30,} pa-@{40,} tgp_v1_@{20,} lsv2_@{20,} e2b_~{20,} fc-[0-9a-f]{32} ABSK@{60,}
gh[pousr]_~{20,} github_pat_@{20,} gl[a-z]{2,6}-@{20,} GR1348941@{20} AT[AC]TT3@{20,} ATBB~{20,} figd_@{20,}
(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}(?!~) AIza@{30,} ya29\.@{20,} 1//0@{20,} GOCSPX-@{20,} AQ\.@{30,}
xox[a-z]-[\w.-]{10,} xoxe\.@{20,} xapp-@{20,} (?<![+/])EAA~{37,}(?![+/=]) IGQV?~{30,} rzp_(?:live|test)_~{14,}
[sr]k_(?:live|test)_~{10,} whsec_[A-Za-z0-9+/=]{16,} sq0(?:atp|csp)-@{20,} shp(?:at|ca|pa|ss)_~{20,} PMAK-@{30,}
pypi-Ag@{20,} npm_~{30,} rubygems_~{30,} oy2[a-z0-9]{43} dckr_@{20,} cio[A-Za-z0-9]{32}(?!~) do[por]_v1_~{20,}
hv[sbr]\.@{20,} tskey-@{16,} dapi[0-9a-f]{32} pul-~{30,} sbp_~{20,} sb_secret_@{20,} nfp_~{20,} rnd_~{20,} fo1_@{30,}
fm[12][a-z]?_[\w+/=]{40,} dp\.[a-z]{2,5}\.[\w.-]{30,} gl(?:sa|c)_[\w=]{20,} sntry[su]_[\w+/=-]{20,} NRAK-~{20,}
CCIPAT_@{20,} bkua_~{30,} ph[xs]_~{30,} lin_(?:api|oauth)_~{20,} ntn_~{20,} secret_~{43} pat~{14}\.[0-9a-f]{40,}
re_~{8}_~{16,} SG\.@{16,}\.@{16,} x(?:keysib|smtpsib)-@{30,} key-[0-9a-f]{32} [0-9a-f]{32}-us\d\d?(?!~)
SK[0-9a-f]{32}(?!~) AGE-(?:SECRET-KEY|PLUGIN)-[0-9A-Z-]{20,} age-secret-key-[0-9a-z]{20,}
eyJ@{8,}\.@{8,}(?:\.@*+)*+ [MNO]@{22,27}\.@{6,7}\.@{27,} \d{6,12}:[A-Za-z0-9_-]{34,36}(?!@)
discord(?:app)?\.com/api/webhooks/\d{5,30}/@{30,} hooks\.slack\.com/[a-z]{1,20}/[\w/]{20,}
[Bb](?i:earer)[\x20:]{1,2}[\w.~+/=-]{16,}
"""


def _prefixed(text: str) -> Iterator[_Span]:
    """Find keys that say by their first letters who issued them."""
    word, any_of = r"[A-Za-z0-9_-]", r"[A-Za-z0-9]"
    table = _PREFIXES.replace("~+", "\0").replace(",}", ",}+").replace("@", word).replace("~", any_of)
    for found in _pattern(_START + "(?:" + "|".join(table.replace("\0", "~+").split()) + ")").finditer(text):
        if not _is_wordy(found.group()):
            yield found.span()


# ---- values with a name ----

_NAME = r"(?<![\w.-])([\w.-]++)(\\*+[\"']?+\]?+[ \t]*+(?:=>|:=|==?|:(?!:)|>)[ \t]*+|[ \t]++(?:(?:is|was)[ \t:]++)?)"
_BARE = r"(?:[^\s\"'`<>,;&|)}\]\\\x1b]|\\(?![nrt\"'\\])|[,;&|)}\]](?![\s\"'`,;&|)}\]\x1b\\]|$|[\w.-]++[\"']?[:=]))++"
_VALUE = (
    r"\\++[\"']([^\"'\\\n]*+)|\"((?:[^\"\\\n]|\\.)++)(?=\")|'((?:[^'\\\n]|\\.)++)(?=')|`([^`\n]++)(?=`)"
    rf"|[\"'`]?({_BARE})"
)
_SCHEME = r"(?i:(?:bearer|basic|token|apikey|api-key|negotiate|ntlm|key|bot)[ \t]++)?"
_WHOLE_LINE = r"(?i:(?:digest|hawk|oauth|aws4[\w-]*+|sharedkey(?:lite)?|signature|mac)[ \t])[^\r\n]++"
_COMMAND = (
    r"(?:\blogin[ \t]++\S{1,256}+[ \t]++password|(?i:\bidentified by)|\brequirepass|\bsshpass -p)[ \t]*+[\"']?([^\s\"']++)"
    r"|(?<!\S)(?:-u|--user)[ =][\"']?[A-Za-z][^\s:\"']{0,64}+:((?=[^\s\"']*?\d)[^\s\"'/]++)"
)
_HINT = r"(?i)pass|pw|token|secret|key|auth|cred|cookie|jwt|bearer|sid|sess|sig|code|otp"
_STRONG = r"password|passwd|passphrase|passcode|passwort|pwd|pw|secret|token|api_?key|(?:access|secret|private|auth)key|pass"
_KEY_OF = frozenset(
    "api access secret private encryption signing master vault auth app account service ssh deploy license shared "
    "storage subscription consumer client admin server cipher aes hmac rsa gpg pgp webhook recovery x".split()
)  # fmt: skip
_KEY_PUBLIC = frozenset("public primary foreign cache sort partition idempotency row index hot object group".split())
_MODEL_WORDS = frozenset("pad bos eos unk sep cls mask next special stop start last first max min num per".split())
_TAILS = frozenset("value raw b64 base64 plain old new current prod production staging dev test live confirm".split())
_MAYBE = frozenset("key auth credential credentials creds jwt bearer sid sessid sessionid phpsessid otp token".split())
_QUERY = frozenset("sig signature code".split())
_PLAIN_WORDS = frozenset(
    "none null nil true false yes no on off required missing invalid empty unset undefined not changed expired hidden "
    "masked redacted removed ok wrong incorrect enabled disabled str string bytes int integer float float16 float32 "
    "float64 bool boolean text object any number optional basic default present absent revoked rotated saved "
    "the a an is must should cannot unknown unexpected todo changeme prompt stdin".split()
)  # fmt: skip
_ATTRIBUTES = frozenset("path domain expires max-age samesite version priority".split())


def _named(text: str) -> Iterator[_Span]:
    """Find values that a name, a header or a flag before them gives away."""
    for command in _pattern(_COMMAND).finditer(text):
        yield command.span(1 if command.group(1) else 2)
    hint, done = _pattern(_HINT), 0
    for found in _pattern(_NAME).finditer(text):
        name, start = found.group(1), found.start()
        if start < done or not hint.search(name):
            continue
        kind = _kind(_clean(name, text[start - 3 : start])[-80:])
        separator = found.group(2)
        if not kind or (">" in separator and "=" not in separator and text[start - 1 : start] != "<"):
            continue
        for begin, end in _judge(text, found, kind):
            done = max(done, end)
            yield begin, end


def _judge(text: str, found: re.Match[str], kind: str) -> Iterator[_Span]:
    separator, at = found.group(2).strip(" \t"), found.end()
    explicit = bool(separator) and separator[0] not in "iw"
    if kind == "cookie" and explicit:
        for pair in _pattern(r"([^\s=;,\"']++)=([^\s;,\"']++)|[;, \t\"]++").finditer(text, at, _line_end(text, at)):
            plain = pair.group(2) and len(pair.group(2)) < 8 and (pair.group(2).isalpha() or pair.group(2).isdigit())
            if pair.group(1) and pair.group(1).lower() not in _ATTRIBUTES and not plain:
                yield pair.span(2)
        return
    if kind == "header" and explicit:
        whole = _pattern(r"[\"']?(" + _WHOLE_LINE + ")").match(text, at)
        if whole:
            yield whole.span(1)
            return
        scheme = _pattern(r"\\*+[\"']?" + _SCHEME).match(text, at)
        at = scheme.end() if scheme else at
    value = _pattern(_VALUE).match(text, at)
    if not value:
        return
    group = value.lastindex or 0
    said = value.group(group)
    if MASK in said or _is_stand_in(said):
        return
    query = text[found.start() - 1 : found.start()] in ("?", "&")
    flag = found.group(1).startswith("--")
    if not explicit and not (flag and kind == "strong"):
        sure = _is_random(said) and (said.lower() != said or separator != "")
        sure = sure or (separator != "" and kind == "strong" and len(said) > 5 and any(c.isdigit() for c in said))
    elif kind == "strong" or kind == "header":
        prose = group == 5 and said.isalpha() and said.islower() and len(said) < 16
        spaced = text[found.end() - 1] in " \t" and _pattern(r"(?: [a-z]+){2}").match(text, value.end())
        pass_only = _pattern(r"(?i)(?:.*[_.-])?pass").fullmatch(found.group(1)) and len(said) < 6
        sure = not (prose and (spaced or kind == "header")) and not (pass_only or (said.isdigit() and len(said) < 6))
    else:
        sure = (query or kind != "query") and (_is_random(said) or (query and len(said) >= 16 and not _is_wordy(said)))
    if sure:
        yield value.span(group)


def _line_end(text: str, at: int) -> int:
    found = _pattern(r"\r|\n|\\[rn]|$").search(text, at)
    return found.start() if found else len(text)


def _clean(name: str, before: str) -> str:
    """Take off what an escape or a colour code before the name left on it."""
    if before.endswith("\\"):
        return name[1:]
    if before.endswith("%"):
        return name[2:]
    return _pattern(r"\d{1,3}m").sub("", name, 1) if before.endswith(("[", ";")) else name


@lru_cache(4096)
def _kind(name: str) -> str:
    """Say how sure a name makes us: strong, maybe, query, header, cookie, or the empty string for not at all."""
    words = [word.lower() for word in _pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+").findall(name)]
    while len(words) > 1 and words[-1] in _TAILS:
        words.pop()
    if not words:
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in ("authorization", "cookie"):
        return "header" if last == "authorization" else "cookie"
    if last in _QUERY:
        return "strong" if before == "access" else "query"
    if last == "token" and before in _MODEL_WORDS:
        return ""
    if last == "key" and before:
        return "strong" if before in _KEY_OF else "" if before in _KEY_PUBLIC else "maybe"
    strong = _pattern(rf"(?:.*(?:{_STRONG[:-5]})|pass)").fullmatch(last)
    return "strong" if strong else "maybe" if last in _MAYBE else ""


def _is_stand_in(value: str) -> bool:
    """Whether a value only says that there is one, or where it is kept."""
    pattern = (
        r"[*•.xX#?_-]*+|\$(?:\{.*|\(.*|[A-Z_][A-Z0-9_]*+)|%\w++%|\{\{?.*|<.*|\[.*|@.*|[A-Za-z_][\w.]*+\(.*|https?://.*"
        r"|(?:env|vault|keyring|file|op|secret|aws-sm)://?.*|(?:ssh-|ecdsa-|sk-ssh-|age1)\S{10,}.*"
        r"|(?:process\.env|os\.environ|self|this|config|settings|env|args|options|secrets|request)[.\[].*"
    )
    if value.lower() in _PLAIN_WORDS or _pattern(f"(?:{pattern})").fullmatch(value):
        return True
    path = _pattern(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\].*").fullmatch(value)
    return bool(path) and all(_is_wordy(part) for part in _pattern(r"[/\\~:]++").split(value) if part)


def _is_wordy(value: str) -> bool:
    """Whether a value is words and numbers with marks between them, as names of things are."""
    piece = r"(?:[A-Za-z][a-z]{0,19}|[A-Z]{1,12}|\d{1,8})"
    return bool(_pattern(rf"\.*+{piece}(?:[-_.+/]++{piece})*+").fullmatch(value))


def _is_random(value: str) -> bool:
    """Whether a value of sixteen characters or more looks drawn by lot, and is no digest or id."""
    if not _pattern(r"(?=[^0-9]*+[0-9])(?=[^A-Za-z]*+[A-Za-z])[A-Za-z0-9+/=_.~%-]{16,}+").fullmatch(value):
        return False
    ids = r"(?i:[0-9a-f]++|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:sha\d{1,3}|md5)[-:].*)|[0-7][0-9A-HJKMNP-TV-Z]{25}"
    return not _pattern(ids).fullmatch(value) and not _is_wordy(value)
