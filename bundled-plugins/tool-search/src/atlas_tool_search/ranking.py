"""Which tools a query means: exact names first, then BM25 over what is known of each tool. Pure."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Sequence

from atlas_sdk.tools import Tool

# The usual values of BM25: how soon a repeated word stops counting, and how much long texts are held back.
_SATURATION = 1.2
_LENGTH = 0.75
_NAME_WEIGHT = 3  # a word in a tool's name says more of it than one in its description
_NEAR_NAMES = 3
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")


def best(query: str, tools: Sequence[Tool], limit: int) -> list[Tool]:
    """Return the tools the query means, the best first: at most ``limit``, and none that shares no word with it."""
    asked = {word.casefold() for word in (query.strip(), *query.split())}
    exact = [tool for tool in tools if tool.name.casefold() in asked]
    others = [tool for tool in tools if tool not in exact]
    scores = _scores(words(query), [_document(tool) for tool in others])
    ranked = sorted(zip(scores, others, strict=True), key=lambda pair: (-pair[0], pair[1].name))
    return [*exact, *(tool for score, tool in ranked if score > 0)][:limit]


def near(name: str, tools: Sequence[Tool]) -> list[str]:
    """Return names that one may have meant: spelt alike, or made of the same words."""
    names = {tool.name.casefold(): tool.name for tool in tools}
    alike = [names[found] for found in difflib.get_close_matches(name.casefold(), names, _NEAR_NAMES)]
    return list(dict.fromkeys([*alike, *(tool.name for tool in best(name, tools, _NEAR_NAMES))]))[:_NEAR_NAMES]


def words(text: str) -> list[str]:
    """Return the words of a text: names are taken apart at ``_`` and between ``camelCase``, plurals are singular."""
    return [_singular(word.casefold()) for word in _WORD.findall(_CAMEL.sub(" ", text))]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _document(tool: Tool) -> list[str]:
    parameters = tool.parameters.get("properties", {}) if isinstance(tool.parameters, dict) else {}
    rest = " ".join((tool.source, tool.description, *parameters))
    return words(tool.name) * _NAME_WEIGHT + words(rest)


def _scores(query: list[str], documents: list[list[str]]) -> list[float]:
    """Return BM25's score of each document."""
    usual = sum(map(len, documents)) / len(documents) if documents else 0.0
    counts = [Counter(document) for document in documents]
    weights: dict[str, float] = {}
    for word in set(query):
        having = sum(1 for count in counts if word in count)
        weights[word] = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
    return [
        sum(
            weight * count[word] * (_SATURATION + 1)
            / (count[word] + _SATURATION * (1 - _LENGTH + _LENGTH * len(document) / usual))
            for word, weight in weights.items()
            if word in count
        )
        for count, document in zip(counts, documents, strict=True)
    ]  # fmt: skip
