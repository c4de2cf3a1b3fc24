"""The service FOLDERS: a plugin folder made into an object with hooks."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, MisuseError
from atlas_sdk.manifest import Manifest

from .audit import AuditedContext
from .contents import Contents, read_contents
from .plugin import folder_plugin

_LOADS = itertools.count(1)


class Folders:
    """Loads plugin folders, and remembers what each one held."""

    def __init__(self) -> None:
        self.loaded: dict[str, Contents] = {}

    async def load(self, manifest: Manifest, ctx: PluginContext) -> object:
        """Read a folder and run its ``register``. A part that is bad is left out and named in the log."""
        folder = Path(manifest.folder)
        contents = await anyio.to_thread.run_sync(read_contents, folder, manifest.name)
        if contents.parts.adds() != manifest.adds:  # what its owner agreed to is what the manifest was read with
            raise MisuseError(
                f"The plugin {manifest.name} changed while it was being turned on.",
                hint=f"Look at it again: atlas plugins enable {manifest.name}.",
            )
        for refused in contents.report.refused:
            ctx.logger.warning("Not loaded: %s. %s", refused.part, refused.why)
        ctx = AuditedContext(ctx)
        python = await _register(folder, manifest, ctx) if contents.parts.python else None
        self.loaded[manifest.name] = contents
        return folder_plugin(ctx, contents, python)


async def _register(folder: Path, manifest: Manifest, ctx: PluginContext) -> object:
    try:
        from atlas_sdk.register import run_register  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError as error:
        if error.name != "atlas_sdk.register":
            raise
        raise MisuseError(
            f"The plugin {manifest.name} has Python (__init__.py), and this version of atlas-sdk does not run it.",
            hint="Update atlas-sdk.",
        ) from error
    # A name of its own a load: the turns that run keep the module they began with.
    name = f"atlas_folder_{manifest.name.replace('-', '_')}_{next(_LOADS)}"
    ctx.on_unload(lambda: _forget(name))
    # In a thread, since an import may hang; it is given up on after the ten seconds that loading may take.
    module = await anyio.to_thread.run_sync(_imported, folder, name, abandon_on_cancel=True)
    return await run_register(module, ctx, manifest)


def _imported(folder: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise AtlasError(f"{folder / '__init__.py'} cannot be imported.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        _forget(name)
        raise
    return module


def _forget(name: str) -> None:
    for known in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
        del sys.modules[known]
