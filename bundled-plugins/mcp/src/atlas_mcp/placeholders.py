"""Placeholders of a server's entry: ``${NAME}`` becomes a secret of the vault or a value of its plugin."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from atlas_sdk.errors import NeedsConsentError

from .config import PLACE, ServerConfig, searched

INHERITED = (
    "PATH", "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TEMP", "TMP", "USER", "LOGNAME",
    "SHELL", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
    "PROGRAMFILES",
    "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
)  # fmt: skip
"""What a program needs to find its files and speak the user's language. No keys, and nothing of Atlas."""
Secret = Callable[[str], Awaitable[str | None]]


def basic_environment() -> dict[str, str]:
    """Return what every server's process gets beside what its entry names."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


async def filled(config: ServerConfig, secret: Secret) -> ServerConfig:
    """Return the entry with every placeholder filled. Raises NeedsConsentError, which names the secret that lacks."""
    known = {match[1]: await _value(config, match, secret) for match in config.places()}

    def fill(text: str) -> str:
        end = searched(text)
        return PLACE.sub(lambda match: known[match[1]], text[:end]) + text[end:]

    return replace(
        config,
        command=fill(config.command),
        cwd=fill(config.cwd),
        url=fill(config.url),
        args=tuple(map(fill, config.args)),
        env={name: fill(value) for name, value in config.env.items()},
        headers={name: fill(value) for name, value in config.headers.items()},
        oauth={name: fill(value) for name, value in config.oauth.items()},
    )


async def _value(config: ServerConfig, match: re.Match[str], secret: Secret) -> str:
    name, default = match[1], match[2]
    if name in config.values:
        return config.values[name]
    if config.secrets is None or name in config.secrets:
        value = await secret(name)
        if value is not None:
            return value
    if name in INHERITED and name in os.environ:
        return os.environ[name]
    if default is not None:
        return default
    if config.secrets is not None and name not in config.secrets:
        why = f"The plugin {config.plugin} reads {name} for its MCP server and does not declare it."
        raise NeedsConsentError(why, hint="Its manifest must name it under atlas.secrets.")
    raise NeedsConsentError(
        f"The MCP server {config.name} needs {name}, and the vault does not hold it.",
        hint=f"Store it: atlas secrets set {name}",
    )
