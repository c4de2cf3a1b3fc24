"""The command ``docs``. It opens no home."""

from __future__ import annotations

from typing import Annotated

import typer

from atlas_sdk.errors import ExitCode, MisuseError
from atlas_sdk.plain_text import plain, plain_json

from .pages import all_pages, page_named, search


def docs(
    page: Annotated[
        str | None, typer.Argument(help="A page, such as start or guides/models; with --search, search only there.")
    ] = None,
    words: Annotated[
        list[str] | None, typer.Option("--search", help="The sections that mention every word.", metavar="WORD")
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(help="More words of the search.", hidden=True)] = None,
    whole: Annotated[bool, typer.Option("--all", help="Every page, one after another.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read the documentation of this Atlas: the list of pages, one page, a search, or every page."""
    if words and whole:
        raise MisuseError("--search and --all do not go together.")
    if words and not "".join([*words, *(more or [])]).strip():
        raise MisuseError("There is nothing to search for.")
    if words:
        _search([*words, *(more or [])], page, json=json)
        return
    if more:
        raise MisuseError("One page at a time.", hint="atlas docs --all prints every page.")
    found = [page_named(page)] if page else all_pages()
    if json:
        rows = [{"name": one.name, "title": one.title} | ({"text": one.text} if page or whole else {}) for one in found]
        print(plain_json(rows))
    elif page or whole:
        print(plain("\n\n".join(one.text.rstrip() for one in found)))
    else:
        width = max(len(one.name) for one in found) + 2
        for one in found:
            print(plain(f"{one.name:<{width}}{one.title}"))
        print("\natlas docs PAGE prints one; atlas docs --search WORD finds a subject.")


def _search(words: list[str], page: str | None, *, json: bool) -> None:
    # After --search the next bare word is one more word of the search, unless it names a page.
    pages = all_pages()
    if page is not None:
        named = [one for one in pages if one.name == page or one.name.rpartition("/")[2] == page]
        pages, words = (named, words) if named else (pages, [*words, page])
    found = search(words, pages)
    if json:
        rows = [{"page": one.name, "heading": heading, "text": text} for one, heading, text in found]
        print(plain_json(rows))
    else:
        for one, heading, text in found:
            print(plain(f"── {one.name} · {heading}\n{text}\n"))
    if not found:
        if not json:
            print(plain(f"No section mentions {' and '.join(words)}."))
        raise typer.Exit(int(ExitCode.FAILED))
