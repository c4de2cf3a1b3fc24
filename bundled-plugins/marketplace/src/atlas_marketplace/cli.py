"""``atlas marketplace``."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from atlas_sdk.client import Client
from atlas_sdk.commands import Terminal
from atlas_sdk.errors import ExitCode, MisuseError, NeedsConsentError
from atlas_sdk.plain_text import plain

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[
    bool, typer.Option("-y", "--yes", help="Agree that a server gets keys of yours which are stored already.")
]

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)
KINDS = ("skill", "mcp", "plugin", "executor")
TITLES = {"skill": "Skills", "mcp": "MCP servers", "plugin": "Plugins", "executor": "Executors"}
MARKS = {"installed": "installed", "update": "a new version", "changed": "changed here", "gone": "installed", "": ""}


@app.callback()
def marketplace() -> None:
    """Skills, MCP servers, plugins and executors made for Atlas, each reviewed and pinned to a commit."""


@app.command("list")
def list_(
    context: typer.Context,
    kind: Annotated[str, typer.Option("--kind", help="skill, mcp, plugin or executor.", metavar="KIND")] = "",
    refresh: Annotated[bool, typer.Option("--refresh", help="Read the marketplace now.")] = False,
    json: Json = False,
) -> None:
    """What the marketplace offers, what Atlas ships, and what came from it."""
    if kind and kind not in KINDS:
        raise MisuseError(f"There is no kind {kind[:40]!r}.", hint=f"Say {', '.join(KINDS)}.")
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = client.request("marketplace.list", {"kind": kind or None, "refresh": refresh}, timeout=None)
    if json:
        _print_json(found)
        return
    if found["stale"]:
        _say(f"This is the list of {found['read_at'][:16].replace('T', ' ')}. {found['stale']}\n")
    for one in KINDS:
        rows = [row for row in found["items"] if row["kind"] == one]
        if rows:
            _say(TITLES[one])
            _print_rows(sorted(rows, key=lambda row: (not row["official"], row["name"])))
    for name, why in found["broken"].items():
        _say(f"{name} is not listed: {why}")
    if not found["items"]:
        _say("The marketplace lists nothing of that kind." if kind else "The marketplace lists nothing.")
    if found["shipped"]:
        _say(f"With Atlas: {', '.join(one['name'] for one in found['shipped'])}")


def _print_rows(rows: list[dict[str, Any]]) -> None:
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        marks = [*(["retired"] if row["retired"] else []), *([MARKS[row["state"]]] if row["state"] else [])]
        marks += ["Official"] if row["official"] else []
        said = f"{row['summary']} ({', '.join(marks)})" if marks else row["summary"]
        _say(f"  {row['name']:<{width}}  {row['version']:<8}  {said}".rstrip())
        if row["why"]:
            _say(f"  {'':<{width}}  {'':<8}  {row['why']}")
    _say()


@app.command("show")
def show(context: typer.Context, name: str, json: Json = False) -> None:
    """An item's page: its README, and what it needs here."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        page = client.request("marketplace.show", {"name": name}, timeout=None)
    if json:
        _print_json(page)
        return
    row = page["row"]
    _say(f"{row['title']} ({row['name']}, {row['kind']}) {row['version']}".rstrip())
    if row["summary"]:
        _say(row["summary"])
    facts = {
        "By": row["author"],
        "License": page["license"],
        "Code": f"{page['repo']} at {page['sha'][:12]}" if page["repo"] else "",
        "Runs": _runs(page["server"]),
        "Here": MARKS[row["state"]],
        "Retired" if row["retired"] else "Not installable": row["why"],
    }
    for title, said in facts.items():
        if said:
            _say(f"{title}: {said}")
    for secret in page["secrets"]:
        stored = "it is in the vault" if secret["stored"] else f"store it with: atlas secrets set {secret['name']}"
        where = f" It is made at {secret['url']}." if secret["url"] else ""
        _say(f"Reads {secret['name']}: {secret['description']}{where} ({stored})")
    _say(f"\n{page['readme'].rstrip() or page['readme_missing']}")


def _runs(server: dict[str, Any] | None) -> str:
    if server is None:
        return ""
    return str(server.get("url") or " ".join([str(server.get("command")), *map(str, server.get("args") or [])]))


@app.command("install")
def install(context: typer.Context, name: str, yes: Yes = False) -> None:
    """Install an item, with the MCP servers a skill needs; a plugin arrives off."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = _asking_for_keys(client, "marketplace.install", {"name": name}, yes=yes)
    _print_done(found, "Installed")


@app.command("update")
def update(
    context: typer.Context,
    name: str,
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Update a skill or a server changed here since it came; a skill keeps what it held."
        ),
    ] = False,
    yes: Yes = False,
) -> None:
    """Bring an installed item to the marketplace's version."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = _asking_for_keys(client, "marketplace.update", {"name": name, "force": force}, yes=yes)
    if not found["changed"]:
        _say(f"{name} is at the marketplace's version already.")
        return
    _print_done(found, "Updated")


def _asking_for_keys(client: Client, method: str, params: dict[str, Any], *, yes: bool) -> dict[str, Any]:
    """Ask the user where a server would get keys that are stored already, and go on only when they agree."""
    try:
        return dict(client.request(method, params, timeout=None))
    except NeedsConsentError as error:
        if error.code != "gives_stored_keys" or not (yes or sys.stdin.isatty()):
            raise
        _say(error.message)
    if not yes and not typer.confirm("Shall it get that?"):
        raise typer.Exit(int(ExitCode.NEEDS_CONSENT))
    return dict(client.request(method, {**params, "give_keys": True}, timeout=None))


def _print_done(found: dict[str, Any], done: str) -> None:
    _say(f"{done} {found['name']} {found['version']}".rstrip() + ".")
    for name in found["brought"]:
        _say(f"The MCP server {name} came along.")
    for note in found["notes"]:
        _say(note)


@app.command("remove")
def remove(context: typer.Context, name: str) -> None:
    """Take away an item installed from the marketplace."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = client.request("marketplace.remove", {"name": name}, timeout=None)
    _say(f"{name} is removed. {found['said']}")


@app.command("check")
def check(
    context: typer.Context,
    items: Annotated[
        list[Path] | None, typer.Argument(help="Item files; by default every one in the folder's items.")
    ] = None,
    root: Annotated[Path, typer.Option("--root", help="The marketplace's folder; by default this one.")] = Path(),
    load: Annotated[
        bool,
        typer.Option(
            "--load",
            help="Also load each plugin's Python, in a home thrown away after: only where foreign code may run, as the "
            "marketplace's CI.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Check item files as the marketplace's CI does: each by its rules, its code fetched at its commit."""
    terminal: Terminal = context.obj
    files = [str(one.absolute()) for one in items or []]
    with terminal.connect() as client:
        params = {"items": files, "root": str(root.absolute()), "load": load}
        rows = client.request("marketplace.check", params, timeout=None)["items"]
    if json:
        _print_json(rows)
    else:
        width = max(len(row["item"]) for row in rows)
        for row in rows:
            _say(f"{'ok' if row['ok'] else 'refused':<8} {row['item']:<{width}}  {row['digest']}".rstrip())
            for said in (*row["faults"], *row["warnings"]):
                _say(f"{'':<8} {said}")
    if not all(row["ok"] for row in rows):
        raise typer.Exit(int(ExitCode.FAILED))


def _print_json(found: Any) -> None:
    _say(json_module.dumps(found, ensure_ascii=False, indent=2))


def _say(text: str = "") -> None:
    print(plain(text))
