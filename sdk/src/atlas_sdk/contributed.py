"""What a hook answered, looked at once: the fields by which Atlas sorts and names it are there, of their kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import MisuseError
from .services import ServiceKey
from .settings import SettingsSection

_FIELDS: dict[str, dict[str, type]] = {
    "atlas_tools": {"name": str},
    "atlas_methods": {"name": str},
    "atlas_commands": {"name": str},
    "atlas_providers": {"id": str, "order": int},
    "atlas_instructions": {"name": str, "order": int},
    "atlas_services": {"key": ServiceKey},
}


def contributed(hook: str, implementation: Callable[..., object], *arguments: object) -> list[Any]:
    """Call a hook's implementation and return the items of its answer.

    Raises MisuseError for what is no list or has not the fields it needs. What it raises by being called or looked at
    passes through.
    """
    answer = implementation(*arguments)
    if not isinstance(answer, list | tuple):
        raise MisuseError(f"it returned {type(answer).__name__} where a list is due")
    items = list(answer)
    for item in items:
        if hook == "atlas_settings" and not (isinstance(item, type) and issubclass(item, SettingsSection)):
            raise MisuseError(f"it returned {type(item).__name__} where a kind of SettingsSection is due")
        for field, kind in _FIELDS.get(hook, {}).items():
            if not isinstance(getattr(item, field, None), kind):
                raise MisuseError(f"an item, of {type(item).__name__}, has no {field} that is {kind.__name__}")
        str(getattr(item, "kind", None)), str(getattr(item, "name", None))
    return items
