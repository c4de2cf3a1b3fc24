"""The commands ``memory review``, ``memory restore`` and ``resource``."""

from __future__ import annotations

import difflib
import sys
from typing import Annotated, Any

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.errors import AtlasError, ExitCode
from atlas_sdk.plain_text import counted, one_line, plain, plain_json

from .outcome import cost, name_of, said

FEW = 5
"""So many conversations are reviewed unasked on a terminal: on most days no more wait."""
IN_A_ROW = 3
"""A model that replied so often in a row what is no review will do so again."""
resource = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(help="user_md or memory_md.")]
Number = Annotated[int, typer.Argument(min=1, help="A version, as atlas resource history shows it.")]
Agent = Annotated[str, typer.Option("--agent", help="Whose file, where it is not the main agent's.")]


def review(
    context: typer.Context,
    now: Annotated[bool, typer.Option("--now", help="Also before the interval is over or after a failure.")] = False,
    conversation: Annotated[str, typer.Option(help="Only this one: an id, last, or a chat as telegram:12345.")] = "",
    agent: Annotated[str, typer.Option(help="Only this agent's conversations.")] = "",
    owner: Annotated[str, typer.Option(help="Only the conversations of this person.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask on a terminal, however many wait.")] = False,
    json: Json = False,
) -> None:
    """Have the memory reviewer read what is new, in every conversation or in some."""
    terminal: Terminal = context.obj
    outcomes: list[dict[str, Any]] = []
    with terminal.connect() as client:
        chosen = {"conversation": conversation, "agent": agent, "owner": owner}
        rows = client.request("memory.unreviewed", chosen)["conversations"]
        if not yes:
            _ask_first([one for one in rows if now or one["due"]])
        for number, one in enumerate(rows, 1):
            if len(rows) > 1:
                print(one_line(f"{number} of {len(rows)}: {name_of(one)}…"), file=sys.stderr)
            outcome = client.request("memory.review", {"conversation": one["id"], "now": now}, timeout=None)
            outcomes.append(outcome)
            if not json:
                print(said(outcome), flush=True)
            if outcome["unreachable"] or _fails(outcomes):
                break
    if took := cost(outcomes):
        print(took, file=sys.stderr)
    if json:
        _print(outcomes)
    elif not outcomes:
        print("Nothing new was said since the last review.")
    if left := len(rows) - len(outcomes):
        others = counted(left, "conversation was", "conversations were")
        if _fails(outcomes) and not outcomes[-1]["unreachable"]:
            why = f"{IN_A_ROW} reviews in a row failed, so {others} left as they are."
            raise AtlasError(why, hint="Try again later, or with another model: atlas memory review --now.")
        raise AtlasError(f"No model answered, so {others} left as they are.", hint="Try again: atlas memory review.")
    if any(one["how"] == "failed" for one in outcomes):
        raise typer.Exit(int(ExitCode.FAILED))
    if now and any(one["how"] == "claimed" for one in outcomes):
        raise typer.Exit(int(ExitCode.SERVER))


def _fails(outcomes: list[dict[str, Any]]) -> bool:
    """Whether review after review fails: each is a call that is paid for, and the next would most likely fail, too."""
    last = outcomes[-IN_A_ROW:]
    return len(last) == IN_A_ROW and all(one["how"] == "failed" for one in last)


def _ask_first(rows: list[dict[str, Any]]) -> None:
    """Say what more than a few calls of a model cost, and ask where somebody is there: a timer has decided."""
    if len(rows) <= FEW:
        return
    known = [one["dollars"] for one in rows if one["dollars"] is not None]
    cost = f"about ${sum(known):.2f}" if len(known) == len(rows) else "at a price that is not known"
    tokens = sum(one["tokens"] for one in rows)
    wait = f"{len(rows)} conversations wait: as many calls of a model, about {tokens:,} tokens, {cost}."
    print(wait, file=sys.stderr)
    if sys.stdin.isatty() and not typer.confirm("Review them?", err=True):
        raise typer.Exit(int(ExitCode.FAILED))


def restore(
    context: typer.Context,
    id: Annotated[str, typer.Argument(help="The fact. Without one, those that are archived are listed.")] = "",
    json: Json = False,
) -> None:
    """Bring an archived fact back; without an id, list the archived facts."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        if not id:
            rows = client.request("memory.archived", {})["facts"]
            if json:
                _print(rows)
            for row in [] if json else rows:
                print(one_line(f"{row['id']}  {row['at'][:10]}  {row['category']:<10}  {row['value']} ({row['why']})"))
            if not rows and not json:
                print("No facts are archived.")
            return
        done = client.request("memory.restore", {"id": id})
    if json:
        _print(done)
    else:
        print(one_line(f"{'It is in use' if done['was_in_use'] else 'In use again'}: {done['value']}"))


@resource.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List the prompt files and the newest version of each."""
    rows = _ask(context, "resource.list", {})["resources"]
    if json:
        _print(rows)
        return
    for row in rows:
        print(
            one_line(
                f"{row['resource']:<10}  {row['agent']:<12}  version {row['revision']}, {row['at'][:10]}  {row['file']}"
            )
        )
    if not rows:
        print("There are no prompt files yet. They are written when facts are kept.")


@resource.command("history")
def history(
    context: typer.Context,
    name: Name,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="The most versions to list.")] = 20,
    agent: Agent = "main",
    json: Json = False,
) -> None:
    """List the versions of a prompt file, the newest first."""
    params = {"resource": name, "agent": agent, "limit": limit}
    rows = _ask(context, "resource.history", params)["revisions"]
    if json:
        _print(rows)
        return
    for row in rows:
        print(one_line(f"{row['revision']:>4}  {row['at'][:16].replace('T', ' ')}  {row['cause']}"))
    if not rows:
        print("It has no versions yet.")


@resource.command("show")
def show(context: typer.Context, name: Name, revision: Number, agent: Agent = "main", json: Json = False) -> None:
    """Show a version of a prompt file."""
    found = _ask(context, "resource.show", {"resource": name, "agent": agent, "revision": revision})
    if json:
        _print(found)
    else:
        print(plain(found["content"]), end="")


@resource.command("diff")
def diff(
    context: typer.Context, name: Name, old: Number, new: Number, agent: Agent = "main", json: Json = False
) -> None:
    """Show what changed from one version of a prompt file to another."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        before, after = (
            client.request("resource.show", {"resource": name, "agent": agent, "revision": number})["content"]
            for number in (old, new)
        )
    was, is_ = (f"{name} version {number}" for number in (old, new))
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), was, is_, lineterm=""))
    if json:
        _print({"resource": name, "agent": agent, "old": old, "new": new, "diff": "\n".join(lines)})
    else:
        print(plain("\n".join(lines)) if lines else "They are the same.")


@resource.command("rollback")
def rollback(context: typer.Context, name: Name, revision: Number, agent: Agent = "main", json: Json = False) -> None:
    """Put an older version of a prompt file back, until the facts change."""
    done = _ask(context, "resource.rollback", {"resource": name, "agent": agent, "revision": revision})
    if json:
        _print(done)
    else:
        print(one_line(f"{name} is as in version {revision} now, as version {done['revision']}, until facts change."))


def _ask(context: typer.Context, method: str, params: dict[str, Any]) -> Any:
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        return client.request(method, params)


def _print(value: Any) -> None:
    print(plain_json(value))
