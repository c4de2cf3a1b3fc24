"""Reading an https address in a worker thread: bounded in bytes and time, and from no other host than the one named."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

import anyio.from_thread
import anyio.to_thread

from atlas_sdk.errors import AtlasError, NotFoundError, RefusedError

from .address import is_loopback

ARCHIVE_BYTES = 128 * 1024 * 1024
SECONDS = 180.0
SILENCE_SECONDS = 20.0
REDIRECTS = 3
_CHUNK_BYTES = 64 * 1024


async def read(url: str, *, most_bytes: int) -> bytes:
    """Return what an address answers. Raises AtlasError with the reason."""
    found = bytearray()
    await anyio.to_thread.run_sync(partial(_get, url, found.extend, most_bytes))
    return bytes(found)


async def save(url: str, file: Path, *, most_bytes: int = ARCHIVE_BYTES) -> None:
    """Write what an address answers to a file. Raises AtlasError with the reason."""

    def write() -> None:
        with file.open("xb") as stream:
            _get(url, stream.write, most_bytes)

    await anyio.to_thread.run_sync(write)


def _get(url: str, take: Callable[[bytes], Any], most_bytes: int) -> None:
    import http.client
    import urllib.error

    host = urlsplit(url).hostname or ""
    end, first = time.monotonic() + SECONDS, url
    try:
        for _ in range(REDIRECTS + 1):
            _look(url, urlsplit(first).netloc)
            answer, moved = _open(url)
            with answer:
                if moved is None:
                    _pump(answer, take, most_bytes, end, host)
                    return
                url = urljoin(url, moved)
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (404, 410):
                raise NotFoundError(f"{host} has nothing at {_shown(url)}.", code="not_found") from None
            raise AtlasError(f"{host} answered {error.code} for {_shown(url)}.", hint="Try again later.") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        raise AtlasError(
            f"{host} could not be reached: {said[:200].rstrip('.')}.", hint="Check the connection.", code="unreachable"
        ) from error
    raise AtlasError(f"{host} sends from one address to the next without end.")


def _look(url: str, named: str) -> None:
    """Refuse an address that is not encrypted, and a redirect to a host that nobody named."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise RefusedError(f"{_shown(url)} is not fetched: only https addresses are.")
    if parts.netloc != named:
        to = _shown(url).removeprefix(f"{parts.scheme}://").partition("/")[0]
        raise RefusedError(f"{named.rpartition('@')[2]} sends on to {to}, which nobody named; nothing is read there.")


def _shown(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"[:200]


def _open(url: str) -> tuple[Any, str | None]:
    """Ask once; return the answer, and where it sends on to."""
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object, **__: object) -> None:
            return None

    handlers: list[Any] = [Stay]
    if is_loopback(urlsplit(url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"user-agent": "atlas", "accept-encoding": "identity"})
    try:
        return urllib.request.build_opener(*handlers).open(request, timeout=SILENCE_SECONDS), None
    except urllib.error.HTTPError as error:
        if error.code in (301, 302, 303, 307, 308) and (to := error.headers.get("location")):
            return error, to
        raise


def _pump(answer: IO[bytes], take: Callable[[bytes], Any], most_bytes: int, end: float, host: str) -> None:
    left = most_bytes
    while chunk := answer.read(_CHUNK_BYTES):
        anyio.from_thread.check_cancelled()
        left -= len(chunk)
        if left < 0:
            raise RefusedError(f"{host} sends over {most_bytes:,} bytes, which is more than is taken.")
        if time.monotonic() > end:
            raise AtlasError(f"{host} took over {SECONDS:.0f} seconds.", hint="Try again later.")
        take(chunk)
    length = getattr(answer, "length", 0)
    if length:  # what http.client still waits for when the line went dead
        raise AtlasError(f"{host} broke off in the middle.", hint="Try again.")
