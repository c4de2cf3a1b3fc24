"""Builds the archives of ``tests/corpora/bad-archives.json``, good and bad, byte by byte where no library would."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import sqlite3
import struct
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[1] / "corpora" / "bad-archives.json").read_text("utf-8")
)
BUILT = ("zip", "tar.gz", "raw")
"""The kinds of recipe that are a file; the others need a server, a repository or a home."""


_LARGE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Recipe:
    """One case of the corpus."""

    id: str
    title: str
    about: tuple[str, ...]
    build: dict[str, Any]
    expect: str
    must_hold: tuple[str, ...]

    def __str__(self) -> str:
        return self.id

    @property
    def ending(self) -> str:
        return ".tar.gz" if self.build["kind"] == "tar.gz" else ".zip"

    def bytes(self) -> bytes:
        """Return the finished archive."""
        kind = self.build["kind"]
        if kind == "raw":
            return str(self.build["data"]).encode()
        replaced = {entry.get("name") for entry in self.build["entries"] if entry.get("replace")}
        entries = [entry for entry in CORPUS["bases"][self.build["base"]] if entry["name"] not in replaced]
        entries += self.build["entries"]
        data = make_zip(entries, self.build) if kind == "zip" else make_tar(entries)
        for change in self.build.get("patch", []):
            data = patched(data, change)
        return data


def recipes() -> list[Recipe]:
    """Return every recipe."""
    return [
        Recipe(one["id"], one["title"], tuple(one["for"]), one["build"], one["expect"], tuple(one["must_hold"]))
        for one in CORPUS["recipes"]
    ]


def recipe(id: str) -> Recipe:
    return next(one for one in recipes() if one.id == id)


def make_zip(entries: list[dict[str, Any]], options: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    packing = zipfile.ZIP_STORED if options.get("store") else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(buffer, "w", packing, compresslevel=1) as archive:
        for entry in entries:
            for name in _names(entry):
                info = zipfile.ZipInfo(name, (2026, 7, 1, 10, 0, 0))
                info.filename = name
                info.compress_type = packing
                info.external_attr = 0o100644 << 16
                body = _content(entry)
                if "symlink" in entry:
                    info.external_attr = 0o120777 << 16
                    body = [entry["symlink"].encode()]
                if "mode" in entry:
                    info.external_attr = (0o100000 | int(entry["mode"], 8)) << 16
                if entry.get("dir"):
                    info.external_attr = 0o040755 << 16
                    body = []
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a name that is there twice is meant
                    opened = archive.open(info, "w", force_zip64=bool(options.get("zip64")))
                with opened as file:
                    for chunk in body:
                        file.write(chunk)
    return buffer.getvalue()


def make_tar(entries: list[dict[str, Any]], *, comment: str = "") -> bytes:
    bomb = next((entry for entry in entries if entry.get("zeros", 0) > _LARGE_BYTES), None)
    if bomb is not None:
        return _tar_bomb([entry for entry in entries if entry is not bomb], bomb)
    buffer = io.BytesIO()
    headers = {"comment": comment} if comment else {}
    with tarfile.open(
        fileobj=buffer, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT, pax_headers=headers
    ) as archive:
        for entry in entries:
            for name in _names(entry):
                info = tarfile.TarInfo(name)
                body = b""
                if "symlink" in entry:
                    info.type, info.linkname = tarfile.SYMTYPE, entry["symlink"]
                elif "hardlink" in entry:
                    info.type, info.linkname = tarfile.LNKTYPE, entry["hardlink"]
                elif "device" in entry:
                    info.type, info.devmajor, info.devminor = tarfile.CHRTYPE, 1, 3
                elif "fifo" in entry:
                    info.type = tarfile.FIFOTYPE
                else:
                    body = b"".join(_content(entry))
                    info.size = len(body)
                archive.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


def _tar_bomb(entries: list[dict[str, Any]], bomb: dict[str, Any]) -> bytes:
    """Return a tar.gz with one huge file of zeros, packed in pieces of which each is packed once."""
    info = tarfile.TarInfo(bomb["name"])
    info.size = bomb["zeros"]
    before = gzip.decompress(make_tar(entries)).rstrip(b"\0")
    before += bytes(-len(before) % tarfile.BLOCKSIZE)
    piece = gzip.compress(bytes(_LARGE_BYTES), 1)
    pieces = piece * (info.size // _LARGE_BYTES)
    return gzip.compress(before + info.tobuf()) + pieces + gzip.compress(bytes(2 * tarfile.BLOCKSIZE))


def tree(files: dict[str, str], *, top: str = "", comment: str = "") -> bytes:
    """Return a tar.gz of texts by their path, as a host serves a repository: in one folder, with its commit."""
    entries = [{"name": f"{top}/{name}".strip("/"), "data": text} for name, text in files.items()]
    return make_tar(entries, comment=comment)


def _names(entry: dict[str, Any]) -> Iterator[str]:
    if "name_repeat" in entry:
        yield entry["name_repeat"][0] * entry["name_repeat"][1] + entry.get("suffix", "")
    elif "count" in entry:
        yield from (entry["name"].replace("{i}", str(number)) for number in range(entry["count"]))
    else:
        yield entry["name"]


def _content(entry: dict[str, Any]) -> list[bytes]:
    """Return a file's content in pieces, since a bomb's would fill the memory."""
    if "sqlite" in entry:
        return [_database(entry["sqlite"])]
    if "zeros" in entry:
        piece = bytes(1024 * 1024)
        return [piece] * (entry["zeros"] // len(piece))
    if "random" in entry:
        return [random.Random(entry["name"]).randbytes(entry["random"])]
    if "data_repeat" in entry:
        return [(entry["data_repeat"][0] * entry["data_repeat"][1]).encode()]
    if "zip_of" in entry:
        return [make_zip(entry["zip_of"], {})]
    return [str(entry.get("data", "")).encode()]


def _database(state: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        database = sqlite3.connect(path)
        database.executescript(
            "create table conversations(id integer primary key, title text);"
            "create table messages(id integer primary key,"
            " conversation integer references conversations(id), body text);"
        )
        if state != "empty":
            database.executemany("insert into conversations values(?,?)", [(i, f"t{i}") for i in range(50)])
            rows = [(i, i % 50, "x" * 200) for i in range(500)]
            database.executemany("insert into messages values(?,?,?)", rows)
        if state == "extra-trigger":
            database.execute("create trigger t after insert on messages begin delete from conversations; end")
            database.execute("create view v as select * from messages")
        if state == "broken-fk":
            database.execute("insert into messages values(9999, 424242, 'orphan')")
        if state.startswith("user_version="):
            database.execute(f"pragma user_version={int(state.partition('=')[2])}")
        database.commit()
        database.close()
        data = bytearray(path.read_bytes())
    if state == "bad-page":
        data[4096:8192] = os.urandom(4096)
    return bytes(data)


def _headers(data: bytes, name: str) -> tuple[int, int]:
    """Return where the local and the central header of a name are in a zip."""
    wanted, found = name.encode(), []
    for mark, fixed, length in ((b"PK\x03\x04", 30, 26), (b"PK\x01\x02", 46, 28)):
        at = last = -1
        while (at := data.find(mark, at + 1)) >= 0:
            size = struct.unpack_from("<H", data, at + length)[0]
            if data[at + fixed : at + fixed + size] == wanted:
                last = at
        found.append(last)
    return found[0], found[1]


def patched(data: bytes, change: dict[str, Any]) -> bytes:
    """Return a finished zip with one thing in it wrong."""
    found = bytearray(data)
    local, central = _headers(data, change["entry"]) if "entry" in change else (0, 0)

    def word(at: int) -> int:
        return int(struct.unpack_from("<H", found, at)[0])

    match change["op"]:
        case "truncate":
            return data[: int(len(data) * change["keep"])]
        case "prepend":
            return str(change["data"]).encode() + data
        case "append_zip":
            return data + make_zip(change["entries"], {})
        case "wrong_crc":
            found[local + 14] ^= 0xFF
            found[central + 16] ^= 0xFF
        case "flip_byte":
            start = local + 30 + word(local + 26) + word(local + 28)
            found[start + struct.unpack_from("<I", found, central + 20)[0] // 2] ^= 0x10
        case "rename_local":
            found[local + 30 : local + 30 + len(change["to"])] = change["to"].encode()
        case "declare_size":
            struct.pack_into("<I", found, local + 22, change["size"])
            struct.pack_into("<I", found, central + 24, change["size"])
        case "set_flag":
            for at in (local + 6, central + 8):
                struct.pack_into("<H", found, at, word(at) | 1 << change["bit"])
        case "set_method":
            struct.pack_into("<H", found, local + 8, change["method"])
            struct.pack_into("<H", found, central + 10, change["method"])
        case "set_date":
            struct.pack_into("<I", found, local + 10, change["raw"])
            struct.pack_into("<I", found, central + 12, change["raw"])
        case "alias_central":
            return _aliased(data, central, change["copies"])
        case other:
            raise ValueError(other)
    return bytes(found)


def _aliased(data: bytes, central: int, copies: int) -> bytes:
    """Return a zip whose one entry is listed under many names."""
    end = data.rfind(b"PK\x05\x06")
    length = 46 + sum(struct.unpack_from("<HHH", data, central + 28))
    record = data[central : central + length]
    extra = b"".join(record[:46] + f"{number:03d}".encode() + record[49:] for number in range(copies))
    tail = bytearray(data[end:])
    total = struct.unpack_from("<H", tail, 10)[0] + copies
    struct.pack_into("<HH", tail, 8, total, total)
    struct.pack_into("<I", tail, 12, struct.unpack_from("<I", tail, 12)[0] + len(extra))
    return data[:end] + extra + bytes(tail)
