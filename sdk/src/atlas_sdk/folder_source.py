"""Loading the Python of a plugin folder from its source, and from nothing that was compiled before."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, ModuleSpec
from importlib.machinery import SourceFileLoader as _SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

PREFIX = "atlas_folder_"
"""How the modules of plugin folders are called, before the plugin's name."""


class _Source(_SourceFileLoader):
    """Compiles the source each time: a ``__pycache__`` that came with a folder may hold any other code."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


class _Parts:
    """Finds the modules inside plugin folders."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(PREFIX) or path is None:
            return None
        for entry in path:
            loaders = (ExtensionFileLoader, EXTENSION_SUFFIXES), (_Source, SOURCE_SUFFIXES)
            spec = FileFinder(entry, *loaders).find_spec(name)
            if spec is not None:
                return spec
        # Whoever is asked next would take a compiled module that has no source.
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)


_PARTS = _Parts()


def folder_spec(name: str, folder: Path) -> ModuleSpec:
    """Return what a plugin folder's ``__init__.py`` is imported by, as a package called ``name``."""
    if _PARTS not in sys.meta_path:
        sys.meta_path.insert(0, _PARTS)
    path = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(
        name, path, loader=_Source(name, str(path)), submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    return spec
