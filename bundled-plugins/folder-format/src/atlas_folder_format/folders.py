"""The service FOLDERS: a plugin folder, or a package's, made into an object with hooks."""

from __future__ import annotations

import importlib
import itertools
import sys
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from types import ModuleType

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError
from atlas_sdk.folder_source import PREFIX, folder_spec
from atlas_sdk.loading import in_one_process
from atlas_sdk.manifest import Manifest

from .audit import AuditedContext
from .contents import Contents, read_contents
from .lane import Lane
from .plugin import folder_plugin
from .saved import Stamp, stamp

PYTHON_IS_READ: ContextVar[bool] = ContextVar("python_is_read", default=False)
"""True in a home of a trial in which no folder's Python is run."""
_LOADS = itertools.count(1)


class Folders:
    """Loads plugin folders, and remembers what each one held."""

    def __init__(self, own: PluginContext) -> None:
        self._own = own
        self.loaded: dict[str, Contents] = {}
        self._packages = Packages()
        self._lane = Lane()

    async def load(self, manifest: Manifest, ctx: PluginContext) -> object:
        """Read a folder and run its ``register``. A part that is bad is left out and named in the log."""
        async with self._lane.one():
            return await self._load(manifest, ctx)

    async def _load(self, manifest: Manifest, ctx: PluginContext) -> object:
        folder = Path(manifest.folder)
        read = partial(read_contents, package=bool(manifest.module))
        contents = await anyio.to_thread.run_sync(read, folder, manifest.name)
        adds = contents.parts.adds()
        whole = contents.parts.fingerprint() if adds else ""  # what is said for a person to read may be cut
        if (adds, whole) != (manifest.adds, manifest.fingerprint):  # with which its owner agreed to the manifest
            raise MisuseError(
                f"The plugin {manifest.name} changed while it was being turned on.",
                hint=f"Look at it again: atlas plugins enable {manifest.name}.",
            )
        for refused in contents.report.refused:
            ctx.logger.warning("Not loaded: %s. %s", refused.part, refused.why)
        behalf = AuditedContext(ctx, services=self._own.services)
        runs = contents.parts.python and not PYTHON_IS_READ.get()
        python = await self._register(folder, manifest, behalf) if runs else None
        self.loaded[manifest.name] = contents
        return folder_plugin(behalf, contents, python, handed=AuditedContext(ctx))

    async def _register(self, folder: Path, manifest: Manifest, ctx: PluginContext) -> object:
        from atlas_sdk.register import run_register

        name = manifest.module
        if name:
            load = partial(self._packages.imported, manifest.module, folder)
        else:
            # A name of its own a load: the turns that run keep the module they began with.
            name = f"{PREFIX}{manifest.name.replace('-', '_')}_{next(_LOADS)}"
            ctx.on_unload(lambda: _forget(name))
            load = partial(_imported, name, folder)
        # In a thread, since an import may hang; it is given up on after the ten seconds that loading may take.
        module = await anyio.to_thread.run_sync(load, abandon_on_cancel=True)
        try:
            return await run_register(module, ctx, manifest)
        except BaseException:
            if not manifest.module:
                _forget(name)  # what failed is never unloaded
            raise


class Packages:
    """Imports packages by their own name, which their parts import each other by; anew once a file was saved."""

    def __init__(self) -> None:
        self._stamps: dict[str, Stamp] = {}

    def imported(self, name: str, folder: Path) -> ModuleType:
        """Return the module; what holds the one of before keeps it."""
        now = stamp(folder)
        if self._stamps.get(name, now) != now:
            _forget(name)
            importlib.invalidate_caches()
        with in_one_process():
            module = importlib.import_module(name)
        self._stamps[name] = now
        return module


def _imported(name: str, folder: Path) -> ModuleType:
    spec = folder_spec(name, folder)
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with in_one_process():
            spec.loader.exec_module(module)
    except BaseException:
        _forget(name)
        raise
    return module


def _forget(name: str) -> None:
    for known in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[known]
