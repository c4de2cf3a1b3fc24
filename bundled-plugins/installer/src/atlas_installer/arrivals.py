"""What packages turn out to be once they are unpacked: those that were planned, under names of their own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path

from atlas_sdk.beside import BESIDE, normal, recorded
from atlas_sdk.errors import RefusedError
from atlas_sdk.folder_files import is_file, is_folder
from atlas_sdk.manifest_file import MANIFEST

# Modules that Atlas's libraries import where they find them, with the package each is of. Measured on 2026-11-30: all
# of the libraries' modules imported with a finder that noted what nobody found; h2 and the like they import later.
OPTIONAL = {
    "IPython": "ipython", "PIL": "pillow", "a2wsgi": "a2wsgi", "aiohttp": "aiohttp", "async_generator":
    "async-generator", "bcrypt": "bcrypt", "brotli": "brotli", "brotlicffi": "brotlicffi", "chardet": "chardet",
    "charset_normalizer": "charset-normalizer", "colorama": "colorama", "ctags": "python-ctags3", "curio": "curio",
    "dns": "dnspython", "docutils": "docutils", "dotenv": "python-dotenv", "email_validator": "email-validator",
    "exceptiongroup": "exceptiongroup", "fqdn": "fqdn", "greenlet": "greenlet", "gunicorn": "gunicorn", "h2": "h2",
    "httptools": "httptools", "httpx_aiohttp": "httpx-aiohttp", "hyperscan": "hyperscan", "isoduration": "isoduration",
    "itsdangerous": "itsdangerous", "jsonpointer": "jsonpointer", "linkify_it": "linkify-it-py", "logfire": "logfire",
    "multipart": "python-multipart", "numpy": "numpy", "orjson": "orjson", "pandas": "pandas", "psutil": "psutil",
    "psycopg2": "psycopg2", "re2": "google-re2", "rfc3339_validator": "rfc3339-validator", "rfc3986_validator":
    "rfc3986-validator", "rfc3987": "rfc3987", "rfc3987_syntax": "rfc3987-syntax", "setuptools": "setuptools",
    "simplejson": "simplejson", "socks": "pysocks", "socksio": "socksio", "sounddevice": "sounddevice", "tomli":
    "tomli", "ujson": "ujson", "uri_template": "uri-template", "uvloop": "uvloop", "watchfiles": "watchfiles",
    "webcolors": "webcolors", "websockets": "websockets", "winloop": "winloop", "zstandard":
    "zstandard", "zttp": "zttp", "zuvloop": "zuvloop",
}  # fmt: skip
_NEVER = {"atlas", "sitecustomize", "usercustomize"}
_ASK = "Ask its author for a wheel that holds one package and its own metadata."


def check(folder: Path, known: Iterable[str], coming: Iterable[str], *, main: str, taken: set[str]) -> None:
    """Refuse packages in a folder that nobody planned, and modules by a name that Atlas or a library of it uses.

    ``known`` were there, ``coming`` are those that came for ``main``, and ``taken`` are the packages that came with
    Atlas. A wheel may carry the metadata of another package, and whoever reads that later takes it at its word. Raises
    RefusedError.
    """
    came = {normal(name) for name in coming}
    left = came | {normal(name) for name in known}
    for info in sorted(folder.iterdir()):
        if not info.name.lower().endswith((".dist-info", ".egg-info")):
            continue
        name = _named(info)
        if name not in left:
            raise RefusedError(f"It holds {info.name[:80]!r}, the metadata of another package.", hint=_ASK)
        left.remove(name)  # once each
        if name in taken:
            raise RefusedError(f"It would replace {name}, which came with Atlas.")
        for module in sorted(recorded(info)) if name in came else ():
            if _is_taken(module, package="" if name == normal(main) else name):
                raise RefusedError(
                    f"The package {name} brings the module {module}, a name that Atlas or a library of it uses.",
                    hint="Its author has to call that otherwise.",
                )


def files(folder: Path) -> set[str]:
    """Return the files in a folder, by their path in it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not is_folder(path)}


def added_to(folder: Path, before: set[str]) -> str:
    """Return a file that came into a package that was there, or nothing.

    That would be part of what another plugin is: a skill in its folder, a module it looks for, its metadata. Folders
    that packages share by right, as one namespace, have no module and no manifest of their own.
    """
    there = {path.partition("/")[0] for path in before if "/" in path}
    own = {
        top
        for top in there
        if top.endswith(".dist-info") or {f"{top}/__init__.py", f"{top}/{MANIFEST.as_posix()}"} & before
    }
    return next((path for path in sorted(files(folder) - before) if path.partition("/")[0] in own), "")


def drop_caches(folder: Path) -> None:
    """Delete compiled modules, which may say anything else than the source beside them."""
    for cache in sorted(folder.rglob("__pycache__")):
        if is_folder(cache) and not cache.is_symlink():
            shutil.rmtree(cache)
    for compiled in sorted(folder.rglob("*.pyc")):
        compiled.unlink()


def _named(info: Path) -> str:
    """Return the package that a folder of metadata is of, or nothing where its own name and what it says differ."""
    from importlib_metadata import Distribution

    if not info.name.endswith(".dist-info") or info.is_symlink() or not is_file(info / "METADATA"):
        return ""
    name = normal(info.name.partition("-")[0])
    return name if normal(str(Distribution.at(info).metadata["Name"])) == name else ""


def _is_taken(module: str, *, package: str) -> bool:
    """Whether a name is not for a package: a plugin's own has none of the optional ones, another has its own."""
    if module in _NEVER or module in sys.stdlib_module_names:
        return True
    if module in OPTIONAL:
        return OPTIONAL[module] != package
    spec = PathFinder.find_spec(module, [place for place in sys.path if Path(place).name != BESIDE])
    return spec is not None and spec.loader is not None
