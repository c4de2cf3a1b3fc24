"""Finding what looks like a secret in a text, and saying where without saying it. Pure."""

from __future__ import annotations


def secrets_in(text: str) -> list[str]:
    """Return the place of each stretch that looks like a secret, as ``line 3``."""
    from atlas_sdk.secret_shapes import FINDERS

    starts = sorted({span[0] for find in FINDERS for span in find(text)})
    return list(dict.fromkeys(f"line {text.count(chr(10), 0, start) + 1}" for start in starts))
