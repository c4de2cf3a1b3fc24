"""The command ``memory``."""

from __future__ import annotations

import json as json_module
import sys
from typing import Annotated, Any

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.errors import ExitCode, NeedsConsentError
from atlas_sdk.plain_text import counted, one_line, plain_json

memory = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MOST_SHOWN = 10
"""So many texts are shown of one place; of what goes whole, every one."""
_WITH_YES = "Erasing cannot be undone; add --yes."
_WITH_YES_UNLEARNED = (
    "There is nothing to erase; to keep it from being learned from what was said until now, add --yes."
)
APPROVE = "Apply one with: atlas memory approve ID. Drop one with: atlas memory discard ID."
Id = Annotated[str, typer.Argument(help="As atlas memory proposals shows it, or how it begins.")]


@memory.command("list")
def list_(context: typer.Context, json: Json = False) -> None:
    """List what is known, by whose it is, each with its id."""
    found = _ask(context, "memory.list", {})
    if json:
        _print(found)
        return
    for one in found["known"]:
        whose = "profile" if one["about"] == "user" else (one["agent"] or "everybody")
        print(one_line(f"{one['id']}  {whose:<8}  {' '.join(one['text'].split())}{_marks(one)}"))
        if why := found.get("blocked", {}).get(one["id"]):
            print(one_line(f"  BLOCKED: the model is not shown it. {why}"))
    for said in found.get("unread", ()):
        print(one_line(f"Not read: {said}"))
    if not found["known"]:
        print(one_line(f"Nothing is known yet. The memory system in use is {found['system']}."))


def _marks(known: dict[str, Any]) -> str:
    """Return what a memory system says besides of one thing: its category, and who alone may know it."""
    details = known.get("details")
    category = details.get("category", "") if isinstance(details, dict) else ""
    kind, _, name = known.get("only", "").partition(":")
    only = {"conversation": f"only in conversation {name}", "job": f"only in job {name}", "owner": f"only of {name}"}
    marks = [one for one in (category, only.get(kind, known.get("only", ""))) if one]
    return f"  ({', '.join(marks)})" if marks else ""


@memory.command("acknowledge")
def acknowledge(context: typer.Context, json: Json = False) -> None:
    """Take the memory as it is, after you edited its files: doctor then says no more that they differ."""
    done = _ask(context, "memory.acknowledge", {})
    if json:
        _print(done)
        return
    for said in done["said"]:
        print(one_line(f"Taken as it is: {said}"))
    if not done["said"]:
        print("Nothing differs from what was saved.")


@memory.command("proposals")
def proposals(context: typer.Context, json: Json = False) -> None:
    """List the background review's proposals, each marked if it can no longer apply."""
    rows = _ask(context, "memory.proposals", {})["proposals"]
    if json:
        _print(rows)
        return
    for row in rows:
        print(one_line(f"{row['id']}  {_whose(row)}"))
        for change in row["changes"]:
            if change["leaves"]:
                print(one_line(f"  - {change['leaves']}"))
            if change["text"]:
                print(one_line(f"  + {change['text']}"))
        if row.get("note"):
            print(one_line(f"  It waits: {row['note']}"))
        if row["why"]:
            print(one_line(f"  It can no longer apply: {row['why']} Drop it with: atlas memory discard {row['id']}"))
    print(APPROVE if rows else "No proposals wait.")


def _whose(row: dict[str, Any]) -> str:
    if row["file"] == "memory/USER.md":
        return "your profile"
    return "the agent's notes" if row["agent"] == "main" else f"the notes of {row['agent']}"


@memory.command("approve")
def approve(context: typer.Context, id: Id, json: Json = False) -> None:
    """Apply a proposal, only if the entries it changes are as they were."""
    done = _ask(context, "memory.approve", {"id": id})
    if json:
        _print(done)
        return
    print(one_line(f"Applied to {done['file']}."))
    for text in done["overwritten"]:
        print(one_line(f"Gone: {text}"))


@memory.command("discard")
def discard(context: typer.Context, id: Id, json: Json = False) -> None:
    """Drop a proposal without applying it."""
    done = _ask(context, "memory.discard", {"id": id})
    if json:
        _print(done)
    else:
        print("Dropped.")


@memory.command("use")
def use(
    context: typer.Context, system: Annotated[str, typer.Argument(help="notes or facts.")], json: Json = False
) -> None:
    """Use another memory system, and carry what is known across."""
    done = _ask(context, "memory.use", {"system": system})
    if json:
        _print(done)
        return
    if done["before"] == done["system"]:
        print(one_line(f"{system} is in use already."))
        return
    print(
        one_line(
            f"{done['system']} is in use now; {counted(done['carried'], 'thing was', 'things were')} carried across "
            f"from {done['before']}."
        )
    )
    for one in done["not_carried"]:
        print(one_line(f"Not carried: {' '.join(one['known']['text'].split())} ({one['why']})"))
    for said in done.get("unread", ()):
        print(one_line(f"Not read, and not carried: {said}"))
    if done["not_carried"]:
        print(one_line(f"What was not carried stays in {done['before']}, and is in use again when you switch back."))


@memory.command("forget")
def forget(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A text, or an id of atlas memory list.")],
    conversations: Annotated[bool, typer.Option("--conversations", help="Erase it in conversations, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: Json = False,
) -> None:
    """Erase a text from memory and everything made of it; it is not learned again from where it was said."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        found = client.request("memory.find", {"text": text}, timeout=None)  # a large home is read whole
        todo = [one for one in found["found"] if _goes(one, conversations)]
        if not json:
            if not found["found"]:
                print("It was found nowhere.")
            _show(found["found"], conversations)
        if not yes:
            if json or not sys.stdin.isatty():
                if json:
                    _print(found)
                raise NeedsConsentError("Nothing was changed.", hint=_WITH_YES if todo else _WITH_YES_UNLEARNED)
            # Also where nothing is to be erased: what stays, or is said later, would not be learned any more.
            if not typer.confirm(_question(len(todo))):
                raise typer.Exit(int(ExitCode.FAILED))
        done = client.request("memory.forget", {"text": text, "conversations": conversations}, timeout=None)
    shown = {one["where"] for one in found["found"]}
    if json:
        _print(done)
        return
    _show([one for one in done["left"] if one["where"] not in shown], conversations)
    if todo:
        print(one_line(f"Erased in {counted(len(done['erased']), 'place')}."))
    else:
        print("Nothing was erased. It is kept from being learned from what was said until now.")


def _question(places: int) -> str:
    if places:
        return f"Erase it in {counted(places, 'place')}? This cannot be undone."
    return "There is nothing to erase. Keep it from being learned from what was said until now?"


def _goes(found: dict[str, Any], conversations: bool) -> bool:
    return not found["by_hand"] and not found.get("stays") and (conversations or not found["asked"])


def _show(found: list[dict[str, Any]], conversations: bool) -> None:
    """Say each place once, with the texts that stand there and were not shown before; an entry always, as it goes."""
    places: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        places.setdefault(f"{one['where']}{_note(one, conversations)}", []).append(one)
    seen: set[str] = set()
    for line, held in places.items():
        print(one_line(line if len(held) == 1 else f"{line}, {counted(len(held), 'place')}"))
        whole = {one["text"] for one in held if one.get("whole")}
        new = dict.fromkeys(one["text"] for one in held if one["text"] and one["text"] not in seen - whole)
        seen |= new.keys()
        shown = [text for at, text in enumerate(new) if text in whole or at < MOST_SHOWN]
        for text in shown:
            print(one_line(f"  - {' '.join(text.split())}"))
        if len(new) > len(shown):
            print(f"  … and {len(new) - len(shown):,} more")


def _note(found: dict[str, Any], conversations: bool) -> str:
    if found.get("stays"):
        return f" (stays: {found['stays'].rstrip('.')})"
    if found["by_hand"]:
        return " (your own file: edit it yourself)"
    if found["asked"] and not conversations:
        return " (stays; erase it with --conversations)"
    return " (the whole entry goes)" if found.get("whole") else ""


@memory.command("screen")
def screen_(context: typer.Context) -> None:
    """Screen texts as memory does: JSON lines on standard input ({"id", "text"}), verdicts on standard output."""
    from atlas_sdk.screening import screen

    wrong = False
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            case = json_module.loads(line)
            text = case["text"] if isinstance(case["text"], str) else "".join(case["text"])
        except (ValueError, KeyError, TypeError):
            said = f'Line {number} is no JSON object with "id" and "text".'
            print(json_module.dumps({"id": None, "verdict": "error", "family": "", "error": said}), flush=True)
            wrong = True
            continue
        found = screen(text)
        verdict = {"id": case.get("id"), "verdict": "refuse" if found else "accept"}
        print(json_module.dumps({**verdict, "family": found.family if found else ""}), flush=True)
    if wrong:
        raise typer.Exit(int(ExitCode.FAILED))


def _ask(context: typer.Context, method: str, params: dict[str, Any]) -> Any:
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        return client.request(method, params)


def _print(value: Any) -> None:
    print(plain_json(value))
