"""Reading a repository's history with git, and nothing that the repository could have git run."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import anyio

SECONDS = 30
# A repository's own configuration may name programs for these; a digest of somebody's clone must start none.
HARMLESS = ["-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.pager=cat"]
COMMIT, FIELD = "\x1e", "\x1f"
FORMAT = f"--format={COMMIT}%h{FIELD}%an{FIELD}%ad{FIELD}%s"


class HistoryError(Exception):
    """The history cannot be read; the message says why."""


@dataclass
class Commit:
    id: str
    author: str
    day: str
    subject: str
    added: int = 0
    removed: int = 0
    files: list[str] = field(default_factory=list)


async def read_history(folder: Path, *, since: str, author: str = "", path: str = "", limit: int = 500) -> list[Commit]:
    """Return the commits of a branch, the newest first."""
    command = ["git", *HARMLESS, "-C", str(folder), "log", "--no-ext-diff", "--no-textconv", "--no-color"]
    command += ["--no-merges", "--date=short", "--numstat", FORMAT, f"--max-count={limit}", f"--since={since}"]
    command += [f"--author={author}", "--fixed-strings"] if author else []
    command += ["--", path] if path else ["--"]
    environ = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT") if name in os.environ}
    environ |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    try:
        with anyio.fail_after(SECONDS):
            done = await anyio.run_process(command, env=environ, check=False)
    except FileNotFoundError:
        raise HistoryError("git is not installed.") from None
    except TimeoutError:
        raise HistoryError(f"git took over {SECONDS} seconds. Ask for less.") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise HistoryError(said[-1].removeprefix("fatal: ") if said else f"git ended with {done.returncode}.")
    return list(_commits(done.stdout.decode("utf-8", "replace")))


def _commits(text: str) -> Iterator[Commit]:
    for block in text.split(COMMIT)[1:]:
        head, *lines = block.splitlines()
        commit = Commit(*head.split(FIELD, 3))
        for line in lines:
            if line.count("\t") >= 2:
                added, removed, name = line.split("\t", 2)
                commit.added += int(added) if added.isdigit() else 0  # a binary file has a dash
                commit.removed += int(removed) if removed.isdigit() else 0
                commit.files.append(name)
        yield commit


def digest(commits: list[Commit], *, since: str, most: int = 8, shown: int = 40) -> str:
    """Return what happened, in lines that a person reads, too."""
    if not commits:
        return f"Nothing was committed since {since}."
    added, removed = sum(one.added for one in commits), sum(one.removed for one in commits)
    people = Counter(one.author for one in commits)
    files = Counter(name for one in commits for name in one.files)
    lines = [
        f"{len(commits)} commits since {since}, {commits[-1].day} to {commits[0].day}: +{added} -{removed} lines.",
        "By: " + ", ".join(f"{name} ({count})" for name, count in people.most_common()) + ".",
    ]
    if files:
        lines.append("Most changed: " + ", ".join(f"{name} ({count})" for name, count in files.most_common(most)) + ".")
    lines.append("")
    lines += [
        f"{one.id} {one.day} {one.author}: {one.subject} (+{one.added} -{one.removed})" for one in commits[:shown]
    ]
    if len(commits) > shown:
        lines.append(f"… and {len(commits) - shown} older ones.")
    return "\n".join(lines)
