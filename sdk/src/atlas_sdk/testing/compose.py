"""Composing a home with the plugins of a test. The kernel does it, so it must be installed."""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import AsyncIterator, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any

from ..context import Clock
from ..errors import NotFoundError
from ..homes import Home
from ..manifest import Manifest

ANYTHING: tuple[str, ...] = ("*",)


@asynccontextmanager
async def open_home(
    home: Home,
    plugins: Iterable[str] = (),
    *,
    objects: Mapping[str, object] | None = None,
    manifests: Iterable[Manifest] = (),
    config: str | None = None,
    environ: MutableMapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> AsyncIterator[Any]:
    """Open a home with exactly these plugins, all of them on, and yield the kernel's App.

    ``plugins`` are installed ones by name; ``objects`` are plugin objects by name. An object without a manifest
    in ``manifests`` may contribute any tool, provider, channel, executor, reader and command; services and
    sections must be named, so it needs a manifest for those.
    """
    declared = {manifest.name: manifest for manifest in manifests}
    found = {name: _installed(name) for name in plugins}
    for name in objects or {}:
        found[name] = declared.pop(name) if name in declared else _undeclared(name)
    found.update(declared)
    if config is not None:
        home.config.write_text(config, encoding="utf-8")
    given = {name: replace(manifest, source="bundled", on=True) for name, manifest in found.items()}
    log = logging.getLogger("atlas")
    kept = (log.level, log.propagate)
    try:
        async with _kernel("app:open_app")(
            home,
            environ={} if environ is None else environ,
            flags=flags,
            clock=clock,
            found=_kernel("discovery:Found")(given, {}),
            objects=objects or {},
        ) as app:
            yield app
    finally:
        log.level, log.propagate = kept  # an open home writes its own log; the next test may look at pytest's


def _installed(name: str) -> Manifest:
    manifest = _discovered().get(name)
    if manifest is None:
        known = ", ".join(sorted(_discovered())) or "none"
        raise NotFoundError(f"There is no plugin {name!r} installed.", hint=f"Those there are: {known}.")
    return manifest


@cache
def _discovered() -> Mapping[str, Manifest]:
    found: Mapping[str, Manifest] = _kernel("discovery:discover")().manifests
    return found


def _undeclared(name: str) -> Manifest:
    """Return the manifest of an object that may contribute anything but services and sections."""
    return Manifest(
        name,
        tools=ANYTHING,
        providers=ANYTHING,
        channels=ANYTHING,
        executors=ANYTHING,
        readers=ANYTHING,
        commands=ANYTHING,
    )


def _kernel(what: str) -> Any:
    """Return something of the kernel. The SDK's own code never knows it: this is for tests alone, at their call."""
    try:
        return pkgutil.resolve_name(f"atlas_kernel.{what}")
    except ModuleNotFoundError as error:
        if error.name != "atlas_kernel":
            raise
        raise NotFoundError(
            "The fixture atlas_app opens a whole home, and atlas-kernel is not installed.",
            hint="Install it beside the SDK (pip install atlas-kernel), or use the fixture atlas_context.",
        ) from error
