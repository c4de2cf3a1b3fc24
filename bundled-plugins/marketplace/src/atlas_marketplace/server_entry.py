"""What an MCP server of the marketplace may be: one exact version of a package, an image, an https address. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from atlas_sdk.values import Json

from .secrets_in_text import secrets_in

_NPM = re.compile(r"(?:@[a-z0-9][\w.-]*/)?[a-z0-9][\w.-]*@\d+\.\d+\.\d+(?:-[\w.]+)?")
_PYPI = re.compile(r"[A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?==\d[\w.!+]*")
_PYTHON = re.compile(r"\d+(?:\.\d+){0,2}")
_IMAGE = re.compile(r"[a-z0-9][\w./:-]*@sha256:[0-9a-f]{64}")
_VARIABLE = re.compile(r"\$\{([^}:]*)")
_FIELDS = {"command", "args", "env", "type", "url", "headers", "trust", "alwaysLoad", "timeout"}
_DOCKER_FLAGS = {"-i", "-t", "-it", "--rm", "--init", "--read-only", "--interactive", "--tty"}
_DOCKER_VALUES = {
    "-e": re.compile(r"[A-Za-z_]\w*(?:=.*)?", re.DOTALL),
    "--name": re.compile(r"[\w.-]+"),
    "--network": re.compile(r"none|bridge"),
    "--memory": re.compile(r"\d+[bkmg]?"),
    "--cpus": re.compile(r"\d+(?:\.\d+)?"),
    "--user": re.compile(r"[1-9]\d*(?::[1-9]\d*)?"),
    "--workdir": re.compile(r"/[\w./-]*"),
    "--platform": re.compile(r"[\w/]+"),
    "--cap-drop": re.compile(r"\w+"),
    "--security-opt": re.compile(r"no-new-privileges(?:[:=]true)?"),
    "--pull": re.compile(r"always|missing|never"),
}
"""The options a container may have, each with the values that let nothing of this computer in and no guard down."""
_DOCKER_SHORT = {"--env": "-e", "-m": "--memory", "-u": "--user", "-w": "--workdir"}
# What makes the launcher fetch from elsewhere, read other settings, or run other code than was reviewed.
_STEERS = re.compile(
    r"(?:npm_|npx_|pnpm_|yarn_|corepack_|pip_|pipx_|uv_|uvx_|pypi_|docker_|podman_|containers?_(?:host|conf|reg|storage|ssh|conn)|node_(?!env$)|python"
    r"|bun_|deno_|ld_|dyld_|bash_|git_(?:ssh|exec|conf|proxy|templ|dir|work|askpass)|xdg_|ssl_|requests_ca|curl_|virtual_env|netrc|gconv_path"
    r"|libpath|shlib_path|(?:[a-z_]+_)?proxy$|env$|path$|pathext$|ifs$|shell$|shellopts$|comspec$|home$|homedrive$"
    r"|homepath$|userprofile$|appdata$|localappdata$|programdata$|prefix$|tmpdir$|tmp$|temp$|systemroot$|windir$|pwd$)",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_EXTENSIONS = (".cmd", ".exe")


def server_faults(server: Mapping[str, Json], secrets: set[str]) -> list[str]:
    """Return what is wrong with a server's entry; ``secrets`` are those its item names."""
    faults = [f"Its server has {name!r}, which is not taken." for name in server if name not in _FIELDS]
    faults += _misshapen(server)
    if faults:
        return faults
    if "url" in server:
        faults += list(_remote(server))
    else:
        faults += list(_local(str(server.get("command", "")), [str(one) for one in server.get("args") or []]))
    faults += [
        f"Its server reads {name!r}, which its secrets do not name." for name in sorted(names_read(server) - secrets)
    ]
    if found := secrets_in(json.dumps(server)):
        faults.append(f"Its server holds what looks like a secret ({found[0]}). Write ${{NAME}} and name it.")
    return faults


def names_read(server: Mapping[str, Json]) -> set[str]:
    """Return the names that an entry's placeholders read from the vault."""
    return {found for text in _texts(server) for found in _VARIABLE.findall(text)}


def receiver(server: Mapping[str, Json]) -> str:
    """Return who gets what an entry reads: the host of its address, or the program that is started."""
    if "url" in server:
        return urlsplit(str(server["url"])).netloc or str(server["url"])
    args = server.get("args")
    words = [str(server.get("command")), *map(str, args if isinstance(args, list) else [])]
    return f"the program {' '.join(words)}"


def _misshapen(server: Mapping[str, Json]) -> Iterator[str]:
    args, env, headers = server.get("args", []), server.get("env", {}), server.get("headers", {})
    if not isinstance(args, list) or not all(isinstance(one, str | int) for one in args):
        yield "Its server's args must be a list of texts."
    for name, table in (("env", env), ("headers", headers)):
        if not isinstance(table, dict) or not all(isinstance(one, str | int) for one in table.values()):
            yield f"Its server's {name} must be names with texts."
    for name in env if isinstance(env, dict) else ():
        if not _ENVIRONMENT.fullmatch(name):
            yield f"Its server's env has {name[:40]!r}, which is no name of a variable."
        elif _STEERS.match(name):
            yield f"Its server's env has {name[:40]!r}, which can make it run other code than was reviewed."
    for name in ("command", "url", "type", "trust"):
        if not isinstance(server.get(name, ""), str):
            yield f"Its server's {name} must be a text."
    if ("url" in server) == ("command" in server):
        yield "Its server must have a command or a url."


def _remote(server: Mapping[str, Json]) -> Iterator[str]:
    url = str(server["url"])
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.username:
        yield f"Its server's address must be https, and it is {url[:80]!r}."
    if server.get("type", "http") not in ("http", "streamable-http", "sse"):
        yield f"Its server's type {server.get('type')!r} is not known."


def _local(command: str, args: Sequence[str]) -> Iterator[str]:
    program = command
    for extension in _EXTENSIONS:
        program = program.removesuffix(extension)
    match program:
        case "npx":
            yield from _npx(args)
        case "uvx":
            yield from _uvx(args)
        case "docker" | "podman":
            yield from _docker(args)
        case _:
            yield f"Its server runs {command[:40]!r}: only npx, uvx and docker run fetch one exact version."


def _npx(args: Sequence[str]) -> Iterator[str]:
    packages, rest = [], list(args)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-y", "--yes", "-q", "--quiet"):
            continue
        name, mark, value = option.partition("=")
        if name not in ("-p", "--package"):
            yield f"npx has {option[:40]!r}, which is not taken."
            return
        packages.append(value if mark else (rest.pop(0) if rest else ""))
    packages = packages or rest[:1] or [""]
    for one in packages:
        if not _NPM.fullmatch(one):
            yield f"npx must run one exact version, such as name@1.2.3, and not {one[:60]!r}."


def _uvx(args: Sequence[str]) -> Iterator[str]:
    packages, rest = [], list(args)
    program_of = False
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        name, mark, value = option.partition("=")
        if name in ("--from", "--with", "--python", "-p"):
            value = value if mark else (rest.pop(0) if rest else "")
            if name in ("--python", "-p") and not _PYTHON.fullmatch(value):
                yield f"uvx must run a version of Python, such as 3.12, and not {value[:60]!r}."
            if name in ("--from", "--with"):
                packages.append(value)
            program_of = program_of or name == "--from"
        elif name not in ("-q", "--quiet", "--no-progress", "--isolated"):
            yield f"uvx has {option[:40]!r}, which is not taken."
            return
    if not program_of:
        packages += rest[:1] or [""]
    for one in packages:
        if not _PYPI.fullmatch(one):
            yield f"uvx must run one exact version, such as name==1.2.3, and not {one[:60]!r}."


def _docker(args: Sequence[str]) -> Iterator[str]:
    rest = list(args)
    if not rest or rest.pop(0) != "run":
        yield "docker must run an image: docker run."
        return
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _DOCKER_FLAGS:
            continue
        name, mark, value = option.partition("=")
        if not mark:
            value = rest.pop(0) if rest else ""
        fits = _DOCKER_VALUES.get(_DOCKER_SHORT.get(name, name))
        if fits is None or not fits.fullmatch(value):
            shown = option if fits is None or mark else f"{option} {value}"
            yield f"docker run has {shown[:60]!r}, which is not taken."
            return
    image = rest[0] if rest else ""
    if not _IMAGE.fullmatch(image):
        yield f"docker must run an image by its digest, such as name@sha256:…, and not {image[:60]!r}."


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
