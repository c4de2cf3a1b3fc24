"""Python packages made on the fly: wheels, and a source distribution that would tell if it were built."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str],
    *,
    plugin: str = "",
    module: str = "",
    requires: Sequence[str] = (),
) -> Path:
    """Write a wheel. With ``plugin`` it has an entry point of that name to ``module``."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    whole = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if plugin:
        whole[f"{info}/entry_points.txt"] = f"[atlas.plugins]\n{plugin} = {module}\n"
    record = "".join(f"{path},{_hash(text)},{len(text.encode())}\n" for path, text in whole.items())
    whole[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    file = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for path, text in whole.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o755 if "/bin/" in path else 0o644) << 16
            archive.writestr(entry, text)
    return file


def plugin_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    requires: Sequence[str] = (),
    beside: Mapping[str, str] | None = None,
    **atlas: Any,
) -> Path:
    """Write a wheel ``atlas-<name>`` that brings the plugin of that name, with more files ``beside`` its module."""
    module = f"atlas_{name.replace('-', '_')}"
    manifest = {"name": name, "version": version, "description": "From a package.", "atlas": {"api": 1, **atlas}}
    files = {
        f"{module}/__init__.py": f'"""A plugin."""\nVERSION = "{version}"\n',
        f"{module}/.claude-plugin/plugin.json": json.dumps(manifest),
    }
    files |= {f"{module}/{path}": text for path, text in (beside or {}).items()}
    needs = ["atlas-sdk", *requires]
    return wheel(folder, f"atlas-{name}", version, files, plugin=name, module=module, requires=needs)


def source(folder: Path, name: str, version: str, marker: Path) -> Path:
    """Write a source distribution whose build would leave ``marker``."""
    stem = f"{name}-{version}"
    files = {
        f"{stem}/PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{stem}/setup.py": f"open({str(marker)!r}, 'w').close()\n",
    }
    file = folder / f"{stem}.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return file


def _hash(text: str) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
