"""The file of the vault's own key: its owner's alone, and on Windows sealed by the Windows account."""

from __future__ import annotations

import base64
import sys
from pathlib import Path

from atlas_sdk.errors import StorageError
from atlas_sdk.homes import replace_file

_SEALED = "DPAPI:"


def write_key(path: Path, key: str) -> None:
    """Write the key, for its owner alone. Raises StorageError."""
    if sys.platform == "win32":
        key = _SEALED + base64.b64encode(_dpapi(key.encode(), seal=True)).decode()
    replace_file(path, key + "\n")


def read_key(path: Path) -> str:
    """Return the key. Raises StorageError."""
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"The vault's key {path} cannot be read.", hint="Mend its permissions.") from error
    if sys.platform == "win32" and text.startswith(_SEALED):
        return _dpapi(base64.b64decode(text.removeprefix(_SEALED)), seal=False).decode()
    return text


if sys.platform == "win32":

    def _dpapi(data: bytes, *, seal: bool) -> bytes:
        """Seal or open bytes for this Windows account (CryptProtectData, CryptUnprotectData of crypt32)."""
        import ctypes
        from ctypes import wintypes

        class Blob(ctypes.Structure):
            _fields_ = [("size", wintypes.DWORD), ("data", ctypes.POINTER(ctypes.c_char))]  # ctypes' way

        buffer = ctypes.create_string_buffer(data, len(data))
        source, result = Blob(len(data), buffer), Blob()
        crypt32 = ctypes.windll.crypt32
        call = crypt32.CryptProtectData if seal else crypt32.CryptUnprotectData
        if not call(ctypes.byref(source), None, None, None, None, 0, ctypes.byref(result)):
            raise StorageError("Windows would not open the vault's key.", hint="Sign in as the user who made it.")
        try:
            return ctypes.string_at(result.data, result.size)
        finally:
            ctypes.windll.kernel32.LocalFree(result.data)
