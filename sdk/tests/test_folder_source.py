"""The Python of a plugin folder is run from the source that can be read, never from what was compiled before."""

from __future__ import annotations

import importlib.util
import marshal
import sys
from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.errors import AtlasError
from atlas_sdk.folder_module import forget_folder, import_folder

UNCHECKED = 1
"""The flag of a compiled module whose source is never looked at."""


def compiled(text: str) -> bytes:
    flags = UNCHECKED.to_bytes(4, "little")
    return importlib.util.MAGIC_NUMBER + flags + bytes(8) + marshal.dumps(compile(text, "other", "exec"))


def cached(source: Path, text: str) -> None:
    """Put other code where Python looks for the compiled form of a source."""
    place = Path(importlib.util.cache_from_source(str(source)))
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(compiled(text))


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    folder = tmp_path / "kit"
    (folder / "more").mkdir(parents=True)
    (folder / "bare").mkdir()
    yield folder
    forget_folder("kit")


def test_neither_the_folder_s_module_nor_those_inside_are_run_as_compiled(folder: Path) -> None:
    files = {
        "__init__.py": "from .words import WORD\nfrom .more.deep import DEEP\nfrom .bare.part import PART\nRAN = 'own'\n",
        "words.py": "WORD = 'own'\n",
        "more/__init__.py": "",
        "more/deep.py": "DEEP = 'own'\n",
        "bare/part.py": "PART = 'own'\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
        cached(folder / name, "WORD = DEEP = PART = RAN = 'other'\n")
    module: Any = import_folder(folder, "kit")

    assert (module.RAN, module.WORD, module.DEEP, module.PART) == ("own",) * 4


def test_a_compiled_module_without_a_source_is_not_there(folder: Path) -> None:
    (folder / "__init__.py").write_text("from .words import WORD\n")
    (folder / "words.pyc").write_bytes(compiled("WORD = 'other'\n"))
    with pytest.raises(AtlasError, match="No module named"):
        import_folder(folder, "kit")


def test_nothing_compiled_is_left_in_the_folder(folder: Path) -> None:
    (folder / "__init__.py").write_text("from . import words\n")
    (folder / "words.py").write_text("")
    import_folder(folder, "kit")

    assert not list(folder.rglob("*.pyc"))
    assert "atlas_folder_kit.words" in sys.modules
