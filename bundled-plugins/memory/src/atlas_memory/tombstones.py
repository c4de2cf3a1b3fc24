"""What was forgotten, so that the same source does not teach it again: keyed hashes of words, never the words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime

from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE, Reading, Transaction
from atlas_sdk.spelling import DENSE, weight

from .key import Key

MOST_WORDS = 400
SHORTEST_WORDS = 3
_WORD = re.compile(r"\w+")
_TELLING = re.compile(rf"(?:(?<!\w)[-−+$€£¥](?=\d))?[^\W{DENSE}]+(?:[+#]+(?!\w)|(?<=\d)[%°])?|[{DENSE}]")
"""A sign of a script that has no spaces is a word of its own, so that a name is found inside a sentence."""


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in one case and form, so that spacing and punctuation do not count.

    The signs that make another word of one do: "C++" and "C#", "-5" and "5".
    """
    return tuple(_TELLING.findall(unicodedata.normalize("NFKC", text).casefold().replace("−", "-")))


def _bare(text: str) -> tuple[str, ...]:
    """Return the words without any sign, as an older Atlas kept them, and as a text may have them between signs."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


class Tombstones:
    """Keeps and looks up what was forgotten."""

    def __init__(self, services: Services, key: Key) -> None:
        self._services = services
        self._key = key

    async def put(self, texts: Sequence[str], conversations: Sequence[str], now: datetime) -> None:
        """Keep that these texts were forgotten, and in which conversations they had been said."""
        hashes = {(self._hash(words), len(words)) for text in texts if _tells(words := words_of(text)[:MOST_WORDS])}

        def work(transaction: Transaction) -> None:
            for hashed, count in hashes:
                for conversation in dict.fromkeys(("", *conversations)):
                    transaction.run(
                        "INSERT INTO memory_tombstone (hash, words, conversation, at) VALUES (:h, :w, :c, :at) "
                        "ON CONFLICT (hash, conversation) DO UPDATE SET at = excluded.at",
                        h=hashed,
                        w=count,
                        c=conversation,
                        at=now.isoformat(),
                    )

        await self._services.need(STORE).write(work)

    async def matches(self, text: str, conversations: Sequence[str]) -> dict[str, datetime]:
        """Return the hashes of what this text holds and was forgotten in one of these conversations, each with when.

        The conversation ``""`` stands for all of them, as a review sees it.
        """

        def work(reading: Reading) -> list[tuple[str, int, str]]:
            rows = reading.rows("SELECT hash, words, conversation, at FROM memory_tombstone")
            return [(row["hash"], int(row["words"]), row["at"]) for row in rows if row["conversation"] in conversations]

        known = await self._services.need(STORE).read(work)
        return self._held(_bare(text), known) | self._held(words_of(text), known)

    def _held(self, words: Sequence[str], known: Sequence[tuple[str, int, str]]) -> dict[str, datetime]:
        spans = list[tuple[int, int, str, datetime]]()
        for count in {count for _, count, _ in known}:
            there = {self._hash(words[at : at + count]): at for at in range(len(words) - count + 1)}
            for hashed, length, when in known:
                if length == count and hashed in there:
                    spans.append((there[hashed], there[hashed] + count, hashed, datetime.fromisoformat(when)))
        # What was forgotten as part of something longer is the part: who says the part anew has said it.
        least = [one for one in spans if not any(_within(other, one) for other in spans)]
        return {hashed: max(when for *_, other, when in least if other == hashed) for _, _, hashed, _ in least}

    def _hash(self, words: Sequence[str]) -> str:
        return self._key.digest(" ".join(words), of="")


def _tells(words: Sequence[str]) -> bool:
    """Whether words are enough to know a text by: what is left of "C++" is in too many others."""
    return weight("".join(words)) >= SHORTEST_WORDS


def _within(inner: tuple[int, int, str, datetime], outer: tuple[int, int, str, datetime]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1] and inner[:2] != outer[:2]
