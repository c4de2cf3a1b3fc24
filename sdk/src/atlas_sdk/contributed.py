"""What a hook answered, looked at once: the fields by which Atlas sorts and names it are there, of their kind."""

from __future__ import annotations

import sys
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
    "atlas_hooks": {"stage": int},
    "atlas_services": {"key": ServiceKey},
}

_KINDS = {
    "atlas_skills": ("skills", "SkillSource"),
    "atlas_agents": ("agents", "AgentDefinition"),
    "atlas_mcp_servers": ("mcp", "McpServer"),
    "atlas_monitors": ("monitors", "Monitor"),
    "atlas_screens": ("screens", "Screen"),
}
"""What other plugins read as it is: one wrong item would break those that read it."""


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
        if hook in _KINDS and not _is_kind(item, *_KINDS[hook]):
            raise MisuseError(f"it returned {type(item).__name__} where {_KINDS[hook][1]} is due")
        for field, kind in _FIELDS.get(hook, {}).items():
            if not isinstance(getattr(item, field, 0 if field == "stage" else None), kind):
                raise MisuseError(f"an item, of {type(item).__name__}, has no {field} that is {kind.__name__}")
        str(getattr(item, "kind" if hook == "atlas_readers" else "name", None))  # another field may be what makes it
    return items


def _is_kind(item: object, module: str, name: str) -> bool:
    """Whether an item is of a kind of the SDK's, whose module is imported where there is one of it."""
    found = sys.modules.get(f"{__package__}.{module}")
    return found is not None and isinstance(item, getattr(found, name))
