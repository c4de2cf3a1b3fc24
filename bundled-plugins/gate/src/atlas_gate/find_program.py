"""What `find` and `fd` find, delete and run."""

from __future__ import annotations

import re

from atlas_gate.languages import LANGUAGES
from atlas_gate.parts import ANY, OUTPUT, Part, Redirect, Word, name_set
from atlas_gate.reader import Handler, Reader
from atlas_gate.shells import SHELLS

_FIND_NARROWS = name_set(
    "-name -iname -path -ipath -wholename -regex -iregex -mtime -mmin -newer -size -empty -user -group "
    "-atime -ctime -amin -cmin -perm -lname -inum -links -nouser -nogroup -samefile"
)

_FIND_ALONE = name_set("-empty -nouser -nogroup")

_FIND_TAKES = (_FIND_NARROWS - _FIND_ALONE) | name_set(
    "-maxdepth -mindepth -type -xtype -printf -regextype -newermt -ilname -anewer -cnewer -used -fstype -context"
)

# Atlas's own files, and names of scripts, with whatever stars.
_MATTERS = re.compile(
    r"[\w.*?\[\]-]*+(?<=sh)|[\w.*?\[\]-]*+(?<=\.py|\.js|\.rb|\.pl|ps1)|(?:vault|server|mcp)\.json|vault\.key"
    r"|atlas\.db|(?:config|models)\.toml"
)

_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")

_RUN_FILES = frozenset((*SHELLS, *LANGUAGES))

_DELETERS = ("rm", "unlink", "shred", "srm", "rmdir", "trash")


def _find(reader: Reader, part: Part) -> str:
    words = part.arguments
    index = 0
    while index < len(words) and re.fullmatch(r"-[HLPO]\d?|-D", words[index].text):
        index += 2 if words[index].text == "-D" else 1
    roots: list[Word] = []
    while index < len(words) and not words[index].text.startswith(("-", "(", "!")):
        roots.append(words[index])
        index += 1
    roots = roots or [Word(".")]
    expression = words[index:]
    texts = [word.text for word in expression]
    found = _found_words(roots, texts)
    position = 0
    while position < len(texts):
        text = texts[position]
        position += 1
        if text in _FIND_TAKES:
            position += 1
        elif text == "-delete":
            reader.run_words([Word("rm"), Word("-r"), *found], "find -delete")
        elif text in _FIND_RUNS:
            end = next((at for at in range(position, len(texts)) if texts[at] in (";", "+")), len(texts))
            command = list(expression[position:end])
            position = end + 1
            if command and command[0].text.rsplit("/", 1)[-1] in _DELETERS:
                command[:1] = [Word("rm"), Word("-r")]
            runs = command[0].text.rsplit("/", 1)[-1] if command else ""
            for one in (deeper_words(found) or found) if runs in _RUN_FILES else found:
                reader.run_words(with_found(command, one), f"find {text}")
        elif text in ("-fprint", "-fls", "-fprintf", "-fprint0") and position < len(texts):
            reader.add(Part((), redirects=(Redirect("", ">", expression[position]),)))
    end_of_name = "\0" if "-print0" in texts else "\n"
    return "".join(word.expanded() + end_of_name for word in deeper_words(found) or found)


def deeper_words(found: list[Word]) -> list[Word]:
    """The same names at any depth, where it matters which file has one: Atlas's own, and scripts."""
    words: list[Word] = []
    for word in found:
        folder, _, name = word.text.rpartition("/")
        if word.is_pattern and _MATTERS.fullmatch(name):
            words.append(Word(f"{folder}/{ANY}{ANY}/{Word(name, True).expanded()}"))
    return words


def with_found(command: list[Word], one: Word) -> list[Word]:
    words: list[Word] = []
    for word in command:
        if word.text == "{}":
            words.append(one)
        else:
            words.append(Word(word.text.replace("{}", one.text), word.is_pattern))
    return words


def _found_words(roots: list[Word], texts: list[str]) -> list[Word]:
    """What `find` finds: its roots themselves, or what a name under them may be."""
    if not any(text in _FIND_NARROWS for text in texts):
        return roots
    name = next((texts[at + 1] for at, text in enumerate(texts[:-1]) if text in ("-name", "-iname")), OUTPUT)
    if any(text in ("!", "-not") for text in texts):
        return [Word(root.text.rstrip("/") + "/*", True) for root in roots]
    others = any(text in _FIND_NARROWS and text not in ("-name", "-iname") for text in texts)
    if others:
        name = OUTPUT + name
    return [Word(root.text.rstrip("/") + "/" + name, True) for root in roots]


def _fd(reader: Reader, part: Part) -> str:
    texts = part.texts
    for at, text in enumerate(texts):
        if text in ("-x", "-X", "--exec", "--exec-batch"):
            command = list(part.arguments[at + 1 :])
            if command and command[0].text.rsplit("/", 1)[-1] in _DELETERS:
                command[:1] = [Word("rm"), Word("-r")]
            if not any("{" in word.text for word in command):
                command.append(Word("{}"))
            reader.run_words(with_found(command, Word(OUTPUT)), f"fd {text}")
            break
    return OUTPUT


HANDLERS: dict[str, Handler] = {**dict.fromkeys(("find", "gfind"), _find), **dict.fromkeys(("fd", "fdfind"), _fd)}
