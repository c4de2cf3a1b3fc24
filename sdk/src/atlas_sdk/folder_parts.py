"""What of a plugin folder acts on its own: hooks, MCP servers, monitors, programs, a screen and Python.

It is read for the consent that is asked before any of it runs, and again, by the plugin that reads folders, to run it:
so what was agreed to is what runs. Nothing is imported or started.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .folder_files import NO_TEXT, is_file, is_folder, refusal
from .folder_hooks import LONGEST_COMMAND, HookCommand, read_hooks
from .folder_report import Report
from .folder_values import DescribedProvider, OptionDefault, described_providers, option_defaults
from .loose_json import read_loose
from .plain_text import one_line
from .values import Json, is_text

_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][\w.]*)(?::-[^}]*)?\}")
KNOWN_VALUES = {
    "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR", "HOME", "USER", "USERNAME", "USERPROFILE",
    "PATH", "PWD", "LANG", "SHELL", "TMPDIR", "TEMP", "TMP", "APPDATA", "LOCALAPPDATA",
}  # fmt: skip
"""What a placeholder of an MCP server may name that is no secret."""
_REGISTERS = re.compile(r"^(?:async\s+)?def\s+register\b|^register\s*[:=]|^from\s.+\bregister\b", re.MULTILINE)
_HOOKS = re.compile(r"^@(?:\w+\.)*hookimpl\b", re.MULTILINE)
_BUNDLES = (".mcpb", ".dxt")
_LONGEST_NAME = 255


_SAID_ALREADY = {"command", "args", "url", "type", "transport", "timeout", "description", "disabled", "enabled", "name"}
"""Fields of a server that are shown already, or say nothing of what runs and who is reached."""
MOST_HOOKS = 500
"""No plugin in the wild has fifty."""
MOST_PROGRAMS = 1_000
MOST_SERVERS = 200
MOST_MONITORS = 200
MOST_SOURCES = 100
"""How many files or inline objects of a kind a manifest may name."""
LONGEST_PYTHON = 2_000_000


@dataclass(frozen=True)
class McpEntry:
    """An MCP server as a folder names it, its configuration as written."""

    name: str
    config: Mapping[str, Json]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names that its placeholders read from the vault."""
        # What is behind the last brace closes nothing, and would be searched to its end from every "${" in it.
        texts = (text[: text.rfind("}") + 1] for text in _texts(self.config))
        found = {name for text in texts for name in _PLACEHOLDER.findall(text)}
        return tuple(sorted(name for name in found - KNOWN_VALUES if "." not in name))

    def __str__(self) -> str:
        """All that decides what runs, or who is reached and what with, on one line."""
        said = [" ".join([str(self.config["command"]), *_words(self.config)])] if self.config.get("command") else []
        said += [str(self.config["url"])] if self.config.get("url") else []
        host = urlsplit(str(self.config.get("url", ""))).netloc if _is_address(self.config.get("url")) else ""
        for field, value in self.config.items():
            if field in _SAID_ALREADY or value in (None, "", [], {}):
                continue
            if field == "headers" and isinstance(value, Mapping):
                said.append(f"headers{f' to {host}' if host else ''} {', '.join(map(str, value))}")
            elif field == "env" and isinstance(value, Mapping):
                said.append("env " + ", ".join(f"{name}={one}" for name, one in value.items()))
            else:
                said.append(f"{field} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}")
        return one_line(f"{self.name} ({'; '.join(said)})")


@dataclass(frozen=True)
class MonitorEntry:
    """A monitor as a folder names it."""

    name: str
    command: str
    description: str
    when: str

    def __str__(self) -> str:
        when = "" if self.when == "always" else f"; {self.when}"
        return one_line(f"{self.name} ({self.command}{when})")


@dataclass(frozen=True)
class FolderParts:
    """The parts that act, and what they act with. ``screen`` is the folder of ``plugin.js``, or None; ``python`` says
    that Python is run."""

    hooks: tuple[HookCommand, ...] = ()
    mcp: tuple[McpEntry, ...] = ()
    monitors: tuple[MonitorEntry, ...] = ()
    programs: tuple[str, ...] = ()
    screen: Path | None = None
    python: bool = False
    options: tuple[OptionDefault, ...] = ()
    providers: tuple[DescribedProvider, ...] = ()

    def adds(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return what consent names beside the manifest's own lists."""
        lists: dict[str, tuple[str, ...]] = {
            "hook_commands": tuple(sorted({str(hook) for hook in self.hooks})),
            "mcp_servers": tuple(str(server) for server in self.mcp),
            "option_defaults": tuple(str(option) for option in self.options),
            "monitors": tuple(str(monitor) for monitor in self.monitors),
            "model_providers": tuple(str(provider) for provider in self.providers),
            "programs": self.programs,
            "screen": ("desktop/plugin.js",) if self.screen else (),
            "python": ("__init__.py",) if self.python else (),
        }
        return tuple((name, names) for name, names in lists.items() if names)

    def fingerprint(self) -> str:
        """Return a digest of all that the parts would run, to the last character."""
        whole = [repr(self.hooks), repr(self.mcp), repr(self.monitors), *([repr(self.options)] if self.options else [])]
        return hashlib.sha256("\n".join(whole).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def secrets(self) -> tuple[str, ...]:
        """Return the secrets that the MCP servers name."""
        return tuple(sorted({name for server in self.mcp for name in server.secrets}))


def read_parts(folder: Path, found: Mapping[str, Json], report: Report, *, package: bool = False) -> FolderParts:
    """Read the parts that act from a folder whose manifest holds ``found``; of a ``package`` any Python is run."""
    experimental = found.get("experimental")
    more = experimental if isinstance(experimental, dict) else {}
    hooks = tuple(_hooks(folder, found.get("hooks"), report))
    mcp = tuple(_mcp(folder, found.get("mcpServers"), report))
    return FolderParts(
        hooks=hooks,
        mcp=mcp,
        monitors=tuple(_monitors(folder, found.get("monitors", more.get("monitors")), report)),
        programs=_programs(folder, report),
        screen=_screen(folder, report),
        python=bool(_init(folder, report).strip()) if package else _python(folder, report),
        options=tuple(one for one in option_defaults(found) if hooks or _is_in(one.key, mcp)),
        providers=tuple(described_providers(found)),
    )


def _is_in(option: str, servers: tuple[McpEntry, ...]) -> bool:
    """Whether a server is given an option; a hook is given all of them, in its environment."""
    return any(f"user_config.{option}" in text for server in servers for text in _texts(server.config))


def is_hooks_alone(folder: Path) -> bool:
    """Whether a package's ``__init__.py`` is plainly hooks and no ``register``, which needs nobody to read it."""
    text = _init(folder, Report())
    return _HOOKS.search(text) is not None and _REGISTERS.search(text) is None


def inside(folder: Path, text: str) -> Path | None:
    """Return the path a manifest names within its folder, or None for one that leads out of it or is none."""
    text = text.removeprefix("${CLAUDE_PLUGIN_ROOT}").replace("\\", "/")
    if (
        "\0" in text
        or re.match(r"[A-Za-z]:", text)
        or any(len(name.encode("utf-8", "replace")) > _LONGEST_NAME for name in text.split("/"))
    ):
        return None
    try:
        path = (folder / text.lstrip("/")).resolve() if not text.startswith("~") else Path("/")
        path.relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        return None
    return folder / text.lstrip("/")


def sources(folder: Path, declared: Json, default: str, what: str, report: Report) -> Iterator[tuple[str, Json]]:
    """Yield each JSON source of a kind of part: the default file, then what the manifest names or holds inline."""
    seen: set[Path] = set()
    named = declared if isinstance(declared, list) else [] if declared is None else [declared]
    if isinstance(declared, list) and declared and all(_is_entry(item) for item in declared):
        named = [declared]  # a list of entries, not of files
    if len(named) > MOST_SOURCES:
        report.refuse(what, f"The manifest names over {MOST_SOURCES} files; the first ones are read.")
        named = named[:MOST_SOURCES]
    for item in [*([default] if os.path.lexists(folder / default) else []), *named]:
        if not isinstance(item, str):
            yield f"{what} in the manifest", item
            continue
        path = inside(folder, item)
        is_whole = path is not None and is_folder(path)
        if path is not None and is_whole:
            path /= Path(default).name
        if path is None or (why := refusal(folder, path)):
            linked = refusal(folder, folder / item) if item == default else ""
            report.refuse(f"{what} {item}", linked or (why if path else "The path leads out of the plugin's folder."))
            continue
        if (known := path.resolve()) in seen:
            continue
        seen.add(known)
        if item.lower().endswith(_BUNDLES):
            report.refuse(f"{what} {item}", "Atlas does not unpack MCP bundles; name its server in .mcp.json.")
        elif is_file(path):
            try:
                value, wrong = read_loose(path)
            except OSError as error:
                report.refuse(item, f"It cannot be read: {error.strerror}.")
                continue
            except ValueError as error:
                report.refuse(item, str(error))
                continue
            if wrong:
                report.warn(wrong)
            yield item, value
        elif item != default:
            report.refuse(f"{what} {item}", f"There is no {path.name} in it." if is_whole else "There is no such file.")


def _is_entry(item: Json) -> bool:
    return isinstance(item, dict) and ("name" in item or "event" in item) and "command" in item


def _hooks(folder: Path, declared: Json, report: Report) -> Iterator[HookCommand]:
    seen: set[str] = set()
    for where, value in sources(folder, declared, "hooks/hooks.json", "hooks", report):
        for hook in read_hooks(value, where, report):
            if len(seen) >= MOST_HOOKS:
                report.refuse(where, f"It has more than {MOST_HOOKS} hooks; the first ones are used.")
                return
            if repr(hook) not in seen:  # a manifest may name the default file's hooks once more
                seen.add(repr(hook))
                yield hook


def _mcp(folder: Path, declared: Json, report: Report) -> Iterator[McpEntry]:
    found: dict[str, McpEntry] = {}
    for where, value in sources(folder, declared, ".mcp.json", "mcpServers", report):
        servers = value
        for wrapper in ("mcpServers", "servers"):
            if isinstance(value, dict) and isinstance(value.get(wrapper), dict):
                servers = value[wrapper]
                break
        if not isinstance(servers, dict):
            report.refuse(where, "It must hold an object of servers.")
            continue
        for name, config in servers.items():
            part = f"mcp server {name}"
            if name.startswith(("$", "//", "_")) and not isinstance(config, dict):
                continue  # a schema's address or a comment
            if why := _no_server(config):
                report.refuse(part, why)
                continue
            if name in found and found[name].config != config:  # as in Claude Code, the manifest has the last word
                report.warn(f"The {part} is described twice; it is started as {where} has it.")
            if name not in found and len(found) >= MOST_SERVERS:
                report.refuse(where, f"It has more than {MOST_SERVERS} servers; the first ones are used.")
                break
            found[name] = McpEntry(name, config)
    yield from found.values()


def _is_address(url: Json) -> bool:
    try:
        return isinstance(url, str) and bool(urlsplit(url).netloc)
    except ValueError:
        return False


def _no_server(config: Json) -> str:
    if not isinstance(config, dict):
        return "It must be an object with a command or a url."
    if len(json.dumps(config)) > LONGEST_COMMAND:
        return f"It has over {LONGEST_COMMAND:,} characters, more than anybody would read."
    if config.get("disabled") is True or config.get("enabled") is False:
        return "It is switched off in the file."
    kind = config.get("type", config.get("transport", ""))
    if kind not in ("", "stdio", "http", "sse", "streamable-http", "streamableHttp", "streamable_http"):
        return f"Atlas does not speak {str(kind)[:40]!r} to servers: stdio and http are known."
    if isinstance(config.get("url"), str) and config["url"]:
        return ""
    command = config.get("command")
    if not isinstance(command, str) or not command.strip():
        return "It has neither a command nor a url."
    if not isinstance(config.get("args", []), list):
        return "Its args must be a list."
    return "" if isinstance(config.get("env") or {}, dict) else "Its env must be an object."


def _monitors(folder: Path, declared: Json, report: Report) -> Iterator[MonitorEntry]:
    seen: set[str] = set()
    for where, value in sources(folder, declared, "monitors/monitors.json", "monitors", report):
        entries = value.get("monitors", [value]) if isinstance(value, dict) else value
        for number, item in enumerate(entries if isinstance(entries, list) else [entries], 1):
            if not isinstance(item, dict) or not isinstance(item.get("command"), str) or not item["command"].strip():
                report.refuse(f"{where}: entry {number}", "A monitor is an object with a name and a command.")
                continue
            if len(item["command"]) > LONGEST_COMMAND:
                report.refuse(f"{where}: entry {number}", f"Its command has over {LONGEST_COMMAND:,} characters.")
                continue
            if len(seen) >= MOST_MONITORS:
                report.refuse(where, f"It has more than {MOST_MONITORS} monitors; the first ones are used.")
                return
            name = str(item.get("name") or f"monitor-{number}")
            when = item.get("when") or "always"
            if not isinstance(when, str) or not (when == "always" or when.startswith("on-skill-invoke:")):
                report.refuse(f"monitor {name}", f"Atlas does not know when {str(when)[:60]!r} is.")
            elif name in seen:
                report.refuse(f"monitor {name}", "Another monitor of the plugin has this name.")
            else:
                seen.add(name)
                yield MonitorEntry(name, item["command"], str(item.get("description") or name), when)


def _screen(folder: Path, report: Report) -> Path | None:
    file = folder / "desktop" / "plugin.js"
    if why := refusal(folder, file.parent) or refusal(folder, file):
        report.refuse("desktop/plugin.js", why)
        return None
    return file.parent if is_file(file) else None


def _programs(folder: Path, report: Report) -> tuple[str, ...]:
    place = folder / "bin"
    if why := refusal(folder, place):
        report.refuse("bin", why)
        return ()
    if not is_folder(place):
        return ()
    try:
        entries = sorted(path for path in place.iterdir() if not path.name.startswith("."))
    except OSError as error:
        report.refuse("bin", f"It cannot be read: {error.strerror}.")
        return ()
    if len(entries) > MOST_PROGRAMS:
        report.refuse("bin", f"It holds over {MOST_PROGRAMS:,} files; the first ones are looked at.")
    names = []
    for path in entries[:MOST_PROGRAMS]:
        if why := refusal(folder, path) or ("" if is_text(path.name) else NO_TEXT):
            report.refuse(f"bin/{path.name}", why)
            continue
        if not is_file(path):
            continue
        if sys.platform != "win32" and not path.stat().st_mode & 0o111:
            report.warn(f"bin/{path.name} is not marked as a program (chmod +x), so nothing runs it by name.")
        names.append(path.name)
    return tuple(names)


def _python(folder: Path, report: Report) -> bool:
    text = _init(folder, report)
    if _REGISTERS.search(text) or _HOOKS.search(text):
        return True
    if text.strip():
        report.refuse("__init__.py", "It has no register(ctx), so nothing of it is run.")
    return False


def _init(folder: Path, report: Report) -> str:
    path = folder / "__init__.py"
    if why := refusal(folder, path, most_bytes=LONGEST_PYTHON):
        report.refuse("__init__.py", why)
        return ""
    if not is_file(path):
        return ""
    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        report.refuse("__init__.py", f"It cannot be read: {error.strerror}.")
        return ""


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _words(config: Mapping[str, Json]) -> list[str]:
    args = config.get("args")
    return [str(word) for word in args] if isinstance(args, list) else []
