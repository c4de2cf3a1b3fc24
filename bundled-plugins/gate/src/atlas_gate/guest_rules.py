"""Where a guest reads along, the homes of Atlas are out of bounds: what may reach into one is the owner's to allow.

A command runs unasked there only where its words tell all that it reads and writes, and none of them leads into a
home. That is a list of programs that are let through, so one that nobody thought of is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from atlas_gate.atlas_program import is_harmless, is_own_command
from atlas_gate.parts import ANY, Part, Word, is_constant, name_set
from atlas_gate.paths import Ground
from atlas_gate.rules import Finding, Verdict, finding
from atlas_gate.shells import SHELLS
from atlas_gate.wrappers import WRAPPERS

# What they read and write stands in their words, or comes down a pipe.
_BY_WORDS: Final = name_set(
    "[ base64 basename cat cd cksum cmp column comm cp curl cut date df diff dirname du echo egrep expr false fd fgrep "
    "file find fold gfind grep gunzip gzip head hexdump hostname id jq ln ls md5sum mkdir mv nl od paste popd printf "
    "ps pushd pwd readlink realpath rev rg rgrep rm rmdir seq sha1sum sha256sum sleep sort stat strings tac tail tar "
    "tee test touch tr tree true tty uname uniq unzip uptime wc wget which whoami xxd yes zcat zip :"
)
# What these run is read as parts of the line, and a text that cannot be read is noted in the part.
_READ_THROUGH: Final = frozenset((*SHELLS, *WRAPPERS, "env", "xargs", "eval"))
_NAMES_ONLY: Final = name_set("[ basename cd df dirname ls mkdir popd pushd pwd readlink realpath rmdir stat test")
_PRINTS: Final = name_set("echo printf : true false seq expr")
_WALKS: Final = name_set("du fd find gfind rg rgrep tree")
_WALKS_BY_OPTION: Final = re.compile(r"-\w*[rR]\w*|--recursive|--dereference-recursive")
_PROGRAM_FOLDERS: Final = name_set("/bin /sbin /usr/bin /usr/sbin /usr/local/bin /opt/homebrew/bin")
# Others decide what runs or where names lead: PATH, LD_PRELOAD, HOME.
_PLAIN_VARIABLE: Final = re.compile(r"[a-z_]\w*|LC_\w+|LANG|TZ")
# Names of files that stand in another file: what is read stands in no word.
_NAMED_ELSEWHERE: Final = re.compile(r"--?files0?-from(?:=.*)?|--config(?:=.*)?|-@|--names-file")
_LIST_LETTERS: Final = {"curl": re.compile(r"-[a-zA-Z]*K.*"), "tar": re.compile(r"-?[a-zA-Z]*T.*")}
_OTHERS_FOLDERS: Final = re.compile(r"/proc/|/dev/fd/")
_SPLITS: Final = re.compile(r"[=:@,]")

_INTO_HOME: Final = "A guest reads along here, and it reaches into what Atlas keeps of yours."
_UNSEEN: Final = "A guest reads along here, and what it reads of yours cannot be seen in it."
_OWN: Final = "A guest reads along here, and it asks Atlas itself."


def guest_finding(part: Part, ground: Ground) -> Finding | None:
    """What is asked of the owner about a part of a command, or None where it stays clear of every home."""
    if is_own_command(part):
        return None if is_harmless(part) else finding(Verdict.ASK, "guest.atlas", _OWN, part)
    if any(_leads_into(part, ground, word) for word in _named(part)) or _is_inside(ground, part.folder or ""):
        return finding(Verdict.ASK, "guest.home", _INTO_HOME, part)
    if _walks_over(part, ground):
        return finding(Verdict.ASK, "guest.home", _INTO_HOME, part)
    if not _is_seen_through(part):
        return finding(Verdict.ASK, "guest.unseen", _UNSEEN, part)
    return None


def _named(part: Part) -> Iterator[Word]:
    yield from part.words
    yield from (redirect.target for redirect in part.redirects)
    yield from (Word(assignment.value) for assignment in part.assignments)


def _leads_into(part: Part, ground: Ground, word: Word) -> bool:
    """Whether a word, or what stands behind a sign in it (`--file=path`, `-d @path`), is in a home or names one."""
    if any(not _is_spared(ground, found[0]) for found in ground.home_mention.finditer(word.text)):
        return True
    pieces = dict.fromkeys([word.text, word.text.lstrip("-"), *_SPLITS.split(word.text)])
    return any(_is_inside(ground, ground.path(part, piece), word=word) for piece in pieces if piece)


def _is_inside(ground: Ground, path: str, *, word: Word | None = None) -> bool:
    for one in dict.fromkeys((path, ground.world.real_path(path) if path and is_constant(path) else path)):
        if ground.in_atlas_home(one, is_pattern=word is not None and word.is_pattern) and not _is_spared(ground, one):
            return True
    return False


def _is_spared(ground: Ground, path: str) -> bool:
    """Whether it is the workspace, which may lie in the home."""
    spared = ground.workspace
    return bool(spared) and ".." not in path and (path.lower() == spared or path.lower().startswith(spared + "/"))


def _walks_over(part: Part, ground: Ground) -> bool:
    """Whether a part may go through a folder that a home lies in."""
    walks = part.name in _WALKS or any(_WALKS_BY_OPTION.fullmatch(text) for text in part.texts)
    if walks and (part.folder is None or ground.homes_under(part.folder)):
        return True
    if not walks and part.name in _NAMES_ONLY | _PRINTS:
        return False
    pieces = dict.fromkeys(
        piece for word in part.arguments for piece in (word.text, *_SPLITS.split(word.text)) if piece
    )
    paths = [ground.path(part, piece.replace(ANY, "*")) for piece in pieces]
    paths += [ground.world.real_path(path) for path in paths if is_constant(path) and "*" not in path]
    return any(ground.homes_under(path or "/") for path in paths if path.startswith("/"))


def _is_seen_through(part: Part) -> bool:
    """Whether the words of a part tell all that it reads: they are known, and its program does what they say."""
    if part.unread or part.suspicion or any(not is_constant(one.target.text) for one in part.redirects):
        return False
    if any(not _PLAIN_VARIABLE.fullmatch(one.name) for one in part.assignments):
        return False
    if not part.words:
        return True
    folder, slash, _ = part.words[0].text.rpartition("/")
    if (slash and folder not in _PROGRAM_FOLDERS) or part.name not in _BY_WORDS | _READ_THROUGH:
        return False
    if part.name in _PRINTS or part.name in _READ_THROUGH:
        return True
    letters = _LIST_LETTERS.get(part.name)
    if any(_NAMED_ELSEWHERE.fullmatch(text) or (letters and letters.fullmatch(text)) for text in part.texts):
        return False
    if any(_OTHERS_FOLDERS.search(word.text) for word in _named(part)):
        return False
    return part.folder is not None and all(is_constant(word.text) for word in part.words)
