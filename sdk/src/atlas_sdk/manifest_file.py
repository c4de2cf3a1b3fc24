"""Reading manifests: strict about what Atlas knows, forgiving about what other programs put there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import API_VERSION
from .errors import AtlasError, MisuseError, sentence
from .folder_files import is_file, is_folder, is_there, refusal
from .folder_parts import FolderParts, is_hooks_alone, read_parts
from .folder_report import Report
from .folder_values import option_default
from .loose_json import read_loose
from .manifest import CliCommand, DeclaredSecret, DeclaredSetting, Dependency, Manifest, Source
from .marketplace_entry import entry_as_manifest
from .plain_text import one_line, words
from .values import is_text, read_json, whole_text

MANIFEST = Path(".claude-plugin") / "plugin.json"
RETIRED = Path(".claude-plugin") / "retired"
"""What marks an installed folder that its marketplace took off for safety, with the sentence that says why."""
FOLDER_FORMAT = "folders@1"
"""The service that reads plugin folders; each folder needs it."""
_MARKS = (
    str(MANIFEST), ".claude-plugin", "skills", "commands", "agents", "hooks/hooks.json", ".mcp.json", "SKILL.md",
    "monitors/monitors.json", "bin", "desktop/plugin.js", "__init__.py",
)  # fmt: skip
FOLDER_COMMAND = "atlas_folder_format.command:app"
"""What runs the terminal commands of a folder's Python, which names only what they are called."""
PROVIDERS = "providers@1"
"""The service that opens model providers a manifest describes; a folder that describes some needs it."""
_TEXTS = ("skills", "commands", "agents", "SKILL.md", "userConfig")
"""What a folder adds by files that only its reader looks into, or its manifest by fields of Claude Code's."""
_DESCRIPTION_CHARS = 1_000
_MOST_DEPENDENCIES = 100
_NO_NAME = "has a name that is not UTF-8. Rename it."
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RETIRED_CHARS = 2_000
_SERVICE = re.compile(r"[a-z][a-z_]*@[1-9][0-9]*")
LISTS = (
    "provides", "requires", "uses", "tools", "channels", "executors", "readers", "providers", "commands",
    "calls", "methods", "hooks", "desktop", "sections", "network",
)  # fmt: skip
"""The fields of a manifest that are lists of names."""


class ManifestError(MisuseError):
    """A manifest that cannot be meant; the message names the file and the field."""


def read_manifest(folder: Path, *, source: Source, module: str = "", distribution: str = "") -> Manifest:
    """Read the manifest of a plugin folder or of a package's. Nothing of the plugin is imported.

    Fields Atlas does not know are left alone, as newer manifests may have them; a field of the wrong kind
    raises ManifestError. A folder is taken as Claude Code takes it: without a manifest it has its folder's name, a name
    that is not in kebab-case is made so, and what its files add is part of the manifest, too. So is the folder of a
    package that did not come with Atlas, but it has a manifest, with the name of its entry point.
    """
    if not is_text(folder.name):
        raise ManifestError(f"The plugin folder {whole_text(folder.name)} {_NO_NAME}")
    try:
        return _read(folder, source, module, distribution)
    except AtlasError:
        raise
    except Exception as error:  # a stranger's, read at every start: it is to break itself and nobody else
        raise ManifestError(
            f"The plugin in {folder} cannot be read: {sentence(error).rstrip('.')}.",
            hint="Take it away, and tell its author and Atlas's.",
        ) from error


def _read(folder: Path, source: Source, module: str, distribution: str) -> Manifest:
    path = folder / MANIFEST
    if source == "folder":
        if has_retired(folder):
            raise ManifestError(_why_retired(folder))
        return _whole_manifest(folder, path, raw_manifest(folder, Report()), source, "", "")
    try:
        found = read_json(path.read_text("utf-8"))
    except OSError as error:
        raise ManifestError(
            f"{path} cannot be read: {error.strerror}.",
            hint="A package holds it beside its module: is it in the wheel?",
        ) from error
    except ValueError as error:
        raise ManifestError(f"{path} is not JSON: {error}.", hint="Mend the file.") from error
    if not isinstance(found, dict):
        raise ManifestError(f"{path} must hold an object.")
    if source == "package":
        return _whole_manifest(folder, path, found, source, module, distribution)
    return _Reader(path, found).manifest(folder, source, module, distribution)


def has_retired(folder: Path) -> bool:
    """Whether a plugin's folder has the mark of one that was stopped, or anything else in its place.

    What is no readable mark counts as one: a plugin could otherwise keep the mark off by what it holds.
    """
    return os.path.lexists(folder / RETIRED)


def _why_retired(folder: Path) -> str:
    mark = folder / RETIRED
    with suppress(OSError):
        if is_file(mark) and not mark.is_symlink() and (text := _beginning(mark).strip()):
            return text
    return f"{mark} marks the plugin as stopped, and does not say why. Take it away where you know better."


def _beginning(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(4 * _RETIRED_CHARS).decode("utf-8", "replace")[:_RETIRED_CHARS]


def plugin_folders(home: Path) -> list[Path]:
    """Return the folders of a home's ``plugins/`` that are plugins, with a manifest or with parts of one."""
    try:
        entries = sorted(entry for entry in home.iterdir() if not entry.name.startswith(".") and is_folder(entry))
    except OSError:
        return []
    return [entry for entry in entries if any(is_there(entry / mark) for mark in _MARKS)]


def is_other_on_disk(home: Path, known: Iterable[Manifest]) -> bool:
    """Whether a home's ``plugins/`` holds others than the plugins known, or what one of them says is not what it was.

    Nothing but the folders is looked at. It blocks: call it in a thread.
    """
    manifests = {one.name: one for one in known}
    before = {one.folder: one for one in manifests.values() if one.source == "folder"}
    for folder in plugin_folders(home):
        try:
            found = read_manifest(folder, source="folder")
        except MisuseError:
            continue
        was = before.pop(str(folder), None)
        if found != was and (was is not None or found.name not in manifests):
            return True
    return bool(before)


def raw_manifest(folder: Path, report: Report) -> dict[str, Any]:
    """Return what a plugin folder's manifest holds as written; empty, and ``report`` told, where there is none.

    Where there is no file of it, the folder's entry in its marketplace is taken for it.
    """
    path = folder / MANIFEST
    if why := refusal(folder, path):
        report.refuse("plugin.json", f"{why} The rest of the folder is taken without it.")
        return {}
    try:
        found, wrong = read_loose(path)
    except FileNotFoundError:
        report.warn("It has no manifest; its name is its folder's.")
        return entry_as_manifest(folder)
    except OSError as error:
        report.refuse("plugin.json", f"It cannot be read: {error.strerror}.")
        return {}
    except ValueError as error:
        report.refuse("plugin.json", f"{error} The rest of the folder is taken without it.")
        return {}
    if wrong:
        report.warn(wrong)
    if not isinstance(found, dict):
        report.refuse("plugin.json", "It must hold an object. The rest of the folder is taken without it.")
        return {}
    return found


def kebab(name: str) -> str:
    """Return a name in kebab-case, empty where nothing is left of it."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    return re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")[:64].rstrip("-")


def option_secret(plugin: str, key: str) -> str:
    """Return the name in the vault of a plugin's sensitive option: ``erp`` and ``apiToken`` make ``ERP_API_TOKEN``."""
    return f"{kebab(plugin)}-{kebab(key)}".replace("-", "_").upper()


def _whole_manifest(
    folder: Path, path: Path, found: dict[str, Any], source: Source, module: str, distribution: str
) -> Manifest:
    """Return a manifest with what the files beside it add."""
    mended = _mended(folder, found)
    if source == "package":
        mended["name"] = found.get("name")  # its entry point's, which nobody may make up
    reader = _Reader(path, mended)
    parts = read_parts(folder, found, Report(), package=bool(module))
    manifest = reader.manifest(folder, source, module, distribution)
    if module and not manifest.secrets and _is_module_alone(folder, found, parts):
        return manifest  # with secrets it is loaded by the reader of folders, which notes what is read
    secrets, settings = _options(manifest.name, found.get("userConfig"))
    keys, hosts = _of_providers(reader.atlas.get("providers"))
    named = {secret.name: secret for secret in (*map(DeclaredSecret, (*parts.secrets(), *keys)), *secrets)}
    named |= {secret.name: secret for secret in manifest.secrets}
    known = {setting.name for setting in manifest.settings}
    return replace(
        manifest,
        adds=parts.adds(),
        fingerprint=parts.fingerprint() if parts.adds() else "",
        requires=tuple(dict.fromkeys((*manifest.requires, FOLDER_FORMAT, *([PROVIDERS] if hosts else [])))),
        network=tuple(dict.fromkeys((*manifest.network, *hosts))),
        secrets=tuple(named.values()),
        settings=(*manifest.settings, *(setting for setting in settings if setting.name not in known)),
    )


def _is_module_alone(folder: Path, found: Mapping[str, Any], parts: FolderParts) -> bool:
    """Whether a package adds by the hooks of its module and by nothing else, so that importing it is all there is."""
    described = found.get("atlas")
    holds = (isinstance(described, dict) and described.get("providers")) or any(name in found for name in _TEXTS)
    files = replace(parts, python=False).adds() or any(is_there(folder / name) for name in _TEXTS)
    return not holds and not files and is_hooks_alone(folder)


def _of_providers(described: Any) -> tuple[list[str], list[str]]:
    """Return the keys and the hosts of described model providers: naming one declares it, and it is consented to."""
    entries = [entry for entry in described.values() if isinstance(entry, dict)] if isinstance(described, dict) else []
    hosts = [re.sub(r"^[a-z]+://(?:[^/@]*@)?([^/?#]*).*", r"\1", str(entry.get("base_url", "?"))) for entry in entries]
    return [key for entry in entries if isinstance(key := entry.get("key"), str) and key], hosts


def _mended(folder: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest whose fields of Claude Code's are of the kind Atlas reads; ``atlas`` stays as written."""
    name, version = found.get("name"), found.get("version")
    needed = found.get("dependencies")
    return {
        **found,
        "name": (kebab(name) if isinstance(name, str) else "") or kebab(folder.resolve().name) or "plugin",
        "version": str(version) if isinstance(version, str | int | float) and version else "0.0.0",
        "description": found["description"] if isinstance(found.get("description"), str) else "",
        "dependencies": [one for one in map(_dependency, needed if isinstance(needed, list) else []) if one["name"]],
    }


def _dependency(item: Any) -> dict[str, str]:
    """Return a dependency without the marketplace that Claude Code would take it from (``name@marketplace``)."""
    found = item if isinstance(item, dict) else {"name": item}
    name, version = found.get("name"), found.get("version", "")
    return {
        "name": plain if _NAME.fullmatch(plain := name.partition("@")[0] if isinstance(name, str) else "") else "",
        "version": version if isinstance(version, str) else "",
    }


def _options(plugin: str, options: Any) -> tuple[list[DeclaredSecret], list[DeclaredSetting]]:
    secrets, settings = [], []
    for key, option in options.items() if isinstance(options, dict) else []:
        option = option if isinstance(option, dict) else {}
        said = words(str(option.get("description") or option.get("title") or ""), _DESCRIPTION_CHARS)
        if option.get("sensitive") is True:
            secrets.append(DeclaredSecret(option_secret(plugin, key), said))
        else:
            settings.append(DeclaredSetting(key, option_default(option), said))
    return secrets, settings


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
        lists = {field: self.names(field) for field in LISTS}
        for field in ("provides", "requires", "uses"):
            for service in lists[field]:
                if not _SERVICE.fullmatch(service):
                    raise ManifestError(f"{self.path}: atlas.{field} has {service!r}, which is not like store@1.")
        return Manifest(
            name=name,
            version=words(self.text(self.found, "version", "0.0.0"), _DESCRIPTION_CHARS),
            description=words(self.text(self.found, "description", ""), _DESCRIPTION_CHARS),
            source=source,
            module=module,
            folder=str(folder),
            distribution=distribution,
            api=api,
            on=self.atlas.get("on") is True and source == "bundled",
            required=self.atlas.get("required") is True and source == "bundled",
            secrets=tuple(
                DeclaredSecret(
                    self.text(item, "name"),
                    words(self.text(item, "description", ""), _DESCRIPTION_CHARS),
                    one_line(self.text(item, "url", "")),
                )
                for item in self.objects("secrets")
            ),
            settings=tuple(
                DeclaredSetting(
                    self.text(item, "name"),
                    item.get("default"),
                    words(self.text(item, "description", ""), _DESCRIPTION_CHARS),
                )
                for item in self.objects("settings")
            ),
            cli=tuple(
                CliCommand(
                    self.text(item, "name"),
                    words(self.text(item, "help", f"From the plugin {name}."), _DESCRIPTION_CHARS),
                    self.target(item, "target", source, module, FOLDER_COMMAND if source != "bundled" else None),
                )
                for item in self.objects("cli")
            ),
            client=self.target(self.atlas, "client", source, module, ""),
            llm=self.atlas.get("llm") is True,
            notify=self.atlas.get("notify") is True,
            dependencies=self.dependencies(),
            adds=(),
            fingerprint="",
            **lists,
        )

    def text(self, where: dict[str, Any], field: str, default: str | None = None) -> str:
        value = where.get(field, default)
        if not isinstance(value, str):
            raise ManifestError(f"{self.path}: {field} must be text.")
        return value

    def target(self, where: dict[str, Any], field: str, source: Source, module: str, default: str | None) -> str:
        """Return what is imported and called on a plugin's behalf: of others than came with Atlas, its own code alone.

        Any other module would run unasked (``os:abort``) what nobody was told of. A folder's Python has no name to be
        imported by.
        """
        target = self.text(where, field, default)
        if source == "folder":
            return default or ""
        if source == "package" and target != default and target.partition(":")[0].partition(".")[0] != module:
            raise ManifestError(f"{self.path}: {field} {target[:60]!r} is not of its own module {module}.")
        return target

    def dependencies(self) -> tuple[Dependency, ...]:
        value = self.found.get("dependencies", [])
        if not isinstance(value, list):
            raise ManifestError(f"{self.path}: dependencies must be a list.")
        if len(value) > _MOST_DEPENDENCIES:
            raise ManifestError(f"{self.path}: it needs over {_MOST_DEPENDENCIES} plugins.")
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
        items = [{"name": item} if isinstance(item, str) else item for item in value]
        if not all(isinstance(item, dict) for item in items):
            raise ManifestError(f"{self.path}: atlas.{field} must hold objects or names.")
        return items
