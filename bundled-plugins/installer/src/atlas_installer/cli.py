"""``atlas plugins install``, ``update`` and ``remove``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from atlas_sdk.client import Client
from atlas_sdk.commands import Terminal
from atlas_sdk.consent import in_words
from atlas_sdk.errors import AtlasError
from atlas_sdk.plain_text import one_line, plain, plain_json

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def install(
    context: typer.Context,
    address: Annotated[
        str,
        typer.Argument(
            help="https://..., git@..., file:///..., owner/repo, with #folder for one inside it; a folder, an archive "
            "or a wheel; or a package's name, name==1.2."
        ),
    ],
    ref: Annotated[str, typer.Option("--ref", help="A branch, a tag or a commit.", metavar="REF")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace the one of the same name installed before.")] = False,
    json: Json = False,
) -> None:
    """Fetch a plugin by its address (a git URL, owner/repo, a folder, a package); it arrives off."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        params = {"address": absolute(address, Path.cwd()), "ref": ref, "force": force}
        try:
            found = client.request("plugin.install", params, timeout=None)
        except AtlasError as error:
            error.hint = meant_here(address, Path.cwd()) or error.hint
            raise
        held = texts(client, found["name"])
    _show(found, "Installed", held, json=json)


def update(context: typer.Context, name: str, json: Json = False) -> None:
    """Fetch a plugin installed by address again from where it came."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = client.request("plugin.update", {"name": name}, timeout=None)
        held = texts(client, name)
    _show(found, "Updated", held, json=json)


def remove(context: typer.Context, name: str) -> None:
    """Turn off and take away a plugin installed by address; its data stays."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        client.request("plugin.remove", {"name": name}, timeout=None)
    print(plain(f"{name} is removed. Its data stays."))


def absolute(address: str, here: Path) -> str:
    """Return an address whose path, if it is one, does not depend on where the server runs."""
    place, mark, folder = address.partition("#")
    is_path = place.startswith((".", "~")) or place.endswith((".whl", ".zip", ".tar.gz", ".tgz"))
    if is_path and "://" not in place:
        return f"{(here / Path(place).expanduser()).resolve()}{mark}{folder}"
    return address


def meant_here(address: str, here: Path) -> str:
    """Return a hint where an address that is no path names something that lies here."""
    place = address.partition("#")[0]
    if absolute(address, here) == address and place and "://" not in place and not place.startswith(("/", "-")):
        with suppress(OSError):
            if (here / place).exists():
                return f"There is {place} here: a path begins with ./ (atlas plugins install ./{address})."
    return ""


def texts(client: Client, name: str) -> list[str]:
    """Return what a plugin holds that it need not declare: commands, agents and skills, by name."""
    with suppress(AtlasError):  # a package that is no folder has none, and nothing reads them where that plugin is off
        names = client.request("plugin.contents", {"name": name})["names"]
        said = [
            f"It has {kind}: {', '.join(names[kind])}." for kind in ("commands", "agents", "skills") if names.get(kind)
        ]
        return [*said, *(["Nothing uses agents in this version."] if names.get("agents") else [])]
    return []


def _show(found: dict[str, Any], done: str, held: Sequence[str] = (), *, json: bool) -> None:
    if json:
        print(plain_json(found))
        return
    origin = found["origin"]
    # A package's commit is its version, which stands there already.
    commit = f" ({origin['commit'][:12]})" if origin["commit"] not in ("", found["version"]) else ""
    if not found["changed"]:
        print(one_line(f"{found['name']} is at {found['version']}{commit} as before, from {origin['address']}."))
    else:
        print(one_line(f"{done} {found['name']} {found['version']}{commit}, from {origin['address']}."))
    if found["description"]:
        print(one_line(found["description"]))
    print(plain(f"It declares {in_words(found['declares'])}"))
    for said in held:
        print(one_line(said))
    if found["state"] == "on":
        print("It is on, since it declares what you agreed to.")
    elif found["grew"] and found["state"] == "waiting":
        how = f"See it and agree with: atlas plugins enable {found['name']}."
        print(plain(f"It declares something else than before. {how}"))
    elif found["why"]:
        print(plain(found["why"]))
    else:
        print(plain(f"It is off. Turn it on with: atlas plugins enable {found['name']}."))
