"""What an address means: a repository, an archive, a folder of this computer, or a package."""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

from atlas_sdk.errors import MisuseError, NotFoundError, RefusedError

Kind = Literal["git", "github", "archive", "folder", "package", "wheel"]
ARCHIVES = (".tar.gz", ".tgz", ".zip")

_GITHUB = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9_.-]{1,100}")
_SCP = re.compile(r"[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:(?!/?-)[\w./~+-]+")
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]{0,199}")
_PACKAGE = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==([A-Za-z0-9.!+_-]{1,64}))?")
_SCHEMES = "https://, ssh://, git@… and file:// are taken, and http:// of this computer"


@dataclass(frozen=True)
class Address:
    """Where to fetch a plugin. ``folder`` is the one inside it; ``ref`` a branch, a tag, a commit or a version."""

    kind: Kind
    place: str
    folder: str = ""
    ref: str = ""


def parse(text: str, *, ref: str = "", here: Path) -> Address:
    """Return what an address means; ``here`` is where relative paths begin.

    Raises RefusedError for one that could make a program do something else, MisuseError for one that means nothing.
    """
    text = text.strip()
    place, _, folder = text.partition("#")
    if text.startswith("-") or not text.isprintable() or (" " in text and not _is_path(place)):
        raise RefusedError(f"{text[:80]!r} is no address: it would be read as an option or as several words.")
    folder = _folder(folder)
    ref = _ref(ref)
    if _is_path(place):
        return _local(_path(place, here), folder, ref)
    if place.startswith("file:"):
        return _local(_file(place), folder, ref, as_repository=True)
    if "::" in place or (re.match(r"[a-z][a-z0-9+.-]*:", place) and not place.startswith(("https:", "ssh:", "http:"))):
        raise RefusedError(f"{place[:80]!r} is not fetched.", hint=f"{_SCHEMES}; a folder is named by its path.")
    if "://" in place:
        return Address(_url(place), place, folder, ref)
    if _SCP.fullmatch(place):
        return Address("git", place, folder, ref)
    if _GITHUB.fullmatch(place) and ".." not in place:
        return Address("github", place.removesuffix(".git"), folder, ref)
    if (found := _PACKAGE.fullmatch(place)) and not folder:
        if ref and found[2]:
            raise MisuseError("A package has one version: name==1.2 or --ref, not both.")
        return Address("package", found[1], ref=found[2] or ref)
    raise MisuseError(
        f"{text[:80]!r} is no address of a plugin.",
        hint="Give owner/repo, a git address, a folder (./name), an archive, a wheel, or a package's name.",
    )


def _path(place: str, here: Path) -> Path:
    return here / Path(place).expanduser()


def _is_path(place: str) -> bool:
    """Say whether an address is a path: by how it begins, or by what only files end in."""
    if place.startswith((".", "/", "~", "\\")) or re.match(r"[A-Za-z]:[\\/]", place):
        return True
    return "://" not in place and "::" not in place and place.endswith((*ARCHIVES, ".whl"))


def _file(place: str) -> Path:
    """Return the path of a ``file:`` address."""
    parts = urlsplit(place)
    path = Path(url2pathname(parts.path))
    if parts.netloc not in ("", "localhost") or parts.query or not path.is_absolute():
        raise RefusedError(f"{place[:80]!r} is no sound address.", hint="A file's is file:///home/you/code/repo.")
    return path


def _local(path: Path, folder: str, ref: str, *, as_repository: bool = False) -> Address:
    """Return what a path means. A folder is taken as it lies there, and of a repository that has nothing lying there,
    or is asked for at a ``ref`` or as one, what was committed.
    """
    path = path.resolve()
    if not path.exists():
        raise NotFoundError(f"There is no file or folder {path}.", hint=_near(path))
    is_bare = all((path / name).exists() for name in ("HEAD", "objects", "refs"))
    if is_bare or ((ref or as_repository) and (path / ".git").exists()):
        return Address("git", path.as_uri(), folder, ref)
    if ref:
        raise MisuseError(
            "--ref goes with a repository or a package: a folder or a file is taken as it is.",
            hint=f"{path.name} is no git repository.",
        )
    if path.is_dir():
        return Address("folder", str(path), folder)
    if path.suffix == ".whl" and not folder:
        return Address("wheel", str(path))
    if path.name.endswith(ARCHIVES):
        return Address("archive", str(path), folder)
    raise MisuseError(f"{path} is no plugin.", hint="Give a folder, a .tar.gz, a .zip or a .whl.")


def _near(path: Path) -> str:
    """Return what of the same folder was perhaps meant."""
    names: list[str] = []
    with suppress(OSError):
        names = sorted(one.name for one in path.parent.iterdir() if not one.name.startswith("."))
    near = get_close_matches(path.name, names, 1)
    return f"Did you mean {path.parent / near[0]}?" if near else "Check the spelling, and the folder you are in."


def _url(place: str) -> Kind:
    try:
        parts = urlsplit(place)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*|[0-9a-f:]+", host) or re.search(r"/-|[\\^`{}|\"'<>$;&]", place):
        raise RefusedError(f"{place[:80]!r} is no sound address.", hint=f"{_SCHEMES}.")
    if parts.password or (parts.scheme != "ssh" and parts.username):
        raise RefusedError("An address with a password or a token in it would be kept in the home.", hint="Use ssh.")
    if parts.scheme == "http" and not is_loopback(host):
        said = f"{place[:80]!r} is not encrypted: anybody on the way could change it."
        raise RefusedError(said, hint="Use https; http is taken of this computer alone.")
    archive = parts.scheme != "ssh" and parts.path.endswith(ARCHIVES)
    return "archive" if archive else "git"


def is_loopback(host: str) -> bool:
    """Return whether a host is this computer."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _folder(text: str) -> str:
    parts = [part for part in text.strip("/").split("/") if part not in ("", ".")]
    if text.startswith("/") or ".." in parts or "\\" in text or any(part.startswith("-") for part in parts):
        raise RefusedError(f"#{text[:80]} leads out of what is fetched.", hint="Name a folder inside it.")
    return "/".join(parts)


def _ref(ref: str) -> str:
    sound = not ref or (_REF.fullmatch(ref) and ".." not in ref and not ref.endswith((".lock", "/", ".")))
    if not sound:
        raise RefusedError(f"{ref[:80]!r} is no branch, tag or commit.")
    return ref
