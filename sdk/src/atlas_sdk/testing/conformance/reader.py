"""What a reader of attachments promises: text out of a file, the file as it was, a prompt end."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from ...readers import Reader
from ..suite import suite
from .patience import CANCEL_SECONDS, cancelled_after


@dataclass
class ReaderBench:
    """A reader and a file of its kind."""

    reader: Reader
    path: Path
    media_type: str


@suite("reader")
@asynccontextmanager
async def check_reader(reader: Reader, path: Path, media_type: str) -> AsyncIterator[ReaderBench]:
    """Check a Reader with a file it can read and the file's media type."""
    yield ReaderBench(reader, path, media_type)


@check_reader.promise
async def its_kind_is_the_first_half_of_a_media_type(bench: ReaderBench) -> None:
    """``audio``, not ``audio/ogg``; and the file given is of that kind."""
    assert re.fullmatch(r"[a-z]+", bench.reader.kind), bench.reader.kind
    assert bench.media_type.partition("/")[0] == bench.reader.kind


@check_reader.promise
async def it_returns_the_files_text(bench: ReaderBench) -> None:
    """A text that says something: an empty one counts as not read."""
    text = await bench.reader.read(bench.path, bench.media_type)
    assert isinstance(text, str)
    assert text.strip()


@check_reader.promise
async def it_leaves_the_file_as_it_was(bench: ReaderBench) -> None:
    """The bytes are those of the hash they are kept under, and nothing is put beside them."""
    path = anyio.Path(bench.path)
    before = (await path.read_bytes(), {str(entry) async for entry in path.parent.iterdir()})
    await bench.reader.read(bench.path, bench.media_type)
    assert (await path.read_bytes(), {str(entry) async for entry in path.parent.iterdir()}) == before


@check_reader.promise
async def a_file_that_is_gone_is_no_text(bench: ReaderBench) -> None:
    """It raises, or returns nothing; the file's note then stays as it was."""
    text = ""
    try:
        text = await bench.reader.read(bench.path.with_name("gone.bin"), bench.media_type)
    except Exception:  # noqa: BLE001  # the contract lets a reader raise anything
        return
    assert not text.strip()


@check_reader.promise
async def cancelling_it_returns_within_a_second(bench: ReaderBench) -> None:
    """Reading has a bound, and the message goes on without the text."""
    took = await cancelled_after(lambda: bench.reader.read(bench.path, bench.media_type))
    assert took < CANCEL_SECONDS, f"It took {took:.1f} seconds."
