"""The file ``config.toml``: read whole, changed one key at a time with its comments kept."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from .errors import SettingsError
from .homes import replace_file
from .regular_file import read_regular_text
from .values import Json


def read_config(path: Path) -> dict[str, Any]:
    """Return what the file holds, nothing where there is none. Raises SettingsError, and changes nothing."""
    try:
        return tomllib.loads(read_regular_text(path))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}.", hint="Mend that line; nothing was changed.") from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.", hint="Mend its permissions.") from error


def write_setting(path: Path, section: str, key: str, value: Json) -> None:
    """Set a key, or take it out with None, and leave the rest of the file as it is. Raises StorageError."""
    import tomlkit

    text = read_regular_text(path) if path.exists() else ""
    document = tomlkit.parse(text)
    table: Any = document.setdefault(section, tomlkit.table())
    if value is None:
        table.pop(key, None)
    else:
        table[key] = list(value) if isinstance(value, tuple) else value
    replace_file(path, tomlkit.dumps(document))
