"""What is said before a plugin is turned on, and after: what it holds, what is new in it, what it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from atlas_sdk.client import Client
from atlas_sdk.errors import AtlasError

_KINDS = {"hook_commands": "hook", "mcp_servers": "MCP server", "network": "host"}
_PLAIN = {"llm": "it asks your model", "notify": "it may start turns", "python": "its code runs inside Atlas"}
_UNUSED = {"agents": "Nothing uses agents in this version."}


def news(row: dict[str, Any]) -> list[str]:
    """Return what a plugin declares that its owner did not agree to, and what of that it no longer declares."""
    agreed, declares = row.get("agreed"), row["declares"] or {}
    if not isinstance(agreed, dict):
        return []
    came, went = _beyond(declares, agreed), _beyond(agreed, declares)
    said = [f"New since you agreed: {'; '.join(came)}."] if came else []
    said += [f"No longer: {'; '.join(went)}."] if went else []
    if not said and row["state"] == "waiting":
        said.append("It declares the same as when you agreed, and what it runs is something else. Look at its files.")
    return said


def texts(client: Client, name: str) -> list[str]:
    """Return what a plugin folder holds for the model and for you: commands, agents and skills. They run nothing."""
    with suppress(AtlasError):  # a package that is no folder has none, and nothing reads them where that plugin is off
        names = client.request("plugin.contents", {"name": name})["names"]
        return [
            f"It has {kind}: {', '.join(names[kind])}. {_UNUSED.get(kind, '')}".rstrip()
            for kind in ("commands", "agents", "skills")
            if names[kind]
        ]
    return []


def refused_manifest(client: Client, row: dict[str, Any]) -> str:
    """Return what is wrong with a folder's manifest that could not be read, empty where nothing is."""
    if row["source"] != "folder":
        return ""
    with suppress(AtlasError):
        for one in client.request("plugin.contents", {"name": row["name"]})["refused"]:
            if one["part"] == "plugin.json":
                return f"plugin.json: {one['why']}"
    return ""


def lacking(client: Client, row: dict[str, Any]) -> list[str]:
    """Return a sentence for each secret that a plugin reads and nobody stored."""
    with suppress(AtlasError):  # with no vault on, whatever reads a secret says so itself
        stored = {one["name"] for one in client.request("secret.list")["secrets"]}
        return [
            f"It reads {secret}, which is not stored: atlas plugins secret {row['name']} {secret}."
            for secret in (row["declares"] or {}).get("secrets", [])
            if secret not in stored
        ]
    return []


def _beyond(what: dict[str, Any], known: dict[str, Any]) -> list[str]:
    """Return what is declared in the one and not in the other."""
    return [said for kind, names in what.items() for said in _of(kind, names, known.get(kind))]


def _of(kind: str, names: Any, known: Any) -> Iterator[str]:
    if kind in _PLAIN:
        if not known:
            yield _PLAIN[kind]
        return
    word = _KINDS.get(kind) or kind.replace("_", " ").removesuffix("s")
    for name in names if isinstance(names, list) else []:
        if name not in (known or ()):
            yield f"{word} {name}"
