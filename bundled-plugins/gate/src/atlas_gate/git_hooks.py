"""The hooks a command of Git runs: scripts of the repository, read like any other."""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.parts import Word, is_constant, name_set
from atlas_gate.path_forms import plain_path
from atlas_gate.reader import Reader

_COMMITS: Final = "prepare-commit-msg commit-msg post-commit"
_BY_VERB: Final = {
    verb: name_set(hooks)
    for verbs, hooks in (
        ("commit", f"pre-commit {_COMMITS} post-rewrite"),
        ("cherry-pick revert", _COMMITS),
        ("merge pull", f"pre-merge-commit {_COMMITS} post-merge pre-rebase post-rewrite post-checkout"),
        ("rebase", f"pre-rebase pre-commit {_COMMITS} post-rewrite post-checkout"),
        ("am", f"applypatch-msg pre-applypatch post-applypatch {_COMMITS}"),
        ("push", "pre-push"),
        ("checkout switch worktree", "post-checkout"),
        ("gc", "pre-auto-gc"),
        ("fetch", ""),
    )
    for verb in verbs.split()
}
_ALWAYS: Final = name_set("reference-transaction post-index-change")
_UNVERIFIED: Final = name_set("pre-commit commit-msg pre-push pre-merge-commit")
_HOOKS_PATH: Final = re.compile(r"^[ \t]*+hooksPath[ \t]*+=[ \t]*+(\S.*)$", re.MULTILINE | re.IGNORECASE)
# How far above the folder the repository may begin.
_FURTHEST: Final = 12


def run_hooks(reader: Reader, verb: str, texts: list[str], folder: str | None, given: str | None) -> None:
    """Read the hooks that exist and that this verb runs. `given` is a `core.hooksPath` of the command line."""
    names = _BY_VERB.get(verb)
    if names is None or folder is None or not is_constant(folder):
        return
    names = names | _ALWAYS
    if "--no-verify" in texts or (verb == "commit" and any(re.fullmatch(r"-[a-z]*n[a-z]*", text) for text in texts)):
        names = names - _UNVERIFIED
    found = _hooks_folder(reader, folder, given)
    if found is None:
        return
    written = {path.rpartition("/")[2] for path in reader.state.files if path.startswith(found + "/")}
    for name in sorted(names & {*reader.world.list_folder(found), *written}):
        reader.run_words([Word(f"{found}/{name}")], "git hook")


def _hooks_folder(reader: Reader, folder: str, given: str | None) -> str | None:
    """The folder of the repository's hooks: what its settings say, or its own."""
    where = folder
    for _ in range(_FURTHEST):
        names = set(reader.world.list_folder(f"{where}/.git"))
        pointer = None if names else reader.read_file(f"{where}/.git", is_script=False)
        written = any(path.startswith(f"{where}/.git/") for path in reader.state.files)
        if names or pointer or written:
            break
        where = where.rpartition("/")[0]
        if not where:
            return plain_path(given, folder) if given else None
    else:
        return None
    if given:
        return plain_path(given, where)
    git = f"{where}/.git"
    if pointer and pointer.startswith("gitdir:"):
        git = plain_path(pointer[len("gitdir:") :].strip(), where)
        git = git.partition("/worktrees/")[0]
    settings = reader.read_file(f"{git}/config", is_script=False)
    named = _HOOKS_PATH.search(settings or "")
    return plain_path(named[1].strip().strip('"'), where) if named else f"{git}/hooks"
