"""Take secrets out of text before anybody reads or keeps it.

Two nets: the values we know, in every form they travel in, and the shapes of those we do not.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from atlas_sdk.secret_shapes import FINDERS

MASK = "***"
SHORTEST_KNOWN = 4  # a shorter value would take ordinary text with it
SHORTEST_FORM = 8  # the same for what an encoding makes of a value

_Span = tuple[int, int]
_BREAK = re.compile(r"(?:\\?\r?\n|(?:\\{1,4}+r)?\\{1,4}+n)[ \t]*+|\x1b\[[\d;]*+m")


class Masker:
    """Masks the values it was told of and whatever looks like a secret. Masking twice changes nothing."""

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
        return self._masked(text, (self._known, self._known_across_lines, *FINDERS))

    def mask_known(self, text: str) -> str:
        """Return the text with the values told of replaced, and what only looks like a secret left alone."""
        return self._masked(text, (self._known, self._known_across_lines)) if self._forms else text

    def _masked(self, text: str, finders: Iterable[Callable[[str], Iterable[_Span]]]) -> str:
        for find in finders:
            pieces, at = [], 0
            for start, end in sorted(span for span in find(text) if span[0] < span[1]):
                if start >= at:
                    pieces += [text[at:start], MASK]
                at = max(at, end)
            text = "".join([*pieces, text[at:]])
        return text

    def _known(self, text: str) -> Iterator[_Span]:
        for form in self._forms:
            start = text.find(form)
            while start >= 0:
                yield start, start + len(form)
                start = text.find(form, start + len(form))

    def _known_across_lines(self, text: str) -> Iterator[_Span]:
        """Find values that a wrap, a continuation or a colour cuts in two."""
        starts, gaps, pieces, at = [0], [0], [], 0
        for found in _BREAK.finditer(text) if self._forms else ():
            pieces.append(text[at : found.start()])
            at = found.end()
            gaps.append(gaps[-1] + found.end() - found.start())
            starts.append(at - gaps[-1])
        for start, end in self._known("".join([*pieces, text[at:]])) if pieces else ():
            first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
            yield start + gaps[first], end + gaps[last]


def _forms(value: str) -> Iterator[str]:
    """Yield the value as it is written in shells, JSON, HTML, addresses, hex and base64."""
    import base64
    import html
    import json
    from urllib.parse import quote, quote_plus

    if len(value.strip()) < SHORTEST_KNOWN:
        return
    lines = {line.strip() for line in value.splitlines()} if "\n" in value else set()
    for one in {value, value.strip(), *(line for line in lines if len(line) >= 16 and line[0] != "-")}:
        data = one.encode("utf-8", "surrogatepass")
        escaped = {json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1], repr(one)[1:-1]}
        yield from (one, *escaped, *(json.dumps(form)[1:-1] for form in escaped))
        yield from (html.escape(one), html.escape(one, quote=False), one.replace("'", "'\\''"))
        for form in {quote_plus(data), *(quote(data, safe) for safe in ("", "/", "!'()*~.", ":/?#[]@!$&'()*+,;="))}:
            yield from (form, re.sub("%[0-9A-F]{2}", lambda hit: hit.group().lower(), form))
        every = "".join(f"%{byte:02x}" for byte in data)
        encoded = [every, every.upper(), "".join(f"\\x{byte:02x}" for byte in data)]
        # Windows and PowerShell encode text by sixteen bits.
        wide = [one.encode(name, "surrogatepass") for name in ("utf-16-le", "utf-16-be")]
        for each in (data, *wide):
            spaced = [each.hex(separator) for separator in (" ", ":", "-")]
            encoded += [each.hex(), each.hex().upper(), each.hex(" ", -2), *spaced, *(form.upper() for form in spaced)]
            for encode in (base64.b64encode, base64.urlsafe_b64encode):
                encoded += [encode(each).decode(), encode(each).decode().rstrip("=")]
                for before in range(3):
                    # What the value alone decides, wherever it stands inside a longer text that was encoded.
                    whole = encode(b"\0" * before + each).decode()
                    encoded.append(whole[-(-8 * before // 6) : 8 * (before + len(each)) // 6])
        yield from (form for form in encoded if len(form) >= SHORTEST_FORM)
