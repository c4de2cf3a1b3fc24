"""Which plugins the owner turned on, and to what they agreed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from atlas_sdk.consent import declared, digest, is_agreed
from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.homes import replace_file
from atlas_sdk.manifest import Manifest
from atlas_sdk.values import Json, as_kind_of


@dataclass
class Choice:
    """What the owner chose for one plugin. ``on`` is None while they never said; ``agreed`` is what they were shown."""

    on: bool | None = None
    consent: str = ""
    settings: dict[str, Json] = field(default_factory=dict)
    agreed: Json = None


class Choices:
    """The choices kept in ``plugin-data/plugins.json``, a place the gate guards."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._choices: dict[str, Choice] = {}
        self._read()

    def _read(self) -> None:
        try:
            found = json.loads(self._path.read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return
        except (OSError, ValueError) as error:
            raise MisuseError(
                f"{self._path} cannot be read: {error}.",
                hint="Mend it, or move it away: every plugin that asks for consent then asks again.",
            ) from error
        for name, kept in found.items() if isinstance(found, dict) else []:
            if isinstance(kept, dict):
                consent, settings = str(kept.get("consent", "")), kept.get("settings") or {}
                self._choices[name] = Choice(kept.get("on"), consent, settings, kept.get("agreed"))

    def _write(self) -> None:
        kept = {name: asdict(choice) for name, choice in sorted(self._choices.items())}
        replace_file(self._path, json.dumps(kept, indent=2) + "\n")

    def of(self, name: str) -> Choice:
        """Return the choice for a plugin; changing the object changes nothing on disk."""
        return self._choices.get(name, Choice())

    def wants(self, manifest: Manifest) -> bool:
        """Whether the owner wants it on: as they said, else as a bundled plugin comes."""
        chosen = self.of(manifest.name).on
        return manifest.on if chosen is None else chosen

    def turned_on(self) -> set[str]:
        """Return the plugins that the owner turned on, also those that are gone."""
        return {name for name, choice in self._choices.items() if choice.on}

    def consented(self, manifest: Manifest) -> bool:
        """Whether the owner agreed to all that it declares. What is in the bundle needs no asking."""
        choice = self.of(manifest.name)
        return manifest.source == "bundled" or is_agreed(manifest, choice.consent, choice.agreed)

    def turn(self, name: str, *, on: bool, consent: Manifest | None = None) -> None:
        """Keep that a plugin is on or off, and what was agreed to."""
        choice = self._choices.setdefault(name, Choice())
        choice.on = on
        if consent is not None:
            choice.consent, choice.agreed = digest(consent), declared(consent)
        self._write()

    def set(self, manifest: Manifest, setting: str, value: Json) -> None:
        """Keep a declared setting's value; None takes it back to its default."""
        declared = {item.name: item for item in manifest.settings}
        if setting not in declared:
            known = ", ".join(sorted(declared)) or "none"
            raise NotFoundError(f"The plugin {manifest.name} has no setting {setting!r}.", hint=f"It has: {known}.")
        choice = self._choices.setdefault(manifest.name, Choice())
        if value is None:
            choice.settings.pop(setting, None)
        else:
            choice.settings[setting] = as_kind_of(declared[setting].default, value, setting)
        self._write()

    def setting(self, manifest: Manifest, name: str) -> Json:
        """Return a declared setting: the owner's value or its default. Raises MisuseError for an undeclared one."""
        for item in manifest.settings:
            if item.name == name:
                return self.of(manifest.name).settings.get(name, item.default)
        raise MisuseError(f"The plugin {manifest.name} does not declare a setting {name!r}.")
