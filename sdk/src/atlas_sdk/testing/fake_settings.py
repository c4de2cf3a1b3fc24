"""Settings without a file: sections at their defaults until a test puts others there."""

from __future__ import annotations

from typing import TypeVar

from anyio.lowlevel import checkpoint
from pydantic import ValidationError

from ..errors import MisuseError
from ..services.settings import SettingRow
from ..settings import SettingsSection
from ..values import Json

S = TypeVar("S", bound=SettingsSection)


class FakeSettings:
    """A SettingsService in memory. It knows the sections that were put there or asked for."""

    def __init__(self, *sections: SettingsSection) -> None:
        self._sections: dict[str, SettingsSection] = {}
        for section in sections:
            self.put(section)

    def put(self, section: SettingsSection) -> None:
        """Put a section in the place of its defaults, or of the one before."""
        self._sections[section.section] = section

    def section(self, kind: type[S]) -> S:
        """Return a section: the one put there, else its defaults."""
        found = self._sections.get(kind.section)
        if isinstance(found, kind):
            return found
        made = kind()
        self.put(made)
        return made

    def rows(self) -> tuple[SettingRow, ...]:
        """Return every setting of the sections known. A secret's value is None."""
        return tuple(
            SettingRow(
                key=f"{name}.{key}",
                value=None if _marked(section, key, "secret") else getattr(section, key),
                default=None if _marked(section, key, "secret") else field.get_default(call_default_factory=True),
                variable=f"ATLAS_{name}_{key}".upper(),
                description=field.description or "",
                source="file" if key in section.model_fields_set else "default",
                screen=_marked(section, key, "screen"),
                secret=_marked(section, key, "secret"),
            )
            for name, section in sorted(self._sections.items())
            for key, field in type(section).model_fields.items()
        )

    def unknown_variables(self) -> tuple[str, ...]:
        """Name the variables that set nothing: a test has none."""
        return ()

    async def change(self, key: str, value: Json) -> None:
        """Change a setting that may change while Atlas runs; None is its default."""
        await checkpoint()
        name, _, field = key.partition(".")
        section = self._sections.get(name)
        if section is None or field not in type(section).model_fields:
            raise MisuseError(f"There is no setting {key!r}.")
        if not _marked(section, field, "screen"):
            raise MisuseError(f"{key} cannot change while Atlas runs.")
        kept = {name: getattr(section, name) for name in section.model_fields_set if name != field}
        try:
            self.put(type(section)(**kept, **({} if value is None else {field: value})))
        except ValidationError as error:
            raise MisuseError(f"{key} is wrong: {error.errors()[0]['msg'].lower()}.") from None


def _marked(section: SettingsSection, key: str, mark: str) -> bool:
    extra = type(section).model_fields[key].json_schema_extra
    return isinstance(extra, dict) and bool(extra.get(mark))
