#!/usr/bin/env python3
"""Make a small sample marketplace in a folder: five items, and the archives of the two repositories they name.

    python3 tools/sample_market.py FOLDER

Standard library alone. The commits are made up of the files, so the same files have the same commit.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

RELEASE_NOTES = """---
name: release-notes
description: Writes release notes from what changed since the last tag.
metadata:
  requires:
    bins: [git]
---
Read what changed since the last tag with `git log`, group it by kind, and write it for people who use the program:
what is new first, then what was mended. One line a change, no commit numbers. $ARGUMENTS
"""
TEAM_NOTES = """---
name: team-notes
description: Writes meeting notes in the team's own form.
metadata:
  requires:
    mcp: [docs]
---
Look up the form named "Meeting" with the docs server, and fill it in from what the user says. $ARGUMENTS
"""
STRETCH = """---
description: A short break for the back and the eyes.
---
Suggest one exercise of two minutes for somebody who sits at a desk, and say when to do the next one. $ARGUMENTS
"""

DOCS_SERVER = """server:
  type: http
  url: https://docs.example.test/mcp
  headers:
    Authorization: "Bearer ${DOCS_KEY}"
secrets:
  - name: DOCS_KEY
    description: Opens your documents.
    url: https://docs.example.test/keys
"""

REPOSITORIES: dict[str, dict[str, str]] = {
    "robin/atlas-tools": {
        "README.md": "# Tools for Atlas\n",
        "skills/release-notes/SKILL.md": RELEASE_NOTES,
        "skills/release-notes/README.md": "# release-notes\n\nNotes for the people who use what you make.\n",
        "plugins/stretch/.claude-plugin/plugin.json": json.dumps(
            {"name": "stretch", "version": "1.0.0", "description": "A short break.", "atlas": {"api": 1}}, indent=2
        ),
        "plugins/stretch/commands/stretch.md": STRETCH,
        "plugins/stretch/README.md": "# stretch\n\n`/stretch:stretch` suggests a short break.\n",
    },
    "kim/atlas-notes": {
        "SKILL.md": TEAM_NOTES,
        "README.md": "# team-notes\n\nMeeting notes in your team's own form.\n",
    },
}


def commit_of(files: Mapping[str, str]) -> str:
    """Return the made-up commit of some files."""
    return hashlib.sha1(json.dumps(files, sort_keys=True).encode(), usedforsecurity=False).hexdigest()


def archive_of(repo: str, files: Mapping[str, str]) -> bytes:
    """Return a repository's archive as a host serves it: in one folder, with its commit."""
    commit = commit_of(files)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": commit}) as archive:
        for path, text in sorted(files.items()):
            entry = tarfile.TarInfo(f"{repo.partition('/')[2]}-{commit}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(plain.getvalue(), mtime=0)


def digest_of(files: Mapping[str, str], folder: str = "") -> str:
    """Return the digest of a folder of a repository, as ``atlas marketplace check`` prints it."""
    whole = hashlib.sha256()
    for path, text in sorted(files.items()):
        if path.startswith(folder):
            content = hashlib.sha256(text.encode()).hexdigest()
            whole.update(f"{content} - {path.removeprefix(folder).lstrip('/')}\n".encode())
    return f"sha256:{whole.hexdigest()}"


def items() -> dict[str, str]:
    """Return the item files by name."""
    tools, notes = (commit_of(REPOSITORIES[name]) for name in ("robin/atlas-tools", "kim/atlas-notes"))
    return {
        "release-notes": _item("skill", "Release notes", "Release notes from what changed since the last tag.", "robin",
                               repo="robin/atlas-tools", sha=tools, path="skills/release-notes", version="1.0.0",
                               digest=digest_of(REPOSITORIES["robin/atlas-tools"], "skills/release-notes")),
        "team-notes": _item("skill", "Team notes", "Meeting notes in the team's own form.", "kim",
                            repo="kim/atlas-notes", sha=notes, version="0.3.0",
                            digest=digest_of(REPOSITORIES["kim/atlas-notes"])),
        "stretch": _item("plugin", "Stretch", "A short break for the back and the eyes.", "robin",
                         repo="robin/atlas-tools", sha=tools, path="plugins/stretch", version="1.0.0",
                         digest=digest_of(REPOSITORIES["robin/atlas-tools"], "plugins/stretch")),
        "docs": _item("mcp", "Docs", "Your team's documents.", "kim", version="2.0.0")
        + DOCS_SERVER,
        "old-helper": _item("plugin", "Old helper", "Helped once.", "kim", repo="kim/atlas-notes", sha=notes,
                            path="old-helper", version="0.1.0", retired="It sent what you typed to a host of its own."),
    }  # fmt: skip


def _item(kind: str, title: str, summary: str, author: str, **fields: str) -> str:
    whole = {"kind": kind, "title": title, "summary": summary, "author": author, "license": "MIT", **fields}
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in whole.items())


def write(folder: Path) -> None:
    """Write the sample marketplace into a folder."""
    (folder / "items").mkdir(parents=True, exist_ok=True)
    for name, text in items().items():
        (folder / "items" / f"{name}.yaml").write_text(f"name: {name}\n{text}", "utf-8")
    for repo, files in REPOSITORIES.items():
        place = folder / "archives" / repo / f"{commit_of(files)}.tar.gz"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(archive_of(repo, files))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Say where: python3 tools/sample_market.py FOLDER")
    write(Path(sys.argv[1]))
    print(f"Made a sample marketplace in {sys.argv[1]}.")
