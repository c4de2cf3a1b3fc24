"""The command ``usage``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.plain_text import counted, plain, plain_json

SAID = {"reported": "reported by the provider", "list": "from the price list", "free": "free", "unknown": "not known"}


def usage(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=3660, help="How many days back, today included.")] = 30,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What the model calls spent, by day, model, purpose and agent."""
    terminal: Terminal = context.obj
    with terminal.connect() as client:
        report = client.request("usage.report", {"days": days})
    if json:
        print(plain_json(report))
        return
    total = report["total"]
    if not total["calls"]:
        print(plain("No model was called today." if days == 1 else f"No model was called in the last {days} days."))
        return
    print(plain(f"{'Today' if days == 1 else f'The last {days} days'}: {_line(total)}"))
    titles = {"by_day": "By day", "by_model": "By model", "by_purpose": "By purpose", "by_agent": "By agent"}
    for key, title in titles.items():
        if key == "by_agent" and len(report[key]) == 1:
            continue  # one agent's bill is the whole bill
        print(plain(f"\n{title}"))
        width = max(len(row["name"]) for row in report[key])
        for row in report[key]:
            print(plain(f"  {row['name']:<{width}}  {_line(row)}"))
            for one in row.get("by_agent", ()):
                print(plain(f"    {one['name']}: {_line(one)}"))
    sources = ", ".join(f"{count} {SAID[source]}" for source, count in total["sources"].items())
    print(plain(f"\nWhere the costs come from (calls): {sources}."))


def _line(row: dict[str, Any]) -> str:
    tokens = f"{counted(row['calls'], 'call')}, {row['input_tokens']:,} tokens in ({row['cached_tokens']:,} cached), "
    tokens += f"{row['output_tokens']:,} out"
    unknown = f" + {counted(row['unknown_calls'], 'call')} of unknown cost" if row["unknown_calls"] else ""
    return f"${row['dollars']:.4f}{unknown}, {tokens}"
