"""Importing the Python of a plugin folder, which no package holds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from .errors import AtlasError
from .folder_source import PREFIX, folder_spec


def import_folder(folder: Path, name: str) -> ModuleType | None:
    """Import a plugin folder's ``__init__.py`` anew, as a package of its own; None where there is none.

    ``from .forecast import fetch`` works in it. Raises AtlasError with the file and the line of what it raised.
    """
    path = folder / "__init__.py"
    if not path.is_file():
        return None
    called = PREFIX + name.replace("-", "_")
    forget_folder(name)
    spec = folder_spec(called, folder)
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[called] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        forget_folder(name)
        what = error.msg if isinstance(error, SyntaxError) else error
        said = f"{type(error).__name__}: {what}".rstrip(": ")
        raise AtlasError(f"{path.name} of {name} cannot be imported: {said}.{_line(error, folder)}") from error
    return module


def forget_folder(name: str) -> None:
    """Forget the modules of a plugin folder, so that the next import reads its files again."""
    called = PREFIX + name.replace("-", "_")
    for known in [known for known in sys.modules if known == called or known.startswith(f"{called}.")]:
        del sys.modules[known]


def _line(error: BaseException, folder: Path) -> str:
    """Return the place in the folder's own files that raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({Path(error.filename).name}, line {error.lineno})"
    trace, place = error.__traceback__, ""
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if file.is_relative_to(folder):
            place = f" ({file.relative_to(folder)}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return place
