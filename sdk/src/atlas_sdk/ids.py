"""Ids that sort by time and never meet, not even across machines."""

from __future__ import annotations

import os
import time

_last_milliseconds = 0
_last_counter = 0
_COUNTER_BITS = 12


def new_id() -> str:
    """Return a fresh UUID of version 7 as text.

    Ids made by one process increase strictly, also within a millisecond, so sorting by id is sorting by
    time. The layout is that of RFC 9562, section 5.7, with the 12 bits of ``rand_a`` as a counter.
    """
    global _last_milliseconds, _last_counter
    milliseconds = time.time_ns() // 1_000_000
    if milliseconds > _last_milliseconds:
        _last_milliseconds, _last_counter = milliseconds, 0
    else:
        _last_counter += 1
        if _last_counter >> _COUNTER_BITS:
            _last_milliseconds, _last_counter = _last_milliseconds + 1, 0
    tail = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    value = (_last_milliseconds << 80) | (0x7 << 76) | (_last_counter << 64) | (0b10 << 62) | tail
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
