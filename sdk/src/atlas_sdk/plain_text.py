"""Text of somebody else's, on its way to a terminal."""

from __future__ import annotations

import re

# C0 and C1 but tab and line feed, and what turns the direction of writing (Unicode 16, Bidi_Control).
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Return a text that can do nothing to a terminal but be read.

    A terminal obeys control characters: they clear what was asked, write over it, or reach the clipboard. Each
    becomes U+FFFD, so that it is seen that something was there.
    """
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))
