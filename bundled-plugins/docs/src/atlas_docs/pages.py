"""The pages: where they are, what they are called, and how they are searched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from atlas_sdk.errors import NotFoundError

FOLDERS = ("", "guides", "plugins", "reference", "extending", "plugins/hooks")
LEFT_OUT = frozenset({"README.md"})


@dataclass(frozen=True)
class Page:
    """A page: its name as ``atlas docs`` takes it, its title, and its Markdown."""

    name: str
    title: str
    text: str

    def sections(self) -> list[tuple[str, str]]:
        """Return the page as headings and what stands below each."""
        found: list[tuple[str, str]] = []
        heading, lines = self.title, list[str]()
        fenced = False
        for line in self.text.splitlines():
            fenced ^= line.startswith("```")
            if line.startswith("#") and not fenced:
                found.append((heading, "\n".join(lines)))
                heading, lines = line.lstrip("# ").strip(), []
            else:
                lines.append(line)
        return [*found, (heading, "\n".join(lines))]


def pages_folder() -> Path:
    """Return where the pages are: in the wheel, or beside the code in a checkout.

    Raises NotFoundError where neither is.
    """
    here = Path(__file__).resolve()
    for folder in (here.parent / "pages", *(parent / "docs" for parent in here.parents)):
        if (folder / "start.md").is_file():
            return folder
    raise NotFoundError("The documentation is not installed.", hint="Install atlas-docs again.")


def all_pages() -> list[Page]:
    """Return every page, those to read first before the reference."""
    root = pages_folder()
    pages = []
    for folder in FOLDERS:
        for path in sorted((root / folder).glob("*.md")):
            if path.name not in LEFT_OUT:
                text = "".join(line for line in path.read_text("utf-8").splitlines(True) if not line.startswith("<!--"))
                name = path.relative_to(root).with_suffix("").as_posix()
                title = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), name)
                pages.append(Page(name, title, text))
    return sorted(pages, key=lambda page: (page.name != "start", FOLDERS.index(page.name.rpartition("/")[0])))


def page_named(name: str) -> Page:
    """Return a page by its name, or by the end of it where only one ends so. Raises NotFoundError."""
    import difflib

    pages = {page.name: page for page in all_pages()}
    wanted = name.strip("/").removesuffix(".md")
    if wanted in pages:
        return pages[wanted]
    ends = [page for page in pages.values() if page.name.rpartition("/")[2] == wanted]
    if len(ends) == 1:
        return ends[0]
    near = difflib.get_close_matches(wanted, pages, 1)
    hint = f"Did you mean {near[0]}?" if near else "atlas docs lists them."
    raise NotFoundError(f"There is no page {name!r}.", hint=hint)


def search(words: list[str], pages: list[Page]) -> list[tuple[Page, str, str]]:
    """Return the sections that mention every word: page, heading, text. Those whose heading names it come first."""
    low = [word.lower() for word in words]
    found = [
        (page, heading, text.strip())
        for page in pages
        for heading, text in page.sections()
        if all(word in f"{heading}\n{text}".lower() for word in low) and text.strip()
    ]
    return sorted(found, key=lambda one: -_weight(low, one[0].title, one[1]))


def _weight(words: list[str], title: str, heading: str) -> int:
    """Return how much of what is searched for a section is named after, more than the page it is on."""
    begins = [re.compile(rf"\b{re.escape(word)}") for word in words]
    return sum(3 * bool(one.search(heading.lower())) + bool(one.search(title.lower())) for one in begins)
