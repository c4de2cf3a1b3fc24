"""The commands every home has: homes, plugins, doctor, the log's mask, completion."""

from __future__ import annotations

import json as json_module
import os
import shutil
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.consent import in_words
from atlas_sdk.errors import AtlasError, ExitCode, MisuseError, NeedsConsentError, NotFoundError, ServerError
from atlas_sdk.homes import DEFAULT_HOME, HomeLock, Homes
from atlas_sdk.plain_text import plain

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask first.")]

_PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "no_args_is_help": True}
home = typer.Typer(**_PLAIN)
plugins = typer.Typer(**_PLAIN)
log = typer.Typer(**_PLAIN)
CLONED = ("config.toml", "models.toml", "mcp.json", "SOUL.md", "memory", "skills", "secrets")
NOTES = "notes"
"""The memory system whose files are all there is of it."""


def _say(text: str) -> None:
    sys.stdout.write(f"{plain(text)}\n")


def _say_json(value: Any) -> None:
    _say(json_module.dumps(value, ensure_ascii=False, indent=2))


def _agreed(question: str, *, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise NeedsConsentError("This asks first, and there is no terminal to ask on.", hint="Add --yes to agree.")
    return typer.confirm(question)


@home.command("list")
def home_list(json: Json = False) -> None:
    """List the homes; * marks the one that opens by default."""
    homes = Homes.of_user(os.environ)
    current = homes.current()
    rows = [
        {"name": item.name, "folder": str(item.folder), "current": item.name == current, "exists": item.folder.is_dir()}
        for item in homes.all()
    ]
    if json:
        _say_json(rows)
        return
    for row in rows:
        _say(f"{'*' if row['current'] else ' '} {row['name']:<20} {row['folder']}")


@home.command("create")
def home_create(
    context: typer.Context,
    name: str,
    clone: Annotated[bool, typer.Option("--clone", help="Copy the settings, keys, memory and skills.")] = False,
    source: Annotated[str | None, typer.Option("--from", help="The home to clone.", metavar="NAME")] = None,
) -> None:
    """Make a new home, empty or cloned. Conversations start empty."""
    homes = Homes.of_user(os.environ)
    made = homes.place(name)
    if made.folder.is_dir():
        raise MisuseError(f"There is a home named {name} already.", hint="Choose another name.")
    if source is not None and not clone:
        raise MisuseError("--from goes with --clone.")
    origin = homes.find(source, os.environ) if clone else None
    try:
        made.make()
        if origin is not None:
            _clone(context.obj, origin.folder, made.folder)
    except BaseException:
        shutil.rmtree(made.folder, ignore_errors=True)  # half a home would be taken for a whole one
        raise
    _say(f"Made the home {name} in {made.folder}.")


def _clone(terminal: Terminal, origin: Path, made: Path) -> None:
    """Copy what is the owner's, and what the memory system in use keeps in the database."""
    for item in CLONED:
        found = origin / item
        if found.is_dir():
            shutil.copytree(found, made / item, ignore=_locks)
        elif found.is_file():
            shutil.copy2(found, made / item)
    with terminal.elsewhere(origin).connect() as client:
        memory = client.request("memory.list", {})
    if memory["known"] and memory["system"] != NOTES:
        with terminal.elsewhere(made).connect() as client:
            for one in client.request("memory.take", {"known": memory["known"]})["not_taken"]:
                sys.stderr.write(f"{plain('Not copied: ' + one['known']['text'] + ': ' + one['why'])}\n")


def _locks(folder: str, names: list[str]) -> list[str]:
    """Return the locks in a folder, which are empty: a skill may have a file of packages that ends so."""
    found = [Path(folder, name) for name in names if name.endswith(".lock")]
    return [one.name for one in found if one.is_file() and not one.stat().st_size]


@home.command("use")
def home_use(name: str) -> None:
    """Open this home when none is named."""
    Homes.of_user(os.environ).use(name)
    _say(f"{name} opens by default now.")


@home.command("show")
def home_show(name: Annotated[str | None, typer.Argument()] = None, json: Json = False) -> None:
    """Where a home is, and what it holds."""
    found = Homes.of_user(os.environ).find(name, os.environ)
    holds = sorted(entry.name for entry in found.folder.iterdir()) if found.folder.is_dir() else []
    server = found.server()
    row = {
        "name": found.name,
        "folder": str(found.folder),
        "holds": holds,
        "bytes": sum(path.stat().st_size for path in found.folder.rglob("*") if path.is_file()) if holds else 0,
        "server": {"pid": server.get("pid"), "port": server.get("port")} if server else None,
    }
    if json:
        _say_json(row)
        return
    _say(f"{row['name']}: {row['folder']}")
    _say(f"holds {', '.join(holds) or 'nothing yet'} ({row['bytes']:,} bytes)")
    if server:
        _say(f"a server serves it on port {server.get('port')}")


@home.command("rename")
def home_rename(old: str, new: str) -> None:
    """Rename a home no server is serving."""
    homes = Homes.of_user(os.environ)
    if DEFAULT_HOME in (old, new):
        raise MisuseError("The default home keeps its name.")
    found, made = homes.named(old), homes.place(new)
    if made.folder.exists():
        raise MisuseError(f"There is a home named {new} already.", hint="Choose another name.")
    was_current = homes.current() == old
    lock = HomeLock(found)
    lock.take()
    lock.release()
    found.folder.rename(made.folder)
    if was_current:
        homes.use(new)
    _say(f"{old} is {new} now.")


@home.command("delete")
def home_delete(name: str, yes: Yes = False) -> None:
    """Delete a home and everything in it."""
    homes = Homes.of_user(os.environ)
    found = homes.named(name)
    if name == DEFAULT_HOME:
        raise MisuseError(
            "The default home holds the others and is not deleted from here.",
            hint=f"To remove everything, close Atlas and delete {found.folder}.",
        )
    if not _agreed(f"Delete {found.folder} and everything in it?", yes=yes):
        _say("Nothing was deleted.")
        raise typer.Exit(int(ExitCode.INTERRUPTED))
    lock = HomeLock(found)
    lock.take()
    try:
        shutil.rmtree(found.folder)
    finally:
        lock.release()
    _say(f"Deleted the home {name}.")


@plugins.command("list")
def plugins_list(context: typer.Context, json: Json = False) -> None:
    """List the plugins, and what each declares."""
    from .consent_text import refused_manifest

    terminal: Terminal = context.obj
    with terminal.connect() as client:
        rows = client.request("plugin.list")["plugins"]
        wrong = {} if json else {row["name"]: refused_manifest(client, row) for row in rows}
    if json:
        _say_json(rows)
        return
    for row in rows:
        _say(f"{row['name']:<14} {row['state']:<8} {row['version']:<8} {row['description']}")
        off = f"Turn it on with: atlas plugins enable {row['name']}." if row["state"] == "off" else ""
        for said in filter(None, (row["why"] or off, wrong[row["name"]])):
            _say(f"{'':<14} {said}")
        if row["version"]:  # one that cannot be read, or is gone, says nothing
            said = in_words(row["declares"])
            _say(f"{'':<14} {said}" if row["declares"] else f"{'':<14} It declares nothing.")


@plugins.command("enable")
def plugins_enable(context: typer.Context, name: str, yes: Yes = False) -> None:
    """Turn a plugin on, after showing what it declares. What came with Atlas needs no consent."""
    from .consent_text import lacking, news, refused_manifest, texts

    terminal: Terminal = context.obj
    with terminal.connect() as client:
        row = _row(client.request("plugin.list")["plugins"], name)
        if not row["version"]:
            raise MisuseError(f"{name} cannot be turned on. {row['why']}")
        if row["source"] != "bundled" and row["state"] != "on":
            _say(f"{name} {row['version']}: {row['description']}")
            _say(f"It declares {in_words(row['declares'])}")
            for said in (*texts(client, name), *news(row), *filter(None, [refused_manifest(client, row)])):
                _say(said)
            if not _agreed("Turn it on?", yes=yes):
                _say(f"{name} stays off.")
                raise typer.Exit(int(ExitCode.NEEDS_CONSENT))
        client.request("plugin.enable", {"name": name, "consent": row["digest"]})
        missing = lacking(client, row) if row["source"] != "bundled" else []
    _say(f"{name} is on.")
    for said in missing:
        _say(said)


@plugins.command("disable")
def plugins_disable(context: typer.Context, name: str) -> None:
    """Turn a plugin off."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        _row(client.request("plugin.list")["plugins"], name)
        client.request("plugin.disable", {"name": name})
    _say(f"{name} is off.")


@plugins.command("secret")
def plugins_secret(context: typer.Context, name: str, secret: str) -> None:
    """Store a secret a plugin declares, read from the standard input."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        row = _row(client.request("plugin.list")["plugins"], name)
        declared = (row["declares"] or {}).get("secrets", [])
        if secret not in declared:
            hint = _near(secret, declared) or f"It has: {', '.join(declared) or 'none'}."
            raise NotFoundError(f"The plugin {name} has no secret {secret!r}.", hint=hint)
        value = _hidden(f"{secret}: ")
        client.request("secret.set", {"name": secret, "value": value})
    _say(f"{secret} is in the vault.")


@plugins.command("set")
def plugins_set(
    context: typer.Context, name: str, setting: str, value: Annotated[str | None, typer.Argument()] = None
) -> None:
    """Change a setting a plugin declares; with no value, back to its default."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        row = _row(client.request("plugin.list")["plugins"], name)
        declared = (row["declares"] or {}).get("settings", [])
        if setting not in declared and (near := _near(setting, declared)):
            raise NotFoundError(f"The plugin {name} has no setting {setting!r}.", hint=near)
        client.request("plugin.set", {"name": name, "setting": setting, "value": value})
        row = _row(client.request("plugin.list")["plugins"], name)
    if value is None:
        _say(f"{setting} is as it comes again.")
    else:
        _say(f"{setting} is {value} now." if value.strip() else f"{setting} is empty now; no value is its default.")
    if row["state"] != "on":
        _say(f"{name} is {row['state']}. {row['why']}".rstrip())


def _row(rows: list[Any], name: str) -> Any:
    for row in rows:
        if row["name"] == name:
            return row
    near = _near(name, [row["name"] for row in rows])
    raise NotFoundError(f"There is no plugin {name[:80]!r}.", hint=near or "atlas plugins list shows those there are.")


def _near(name: str, names: list[str]) -> str:
    near = get_close_matches(name, names, 1)
    return f"Did you mean {near[0]}?" if near else ""


def _hidden(prompt: str) -> str:
    if sys.stdin.isatty():
        import getpass

        value = getpass.getpass(prompt)
    else:
        value = sys.stdin.read()
    value = value.strip()
    if not value:
        raise MisuseError("The value is empty.", hint="Pipe it in, or type it when asked.")
    return value


def doctor(context: typer.Context, json: Json = False) -> None:
    """Check the home and say what is wrong; exits 1 when a check failed."""
    terminal: Terminal = context.obj
    try:
        with terminal.connect() as client:
            rows = client.request("home.doctor")["checks"]
    except ServerError:
        raise
    except AtlasError as error:
        said = str(error)
        rows = [{"id": "home.opens", "title": "The home opens", "plugin": "kernel", "state": "failed", "said": said}]
    if json:
        _say_json(rows)
    else:
        for row in rows:
            title = "" if row["said"].rstrip(".") == row["title"] else f"{row['title']}: "
            _say(f"{row['state']:<8} {title}{row['said']}")
    if any(row["state"] == "failed" for row in rows):
        raise typer.Exit(int(ExitCode.FAILED))


@log.callback()
def _log() -> None:
    """What the log hides."""


@log.command("mask")
def log_mask(
    known: Annotated[Path | None, typer.Option("--known", help="A file of values to hide, one a line.")] = None,
) -> None:
    """Read lines on standard input and print them as the log would write them."""
    from atlas_sdk.masking import Masker

    try:
        masker = Masker(known.read_text("utf-8").splitlines() if known else ())
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(
            f"{known} cannot be read.", hint="--known takes a text file of values, one a line."
        ) from error
    for line in sys.stdin:
        sys.stdout.write(masker.mask(line))


def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print the completion script: eval "$(atlas completion bash)"."""
    if shell not in ("bash", "zsh", "fish"):
        raise MisuseError(f"There is no completion for {shell!r}.", hint="Say bash, zsh or fish.")
    from typer._completion_shared import get_completion_script

    _say(get_completion_script(prog_name="atlas", complete_var="_ATLAS_COMPLETE", shell=shell))
