"""Requests of a plugin over HTTP, whose hosts its owner can look up afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from .audit import Audit
from .context import PluginContext
from .manifest import Manifest
from .services.home import HOME

if TYPE_CHECKING:
    import httpx2

_PORTS = {"http": 80, "https": 443}


def http_client(ctx: PluginContext, manifest: Manifest | None = None, **options: Any) -> httpx2.AsyncClient:
    """Return a client of httpx that notes each host it asks, to be left with ``async with``.

    ``options`` are those of ``httpx2.AsyncClient``. The host of each request, of a redirect too, is put into the
    plugin's log (``atlas plugins log NAME``) before it is asked; one that neither ``network`` in the manifest nor a
    setting names is asked all the same, and the log says so.
    """
    import httpx2

    audit = Audit(ctx.home, ctx.name, ctx.clock)
    known = _known(ctx, manifest or _manifest(ctx))

    async def note(request: httpx2.Request) -> None:
        url = request.url
        port = url.port
        host = url.host if port in (None, _PORTS.get(url.scheme)) else f"{url.host}:{port}"
        is_known = any(fnmatchcase(name.lower(), one) for one in known for name in (url.host, host))
        audit.note("host", host, "asked" if is_known else "asked, and the manifest's network does not name it")

    hooks = options.pop("event_hooks", {})
    return httpx2.AsyncClient(event_hooks={**hooks, "request": [*hooks.get("request", ()), note]}, **options)


def _manifest(ctx: PluginContext) -> Manifest | None:
    home = ctx.services.get(HOME)
    return next((one for one in home.manifests() if one.name == ctx.name), None) if home is not None else None


def _known(ctx: PluginContext, manifest: Manifest | None) -> Sequence[str]:
    """Return the hosts that the owner was shown: those of the manifest, and those that are in a setting."""
    from urllib.parse import urlsplit

    if manifest is None:
        return ()
    shown = [*manifest.network, *(str(ctx.setting(one.name) or "") for one in manifest.settings)]
    found = []
    for text in shown:
        try:
            where = urlsplit(text if "://" in text else f"//{text}")
            found += [text.lower(), (where.hostname or "").lower(), where.netloc.rpartition("@")[2].lower()]
        except ValueError:  # a setting that is no address
            continue
    return [one for one in found if one]
