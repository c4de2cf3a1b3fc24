"""Reading manifests: strict about what Atlas knows, forgiving about what other programs put there."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from . import API_VERSION
from .errors import MisuseError
from .manifest import CliCommand, DeclaredSecret, DeclaredSetting, Dependency, Manifest, Source

MANIFEST = Path(".claude-plugin") / "plugin.json"
FOLDER_FORMAT = "folders@1"
"""The service that reads plugin folders; each folder needs it."""
_MOST_BYTES = 1_000_000
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SERVICE = re.compile(r"[a-z][a-z_]*@[1-9][0-9]*")
_LISTS = (
    "provides", "requires", "uses", "tools", "channels", "executors", "readers", "providers", "commands",
    "calls", "hooks", "desktop", "sections", "network",
)  # fmt: skip


class ManifestError(MisuseError):
    """A manifest that cannot be meant; the message names the file and the field."""


def read_manifest(folder: Path, *, source: Source, module: str = "", distribution: str = "") -> Manifest:
    """Read a plugin folder's manifest. Nothing of the plugin is imported.

    Fields Atlas does not know are left alone, as newer manifests may have them; a field of the wrong kind
    raises ManifestError.
    """
    path = folder / MANIFEST
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ManifestError(f"{path} has over {_MOST_BYTES:,} bytes, as no manifest has.")
        found = json.loads(text.decode("utf-8-sig"), object_pairs_hook=_once)
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{path} is not JSON: {error}.", hint="Mend the file.") from error
    if not isinstance(found, dict):
        raise ManifestError(f"{path} must hold an object.")
    return _Reader(path, found).manifest(folder, source, module, distribution)


def declared(manifest: Manifest) -> dict[str, Any]:
    """Return what consent is given to: all that the plugin adds or may reach, and nothing empty."""
    what: dict[str, Any] = {name: list(getattr(manifest, name)) for name in _LISTS}
    what["secrets"] = [secret.name for secret in manifest.secrets]
    what["settings"] = [setting.name for setting in manifest.settings]
    what["cli"] = [command.name for command in manifest.cli]
    what["requires"] = [service for service in manifest.requires if service != FOLDER_FORMAT]
    what["dependencies"] = [needed.name for needed in manifest.dependencies]
    what["llm"], what["notify"] = manifest.llm, manifest.notify
    what["python"] = bool(manifest.module) or (Path(manifest.folder) / "__init__.py").is_file()
    return {name: value for name, value in what.items() if value}


def digest(manifest: Manifest) -> str:
    """Return the digest of what a plugin declares: consent holds for this and no more."""
    return hashlib.sha256(json.dumps(declared(manifest), sort_keys=True).encode()).hexdigest()[:32]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that is there twice: what is shown to the owner and what is used could be two things."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has {again[:40]!r} twice")
    return found


class _Reader:
    def __init__(self, path: Path, found: dict[str, Any]) -> None:
        self.path = path
        self.found = found
        atlas = found.get("atlas", {})
        if not isinstance(atlas, dict):
            raise ManifestError(f"{path}: atlas must be an object.")
        self.atlas: dict[str, Any] = atlas

    def manifest(self, folder: Path, source: Source, module: str, distribution: str) -> Manifest:
        name = self.text(self.found, "name", "")
        if not _NAME.fullmatch(name):
            raise ManifestError(f"{self.path}: name must be in kebab-case, and it is {name[:40]!r}.")
        api = self.atlas.get("api", 1)
        if not isinstance(api, int) or isinstance(api, bool) or api < 1:
            raise ManifestError(f"{self.path}: atlas.api must be a whole number from 1.")
        if api > API_VERSION:
            raise ManifestError(
                f"{name} is written for version {api} of the SDK, and this Atlas has {API_VERSION}.",
                hint="Update Atlas first.",
            )
        lists = {field: self.names(field) for field in _LISTS}
        if source == "folder" and FOLDER_FORMAT not in lists["requires"]:
            lists["requires"] = (*lists["requires"], FOLDER_FORMAT)
        for field in ("provides", "requires", "uses"):
            for service in lists[field]:
                if not _SERVICE.fullmatch(service):
                    raise ManifestError(f"{self.path}: atlas.{field} has {service!r}, which is not like store@1.")
        return Manifest(
            name=name,
            version=self.text(self.found, "version", "0.0.0"),
            description=self.text(self.found, "description", ""),
            source=source,
            module=module,
            folder=str(folder),
            distribution=distribution,
            api=api,
            on=self.atlas.get("on") is True and source == "bundled",
            required=self.atlas.get("required") is True and source == "bundled",
            secrets=tuple(
                DeclaredSecret(self.text(item, "name"), self.text(item, "description", ""), self.text(item, "url", ""))
                for item in self.objects("secrets")
            ),
            settings=tuple(
                DeclaredSetting(self.text(item, "name"), item.get("default"), self.text(item, "description", ""))
                for item in self.objects("settings")
            ),
            cli=tuple(
                CliCommand(self.text(item, "name"), self.text(item, "help", ""), self.text(item, "target"))
                for item in self.objects("cli")
            ),
            client=self.text(self.atlas, "client", ""),
            llm=self.atlas.get("llm") is True,
            notify=self.atlas.get("notify") is True,
            dependencies=self.dependencies(),
            **lists,
        )

    def text(self, where: dict[str, Any], field: str, default: str | None = None) -> str:
        value = where.get(field, default)
        if not isinstance(value, str):
            raise ManifestError(f"{self.path}: {field} must be text.")
        return value

    def dependencies(self) -> tuple[Dependency, ...]:
        value = self.found.get("dependencies", [])
        if not isinstance(value, list):
            raise ManifestError(f"{self.path}: dependencies must be a list.")
        found = []
        for item in value:
            if not isinstance(item, str | dict):
                raise ManifestError(f"{self.path}: dependencies must hold names or objects with name and version.")
            name, asked = (item, "") if isinstance(item, str) else (item.get("name"), item.get("version", ""))
            if not isinstance(name, str) or not isinstance(asked, str):
                raise ManifestError(f"{self.path}: a dependency's name and version must be text.")
            if not Dependency(name, asked).is_sound():
                raise ManifestError(f"{self.path}: {asked[:40]!r} is no range of versions, such as ^2.1.")
            found.append(Dependency(name, asked))
        return tuple(found)

    def names(self, field: str) -> tuple[str, ...]:
        value = self.atlas.get(field, [])
        if isinstance(value, dict):
            value = list(value)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ManifestError(f"{self.path}: atlas.{field} must be a list of names.")
        return tuple(value)

    def objects(self, field: str) -> list[dict[str, Any]]:
        value = self.atlas.get(field, [])
        if not isinstance(value, list):
            raise ManifestError(f"{self.path}: atlas.{field} must be a list.")
        items = [{"name": item, "target": ""} if isinstance(item, str) else item for item in value]
        if not all(isinstance(item, dict) for item in items):
            raise ManifestError(f"{self.path}: atlas.{field} must hold objects or names.")
        return items
