"""Settings: the default, ``config.toml``, an ``ATLAS_*`` variable, a flag, each winning over the one before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from atlas_sdk.config_file import read_config, write_setting
from atlas_sdk.errors import MisuseError, SettingsError
from atlas_sdk.refusals import refusal
from atlas_sdk.services.settings import SettingRow
from atlas_sdk.settings import SettingsSection
from atlas_sdk.values import Json

S = TypeVar("S", bound=SettingsSection)
PREFIX = "ATLAS_"
_OWN_VARIABLES = frozenset({"ATLAS_HOME", "ATLAS_DESKTOP_TOKEN"})


class Settings:
    """The home's settings, read once at the start. Changed only through ``change``."""

    def __init__(
        self, path: Path, *, environ: MutableMapping[str, str], flags: Mapping[str, Json] | None = None
    ) -> None:
        """Read the file; ``flags`` maps ``section.key`` to what the command line said.

        Raises SettingsError for a file that is not TOML.
        """
        self._path = path
        self._file = read_config(path)
        self._flags = dict(flags or {})
        self._environ = {name: value for name, value in environ.items() if name.startswith(PREFIX) and value.strip()}
        self._process_environ = environ
        self._owners: dict[str, str] = {}
        self._kinds: dict[str, type[SettingsSection]] = {}
        self._sections: dict[str, SettingsSection] = {}

    def add(self, kind: type[SettingsSection], *, owner: str = "kernel") -> None:
        """Add a section and check its values. Raises SettingsError with the key and what it takes.

        Raises MisuseError for one that another plugin owns.

        A secret's variable leaves the environment once read, so that no command the agent runs inherits it.
        """
        name = kind.section
        if (held := self._owners.setdefault(name, owner)) != owner:
            raise MisuseError(f"The section {name} of config.toml belongs to {held} already.")
        self._kinds[name] = kind
        self._sections[name] = self._parse(kind, self._values(kind))
        for key, field in kind.model_fields.items():
            if _extra(field).get("secret"):
                self._process_environ.pop(_variable(name, key), None)

    def remove(self, owner: str) -> None:
        """Forget the sections of a plugin that was turned off."""
        for section in [name for name, held in self._owners.items() if held == owner]:
            del self._owners[section]
            self._kinds.pop(section, None)
            self._sections.pop(section, None)

    def refuse_unknown(self, known_sections: Iterable[str]) -> None:
        """Stop at a section nobody owns. ``known_sections`` has also those of plugins that are off."""
        known = set(known_sections) | set(self._kinds)
        for name in self._file:
            if name not in known:
                raise SettingsError(
                    f"{self._path} has a section [{name}] that Atlas does not know.",
                    hint=f"It knows {', '.join(f'[{section}]' for section in sorted(known))}.",
                    code="unknown_setting",
                )

    def unknown_variables(self) -> tuple[str, ...]:
        """Name the ``ATLAS_*`` variables that set nothing: reported, never an error."""
        known = {_variable(name, key) for name, kind in self._kinds.items() for key in kind.model_fields}
        return tuple(sorted(name for name in self._environ if name not in known | _OWN_VARIABLES))

    def section(self, kind: type[S]) -> S:
        """Return a section as it is at the moment."""
        found = self._sections.get(kind.section)
        if not isinstance(found, kind):
            raise MisuseError(f"The section [{kind.section}] belongs to a plugin that is off.")
        return found

    def rows(self) -> tuple[SettingRow, ...]:
        """Return every setting. A secret's value is never among them."""
        rows = []
        for name, kind in sorted(self._kinds.items()):
            current = self._sections[name]
            for key, field in kind.model_fields.items():
                extra = _extra(field)
                secret = bool(extra.get("secret"))
                rows.append(
                    SettingRow(
                        key=f"{name}.{key}",
                        value=None if secret else getattr(current, key),
                        default=None if secret else field.get_default(call_default_factory=True),
                        variable=_variable(name, key),
                        description=field.description or "",
                        source=self._source(name, key),
                        screen=bool(extra.get("screen")),
                        secret=secret,
                    )
                )
        return tuple(rows)

    async def change(self, key: str, value: Json) -> None:
        """Change a setting in the file, keeping its comments, and here; None takes it back to its default."""
        section, _, name = key.partition(".")
        kind = self._kinds.get(section)
        field = kind.model_fields.get(name) if kind else None
        if kind is None or field is None:
            known = ", ".join(row.key for row in self.rows() if row.screen)
            raise MisuseError(f"There is no setting {key!r}.", hint=f"Those that change here: {known}.")
        if not _extra(field).get("screen"):
            raise MisuseError(
                f"{key} cannot change while Atlas runs.", hint="Change it in config.toml and start Atlas again."
            )
        table = dict(self._file.get(section, {}))
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
        parsed = self._parse(kind, self._values(kind, table))
        if value is not None:
            value = getattr(self._parse(kind, {**table}), name)
        write_setting(self._path, section, name, value)
        self._file[section] = table
        self._sections[section] = parsed

    def _source(self, section: str, key: str) -> str:
        if f"{section}.{key}" in self._flags:
            return "flag"
        if _variable(section, key) in self._environ:
            return "variable"
        return "file" if key in self._file.get(section, {}) else "default"

    def _values(self, kind: type[SettingsSection], table: Mapping[str, Json] | None = None) -> dict[str, Json]:
        name = kind.section
        found = self._file.get(name, {}) if table is None else table
        if not isinstance(found, Mapping):
            raise SettingsError(f"{self._path}: {name} must be a section, written [{name}].")
        for key in found:
            field = kind.model_fields.get(key)
            if field is None:
                raise SettingsError(
                    f"{self._path} has a key {key!r} in [{name}] that Atlas does not know.",
                    hint=f"It knows {', '.join(sorted(kind.model_fields))}.",
                    code="unknown_setting",
                )
            if _extra(field).get("secret"):
                raise SettingsError(
                    f"{self._path}: {name}.{key} is a secret and does not belong in a file.",
                    hint=f"Take it out, and set the variable {_variable(name, key)} instead.",
                )
        values = dict(found)
        for key, field in kind.model_fields.items():
            text = self._environ.get(_variable(name, key))
            if text is not None:
                values[key] = _from_text(
                    text, is_list="list" in str(field.annotation) or "tuple" in str(field.annotation)
                )
            flag = self._flags.get(f"{name}.{key}")
            if flag is not None:
                values[key] = flag
        return values

    def _parse(self, kind: type[SettingsSection], values: Mapping[str, Json]) -> SettingsSection:
        try:
            return kind.model_validate(values)
        except ValidationError as error:
            key, said, _ = refusal(error, kind)
            where = self._source(kind.section, key.split(".")[0])
            place = {"variable": _variable(kind.section, key), "flag": "The command line"}.get(where, str(self._path))
            raise SettingsError(
                f"{place}: in [{kind.section}], {said}",
                hint="The settings page (atlas docs reference/settings) says what it takes.",
                code="wrong_setting",
            ) from None


def _variable(section: str, key: str) -> str:
    return f"{PREFIX}{section}_{key}".upper()


def _extra(field: Any) -> dict[str, Any]:
    extra = field.json_schema_extra
    return extra if isinstance(extra, dict) else {}


def _from_text(text: str, *, is_list: bool) -> Json:
    if not is_list:
        return text
    if text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return text  # refused by the section with its key
    return [item.strip() for item in text.split(",") if item.strip()]
