"""The key of a home, by which digests of what is remembered are made: nobody guesses a short text from one."""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections.abc import Callable
from pathlib import Path

from atlas_sdk.errors import StorageError
from atlas_sdk.regular_file import read_regular
from atlas_sdk.whole_file import write_whole

KEY_BYTES = 32


class Key:
    """Random, made when it is first needed, and in a file of the plugin's own, outside the database it serves."""

    def __init__(self, data_folder: Callable[[], Path]) -> None:
        self._folder = data_folder
        self._lock = threading.Lock()
        self._known = b""

    def digest(self, text: str, *, of: str) -> str:
        """Return the keyed digest of a text, in hex; ``of`` keeps apart what is digested for different ends."""
        return hmac.new(self._key(), f"{of}{text}".encode(), hashlib.sha256).hexdigest()

    def _key(self) -> bytes:
        with self._lock:  # two writers of a new home must not make two
            if not self._known:
                self._known = self._read()
        return self._known

    def _read(self) -> bytes:
        file = self._folder() / "tombstones.key"
        try:
            if not file.exists():
                write_whole(file, os.urandom(KEY_BYTES).hex())
            return bytes.fromhex(read_regular(file, most_bytes=1_000).decode())
        except (OSError, ValueError) as error:
            raise StorageError(
                f"The memory's key {file} cannot be read or made ({error}).",
                hint="Mend its permissions, or put it back from a copy of the home.",
                code="memory_key",
            ) from error
