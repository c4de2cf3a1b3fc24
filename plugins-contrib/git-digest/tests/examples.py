"""A small repository, and a call that reads it."""

import subprocess
from pathlib import Path


def prepare(folder: Path) -> None:
    """Make a repository of two commits by two people."""

    def git(*arguments: str, author: str = "Ada") -> None:
        person = ["-c", f"user.name={author}", "-c", f"user.email={author.lower()}@example.com"]
        subprocess.run(["git", "-C", str(folder), *person, *arguments], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    (folder / "engine.py").write_text("one\ntwo\n")
    git("add", ".")
    git("commit", "-q", "-m", "Add the engine")
    (folder / "engine.py").write_text("one\n2\n")
    git("commit", "-q", "-a", "-m", "Count in digits", author="Grace")


tools = {"git_digest": {"since": "1 year ago"}}
