"""Secrets that stand in a text: by their shape, by their name in several languages, seed phrases and cards."""

from __future__ import annotations

import re

from ..secret_shapes import FINDERS
from .patterns import pattern

_NAMED = pattern("secrets", "named")
_SEED = pattern("secrets", "seed")
_CARD = re.compile(r"(?<![\d.-])(?:\d[ -]?){12,18}\d(?![\d.-])")
_CARD_WORD = re.compile(r"\b(?:card|visa|mastercard|amex|karte|tarjeta|carte|cartao|carta)\b")


def holds_secret(text: str, plain: str) -> bool:
    """Whether a text holds a secret. ``plain`` is its plain reading."""
    if any(True for finder in FINDERS for _ in finder(text)):
        return True
    for found in _NAMED.finditer(plain):
        value = found[1]
        if re.search(r"\d", value) and re.search(r"[^\W\d]", value) and not re.match(r"https?:|[~/]|\d[-\w]*$", value):
            return True
    if _SEED.search(plain):
        return True
    return _CARD_WORD.search(plain) is not None and any(_is_card(found.group()) for found in _CARD.finditer(plain))


def _is_card(text: str) -> bool:
    """Whether digits pass the check that every card's number passes (Luhn)."""
    digits = [int(char) for char in text if char.isdigit()]
    total = sum(digit if at % 2 == 0 else sum(divmod(digit * 2, 10)) for at, digit in enumerate(reversed(digits)))
    return total % 10 == 0 and len(set(digits)) > 1
