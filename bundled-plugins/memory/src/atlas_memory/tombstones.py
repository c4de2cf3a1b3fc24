"""What was forgotten, so that the same source does not teach it again: keyed hashes of words, never the words."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from atlas_sdk.services import Services
from atlas_sdk.services.store import STORE, Reading, Transaction

from .files import write_whole

KEY_BYTES = 32
MOST_WORDS = 400
_WORD = re.compile(r"\w+")


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in one case and form, so that spacing and punctuation do not count."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


class Tombstones:
    """Keeps and looks up what was forgotten. The key of the hashes is a file of the plugin's own."""

    def __init__(self, services: Services, data_folder: Callable[[], Path]) -> None:
        self._services = services
        self._folder = data_folder

    async def put(self, texts: Sequence[str], conversations: Sequence[str], now: datetime) -> None:
        """Keep that these texts were forgotten, and in which conversations they had been said."""
        hashes = {(self._hash(words), len(words)) for text in texts if (words := words_of(text)[:MOST_WORDS])}

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

    async def matches(self, text: str, conversations: Sequence[str]) -> datetime | None:
        """Return when something this text holds was last forgotten in one of these conversations, or None.

        The conversation ``""`` stands for all of them, as a review sees it.
        """

        def work(reading: Reading) -> list[tuple[str, int, str]]:
            rows = reading.rows("SELECT hash, words, conversation, at FROM memory_tombstone")
            return [(row["hash"], int(row["words"]), row["at"]) for row in rows if row["conversation"] in conversations]

        known = await self._services.need(STORE).read(work)
        if not known:
            return None
        return self._newest(text, known)

    def holds(self, text: str, since: Sequence[str]) -> bool:
        """Whether any of these texts has all the words of another in a row."""
        words = words_of(text)
        return any(_in_a_row(words, words_of(one)) for one in since)

    def _newest(self, text: str, known: Sequence[tuple[str, int, str]]) -> datetime | None:
        words, found = words_of(text), [""]
        for count in {count for _, count, _ in known}:
            hashes = {self._hash(words[at : at + count]) for at in range(len(words) - count + 1)}
            found += [at for hashed, length, at in known if length == count and hashed in hashes]
        return datetime.fromisoformat(max(found)) if max(found) else None

    def _hash(self, words: Sequence[str]) -> str:
        return hmac.new(self._key(), " ".join(words).encode(), hashlib.sha256).hexdigest()

    def _key(self) -> bytes:
        file = self._folder() / "tombstones.key"
        if not file.exists():
            write_whole(file, os.urandom(KEY_BYTES).hex())
        return bytes.fromhex(file.read_text())


def _in_a_row(words: Sequence[str], others: Sequence[str]) -> bool:
    count = len(others)
    return bool(count) and any(tuple(words[at : at + count]) == tuple(others) for at in range(len(words) - count + 1))
