"""One small GET in a worker thread: what checks and probes need, without loading a provider's SDK."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import anyio.lowlevel
import anyio.to_thread

LIMIT_BYTES = 8 * 1024 * 1024
"""The longest answer read: OpenRouter's list of models, the longest known, is under one."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Answer:
    """What came back. ``body`` is its JSON, or None where it is none."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


async def get_json(url: str, headers: Mapping[str, str], *, timeout_seconds: float) -> Answer:
    """Ask once. Redirects are not followed, so a key goes nowhere else. Raises OSError where nobody answers."""
    with anyio.fail_after(timeout_seconds + 0.5):
        return await anyio.to_thread.run_sync(
            partial(_get, url, dict(headers), timeout_seconds), abandon_on_cancel=True, limiter=_limiter()
        )


_own = threading.local()
LIMIT_THREADS = 8


def _limiter() -> anyio.CapacityLimiter:
    """The threads of this event loop's checks: not the shared ones, which a hanging server would use up."""
    token = anyio.lowlevel.current_token()
    if getattr(_own, "token", None) is not token:
        _own.token, _own.limiter = token, anyio.CapacityLimiter(LIMIT_THREADS)
    limiter: anyio.CapacityLimiter = _own.limiter
    return limiter


def _get(url: str, headers: dict[str, str], timeout_seconds: float) -> Answer:
    import http.client
    import urllib.error
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object, **__: object) -> None:
            return None

    handlers: list[Any] = [NoRedirect]
    if urlsplit(url).hostname in LOOPBACK:
        handlers.append(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"accept": "application/json", **headers})
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_seconds) as response:
            return Answer(response.status, _parse(response.read(LIMIT_BYTES)), _lower(response.headers))
    except urllib.error.HTTPError as refused:
        with refused:
            return Answer(refused.code, _parse(refused.read(LIMIT_BYTES)), _lower(refused.headers))
    except http.client.HTTPException as broken:
        raise OSError(str(broken)) from None


def _parse(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in headers.items()}
