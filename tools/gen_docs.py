#!/usr/bin/env python3
"""Write the reference pages from the code: commands, settings, tools, hooks, events, methods, exit codes.

``tools/gen_docs.py`` writes them; ``--check`` fails when a page is not what the code says.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from functools import partial

from docs_code import ROOT
from docs_hooks import hook_page, hooks, written_hooks
from docs_reference import commands, events, exit_codes, methods, settings, tools
from docs_sdk import sdk

FOLDER = ROOT / "docs"

PAGES: dict[str, Callable[[], str]] = {
    "reference/commands": commands,
    "reference/settings": settings,
    "reference/tools": tools,
    "reference/hooks": hooks,
    "reference/events": events,
    "reference/methods": methods,
    "reference/exit-codes": exit_codes,
    "plugins/sdk": sdk,
}


def pages() -> dict[str, Callable[[], str]]:
    """Return what makes each page, those of single hooks among them."""
    return PAGES | {f"plugins/hooks/{node.name}": partial(hook_page, node) for node in written_hooks()}


def main() -> int:
    """Write or check the pages; the exit code is 1 where one has drifted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail when a page has drifted")
    check = parser.parse_args().check
    every = pages()
    (FOLDER / "plugins" / "hooks").mkdir(parents=True, exist_ok=True)
    gone = [path for path in (FOLDER / "plugins" / "hooks").glob("*.md") if f"plugins/hooks/{path.stem}" not in every]
    drifted = [f"plugins/hooks/{path.stem}" for path in gone]
    for path in gone if not check else []:
        path.unlink()
    for name, make in every.items():
        path = FOLDER / f"{name}.md"
        # Docstrings write code as reStructuredText does.
        text = re.sub(r"(?<!`)``(?!`)", "`", make()).rstrip() + "\n"
        if not path.exists() or path.read_text("utf-8") != text:
            drifted.append(name)
            if not check:
                path.write_text(text, "utf-8")
    if check and drifted:
        print(f"These reference pages have drifted: {', '.join(drifted)}. Run tools/gen_docs.py.")
        return 1
    print("The reference pages are what the code says." if not drifted else f"Wrote {', '.join(drifted)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
