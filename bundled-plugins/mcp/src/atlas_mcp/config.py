"""What a server's entry says: Claude Code's format, checked once, with what is not understood said by name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from atlas_sdk.mcp import McpServer
from atlas_sdk.values import read_json

Kind: TypeAlias = Literal["stdio", "http", "sse"]

CALL_SECONDS = 1_800.0
"""A build or a crawl may take long, and the user can stop it; after half an hour a server is thought to be stuck."""
_KINDS: dict[str, Kind] = {
    "stdio": "stdio", "http": "http", "streamable-http": "http", "streamableHttp": "http", "sse": "sse",
}  # fmt: skip
_SHARED = frozenset({"type", "trust", "alwaysLoad", "timeout", "disabled", "description"})
_KEYS: dict[Kind, frozenset[str]] = {
    "stdio": _SHARED | {"command", "args", "env", "cwd"},
    "http": _SHARED | {"url", "headers", "oauth", "headersHelper"},
    "sse": _SHARED | {"url", "headers", "oauth", "headersHelper"},
}
_OAUTH = frozenset({"clientId", "clientSecret", "callbackPort", "scopes"})
_NAME_CHARS = 200
PLACE = re.compile(r"\$\{([A-Za-z_][\w.-]*)(?::-([^}]*))?\}")
"""``${NAME}``, or ``${NAME:-text}`` with what stands there where the name has no value."""


def searched(text: str) -> int:
    """Return how much of a text can hold placeholders: behind the last brace none is closed, and looking for its end
    from each one that begins there takes minutes.
    """
    return text.rfind("}") + 1


@dataclass(frozen=True)
class ServerConfig:
    """One server, ready to be connected but for its placeholders. ``why`` says why it cannot be used.

    ``secrets`` are the names of the vault it may read, None for any: the home's own servers. ``values`` are what other
    placeholders stand for. ``problems`` are what its entry says and Atlas does not do.
    """

    name: str
    folder: Path
    kind: Kind = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    headers_helper: str = ""
    oauth: Mapping[str, str] = field(default_factory=dict)
    untrusted: bool = False
    always_load: bool = False
    disabled: bool = False
    call_seconds: float = CALL_SECONDS
    values: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] | None = None
    plugin: str = ""
    problems: tuple[str, ...] = ()
    why: str = ""

    @property
    def digest(self) -> str:
        """What it connects to: a list of tools is good as long as this is the same. Placeholders are not filled."""
        what = [self.kind, self.command, self.args, dict(self.env), self.cwd, self.url, dict(self.headers)]
        if self.headers_helper or self.oauth:
            what += [self.headers_helper, dict(self.oauth)]
        # Of a plugin's values only those it uses: others, such as the terminal's, are not the same every time.
        used = {match[1]: self.values[match[1]] for match in self.places() if match[1] in self.values}
        return hashlib.sha256(json.dumps([what, used], sort_keys=True).encode()).hexdigest()[:32]

    def places(self) -> list[re.Match[str]]:
        """Return every placeholder of the entry."""
        texts = [self.command, self.cwd, self.url, *self.args, *self.env.values(), *self.headers.values()]
        texts += self.oauth.values()
        return [match for text in texts for match in PLACE.finditer(text[: searched(text)])]


def read_file(text: str, folder: Path) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """Return the servers of a ``mcp.json`` and what is wrong with the file as a whole. Raises ValueError for no JSON.

    Both shapes are taken that are found in the wild: servers under ``mcpServers``, or at the top.
    """
    found = read_json(text)
    if not isinstance(found, dict):
        raise ValueError("it must hold an object")
    problems = []
    servers = found.get("mcpServers", found)
    if servers is not found:
        problems = [f"{key!r} is unknown beside mcpServers." for key in found if key != "mcpServers"]
    if not isinstance(servers, dict):
        raise ValueError("mcpServers must be an object")
    return tuple(read_entry(name, entry, folder) for name, entry in sorted(servers.items())), tuple(problems)


def of_plugin(server: McpServer, plugin: str) -> ServerConfig:
    """Return the configuration of a server that a plugin adds."""
    config = read_entry(server.name, server.config, server.folder)
    if config.headers_helper:
        # Consent was asked for an address, and not for a program.
        config = replace(config, why="Atlas runs no headersHelper for a plugin's server.", headers_helper="")
    return replace(config, values=server.values, secrets=server.secrets, plugin=plugin)


def read_entry(name: str, entry: Any, folder: Path) -> ServerConfig:
    """Return one server. It never raises: what cannot be used says why."""
    config = ServerConfig(name, folder)
    if not name.strip() or len(name) > _NAME_CHARS:
        return replace(config, why="Its name is empty or too long.")
    if not isinstance(entry, Mapping):
        return replace(config, why="It must be an object.")
    wanted = entry.get("type", "http" if "url" in entry and "command" not in entry else "stdio")
    kind = _KINDS.get(wanted) if isinstance(wanted, str) else None
    if kind is None:
        return replace(config, why=f"Its type {wanted!r} is not one of stdio, http and sse.")
    reader = _Reader(entry)
    config = replace(
        config,
        kind=kind,
        command=reader.text("command"),
        args=reader.texts("args"),
        env=reader.map("env"),
        cwd=reader.text("cwd"),
        url=reader.text("url"),
        headers=reader.map("headers"),
        headers_helper=reader.text("headersHelper"),
        oauth=reader.map("oauth"),
        # Anything but a plain "trusted" asks: a misspelt distrust must not become trust.
        untrusted=entry.get("trust", "trusted") != "trusted",
        always_load=entry.get("alwaysLoad") is True,
        disabled=entry.get("disabled") is True,
        call_seconds=reader.seconds("timeout", CALL_SECONDS),
    )
    problems = [f"{key!r} is unknown." for key in entry if key not in _KEYS[kind]]
    problems += [f"{key!r} of oauth is unknown." for key in config.oauth if key not in _OAUTH]
    if entry.get("trust", "trusted") not in ("trusted", "untrusted"):
        problems.append('trust must be "trusted" or "untrusted"; it counts as untrusted.')
    why = reader.wrong
    if not why and kind == "stdio" and not config.command:
        why = "It names neither a command nor a url."
    if not why and kind != "stdio" and not re.match(r"https?://|\$\{", config.url):
        why = f"Its url {config.url[:80]!r} must begin with http:// or https://."
    return replace(config, problems=tuple(problems), why=why)


class _Reader:
    """Reads fields of one entry; ``wrong`` is what is wrong with the first that is of another kind."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        self._entry = entry
        self.wrong = ""

    def text(self, key: str) -> str:
        value = self._entry.get(key, "")
        return value if isinstance(value, str) else self._refuse(f"{key} must be text.") or ""

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._refuse(f"{key} must be a list of texts.")
            return ()
        return tuple(value)

    def map(self, key: str) -> dict[str, str]:
        value = self._entry.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(item, str | int | float) for item in value.values()):
            self._refuse(f"{key} must be an object of texts.")
            return {}
        return {name: item if isinstance(item, str) else json.dumps(item) for name, item in value.items()}

    def seconds(self, key: str, default: float) -> float:
        value = self._entry.get(key)  # in milliseconds, as Claude Code has it
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            self._refuse(f"{key} must be a number of milliseconds.")
            return default
        return value / 1_000

    def _refuse(self, why: str) -> str:
        self.wrong = self.wrong or why[0].upper() + why[1:]
        return ""
