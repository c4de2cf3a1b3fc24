"""The commands ``skills``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.plain_text import counted, one_line, plain, plain_json, words

skills = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
_SHOWN_CHARS = 80
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Bot = Annotated[str, typer.Option("--bot", help="The bot whose skill it is; unset, the library's.")]
Name = Annotated[str, typer.Argument(help="The skill's name.")]


@skills.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List every skill: where it is, who made it, its uses, and what it is for."""
    rows = _ask(context, "skills.list")["skills"]
    if json:
        _print(rows)
        return
    names = [f"{row['bot']}/{row['name']}" if row["bot"] else row["name"] for row in rows]
    width = max((len(name) for name in names), default=0)
    for name, row in zip(names, rows, strict=True):
        said = f"cannot be used: {row['why']}" if row["why"] else words(row["description"], _SHOWN_CHARS)
        marks = {"edited copy of what Atlas ships; ": row.get("edited_copy"), "on trial; ": row["on_trial"]}
        marked = "".join(mark for mark, there in marks.items() if there)
        print(
            one_line(
                f"{name:<{width}}  {row['origin']:<11}  {_used(row):<38}  {marked}{' '.join(said.split())}".rstrip()
            )
        )
    if not rows:
        print("There are no skills. Put a folder with a SKILL.md into the home's skills/.")


@skills.command("versions")
def versions(
    context: typer.Context,
    name: Name,
    bot: Bot = "",
    diff: Annotated[bool, typer.Option("--diff", help="Show what changed after each.")] = False,
    json: Json = False,
) -> None:
    """List a skill's kept versions, the newest first."""
    found = _ask(context, "skills.versions", name=name, bot=bot, diff=diff)
    if json:
        _print(found["versions"])
        return
    for one in found["versions"]:
        print(one_line(f"{one['id']}  {one['at']}  {counted(one['files'], 'file')}"))
        if diff:
            print(plain(one["diff"] or "No file of it changed after."))
    if not found["versions"]:
        print(f"No version of {name} is kept: it was not changed yet.")


@skills.command("revert")
def revert(
    context: typer.Context,
    name: Name,
    version: Annotated[str, typer.Option("--version", help="A version from atlas skills versions NAME.")] = "",
    bot: Bot = "",
    json: Json = False,
) -> None:
    """Put a skill back as it was before its last change, or as a named version; what it holds is kept, too."""
    done = _ask(context, "skills.revert", name=name, version=version, bot=bot)
    _done(done, json, f"{name} is as it was in the version {done['version']}.")


@skills.command("restore")
def restore(context: typer.Context, name: Name, bot: Bot = "", json: Json = False) -> None:
    """Bring an archived skill back. It counts as a use."""
    _done(_ask(context, "skills.restore", name=name, bot=bot), json, f"{name} is in the list again.")


@skills.command("share")
def share(context: typer.Context, name: Name, bot: Bot = "", json: Json = False) -> None:
    """Move a bot's skill to the home's library, for every agent."""
    _done(_ask(context, "skills.share", name=name, bot=bot), json, f"{name} is in the library now.")


@skills.command("reset")
def reset(context: typer.Context, name: Name, json: Json = False) -> None:
    """Put a skill Atlas ships back as it ships it, so that it is updated again; the copy is kept as a version."""
    _done(_ask(context, "skills.reset", name=name), json, f"{name} is as Atlas ships it.")


def _used(row: dict[str, Any]) -> str:
    if not row["uses"]:
        return "never used"
    last = f", last {row['last_used'][:10]}" if row["last_used"] else ""
    return f"used {row['uses']}, {row['successes']} with success{last}"


def _ask(context: typer.Context, method: str, **params: str | bool) -> Any:
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        return client.request(method, params) if params else client.request(method)


def _done(done: Any, json: bool, said: str) -> None:
    if json:
        _print(done)
    else:
        print(one_line(said))


def _print(value: Any) -> None:
    print(plain_json(value))
