"""What of a folder's manifest decides what its parts run with and whom they reach: options' defaults, keys' addresses.

It is read with the parts themselves, for consent and again to run them, so that neither changes unasked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .folder_hooks import LONGEST_COMMAND
from .plain_text import one_line
from .values import Json


@dataclass(frozen=True)
class OptionDefault:
    """What an option (``userConfig``) is while its owner sets nothing: part of commands, environments and addresses."""

    key: str
    value: Json

    def __str__(self) -> str:
        said = self.value if isinstance(self.value, str) else json.dumps(self.value, ensure_ascii=False)
        return one_line(f"{self.key} = {said}")


@dataclass(frozen=True)
class DescribedProvider:
    """A model provider of the manifest's, with the key that its address is sent."""

    id: str
    key: str
    base_url: str

    def __str__(self) -> str:
        return one_line(f"{self.id} ({self.key} → {self.base_url})" if self.key else f"{self.id} ({self.base_url})")


def option_default(option: Json) -> str | int | float | None:
    """Return the default of an option of Claude Code's kind, None for one that is none."""
    default = option.get("default") if isinstance(option, dict) else None
    # What is longer than any command nobody would read where consent is asked.
    return default if isinstance(default, str | int | float) and len(str(default)) <= LONGEST_COMMAND else None


def option_defaults(found: Mapping[str, Json]) -> Iterator[OptionDefault]:
    """Yield the defaults of a manifest's options, as they are when the parts run: a setting of the name has the word.

    In the manifest's order, since two names may make one variable, of which the last one counts.
    """
    settings = _atlas(found).get("settings")
    named = [one if isinstance(one, dict) else {"name": one} for one in settings] if isinstance(settings, list) else []
    declared = {str(one.get("name")): one.get("default") for one in reversed(named)}
    options = found.get("userConfig")
    for key, option in options.items() if isinstance(options, dict) else []:
        if not (isinstance(option, dict) and option.get("sensitive") is True):
            value = declared[key] if key in declared else option_default(option)
            if value is not None:
                yield OptionDefault(key, value)


def described_providers(found: Mapping[str, Json]) -> Iterator[DescribedProvider]:
    """Yield the model providers that a manifest describes."""
    described = _atlas(found).get("providers")
    for id, entry in described.items() if isinstance(described, dict) else []:
        if isinstance(entry, dict):
            key = entry.get("key")
            yield DescribedProvider(id, key if isinstance(key, str) else "", str(entry.get("base_url", "?")))


def _atlas(found: Mapping[str, Json]) -> dict[str, Any]:
    atlas = found.get("atlas")
    return atlas if isinstance(atlas, dict) else {}
