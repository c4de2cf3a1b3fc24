"""What is Atlas's own on this machine besides its keys: its homes, its code, its running process."""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import Part, Word, is_constant, name_set
from atlas_gate.paths import Ground
from atlas_gate.rules import Rule
from atlas_gate.written_files import unpacked_into, written_words

# Python runs these by itself when it starts, wherever it finds its packages.
STARTS_PYTHON: Final = re.compile(r"[^/]*\.pth|(?:site|user)customize(?:\.py|/.*)?|pyvenv\.cfg", re.IGNORECASE)
_PYTHON_PROGRAM: Final = re.compile(r"(?:bin|scripts)/(?:atlas|python)[\w.]*", re.IGNORECASE)
_REMOVES: Final = name_set("rm mv rmdir unlink")
_CONTAINERS: Final = name_set("docker podman nerdctl")
_CONTAINER_VALUES: Final = (*"veptulwhmn", "volume", "mount", "env", "name", "network", "user", "workdir", "entrypoint")
_MOUNT_SOURCE: Final = re.compile(r"(?:^|,)(?:source|src)=([^,]*)")
_ATTACHES: Final = name_set("gdb lldb strace ltrace rust-gdb rust-lldb cgdb frida reptyr")
_DUMPS: Final = name_set("gcore procdump pyrasite pyrasite-shell pyrasite-dump")
_DUMPING_VERBS: Final = {"py-spy": name_set("dump record top"), "memray": name_set("attach detach")}
_MEMORY: Final = re.compile(r"/proc/(?!(?:self|thread-self)/)[^/\s]+/(?:task/[^/\s]+/)?(?:mem|pagemap)(?!\w)")


def _writes_home(part: Part, ground: Ground) -> bool:
    """Whether a part writes, makes or deletes anything inside a home of Atlas."""
    return any(_in_home(part, ground, word) for word in written_words(part))


def _in_home(part: Part, ground: Ground, word: Word) -> bool:
    path = ground.path(part, word)
    if ground.in_atlas_home(path, is_pattern=word.is_pattern):
        return True
    return is_constant(path) and ground.in_atlas_home(ground.world.real_path(path))


def _writes_code(part: Part, ground: Ground) -> bool:
    """Whether a part changes the packages Atlas runs from, or what their Python runs when it starts."""
    if not ground.world.code_folders and not ground.world.start_folders:
        return False
    paths = [_real(part, ground, word) for word in written_words(part)]
    if any(is_own_code(path, ground.world.code_folders, ground.world.start_folders) for path in paths):
        return True
    folders = (*ground.world.code_folders, *ground.world.start_folders)
    if part.name in _REMOVES and any(folder.startswith(path + "/") for path in paths for folder in folders):
        return True
    unpacked = [_real(part, ground, word) for word in unpacked_into(part)]
    return any(path == folder for path in unpacked for folder in folders)


def _real(part: Part, ground: Ground, word: Word) -> str:
    path = ground.path(part, word)
    return ground.world.real_path(path) if is_constant(path) else path


def is_own_code(path: str, code_folders: tuple[str, ...], start_folders: tuple[str, ...]) -> bool:
    """Whether a path is in a package Atlas runs from, or is a file Python runs when Atlas starts."""
    if any(path == folder or path.startswith(folder + "/") for folder in code_folders):
        return True
    for folder in start_folders:
        if path.startswith(folder + "/"):
            inside = path[len(folder) + 1 :]
            if STARTS_PYTHON.fullmatch(inside) or _PYTHON_PROGRAM.fullmatch(inside):
                return True
    return False


def _mounts_home(part: Part, ground: Ground) -> bool:
    """`docker run -v ~:/h`: what runs inside sees every key under it."""
    start = first_operand(part.arguments, with_value=("H", "c", "l", "context", "host"))
    rest = part.arguments[start:]
    if [word.text for word in rest[:1]] == ["container"]:
        rest = rest[1:]
    verb = [word.text for word in rest[:1]]
    if verb == ["cp"]:
        return any(_holds_home(part, ground, word.text) for word in rest[1:-1])
    if verb not in (["run"], ["create"]):
        return False
    rest = rest[1:]
    options = read_options(rest[: first_operand(rest, with_value=_CONTAINER_VALUES)], with_value=_CONTAINER_VALUES)
    for name, value in (*options.values, *options.long):
        if name in ("v", "volume"):
            source = value.lstrip("=").partition(":")[0]
        elif name == "mount":
            found = _MOUNT_SOURCE.search(value)
            source = found[1] if found is not None else ""
        else:
            continue
        if source.startswith(("/", "~", ".")) and _holds_home(part, ground, source):
            return True
    return False


def _holds_home(part: Part, ground: Ground, text: str) -> bool:
    if text == "~" or text.startswith("~/"):
        text = ground.world.home + text[1:]
    path = ground.path(part, text)
    return is_constant(path) and bool(ground.homes_under(path) or ground.in_atlas_home(path))


def _reads_memory(part: Part, ground: Ground) -> bool:
    """`gcore $PPID`, `gdb -p`: what another process holds in its memory, keys and all."""
    texts = part.texts
    if part.name in _DUMPS:
        return any(not text.startswith("-") for text in texts)
    if part.name in _DUMPING_VERBS:
        options = texts[: texts.index("--")] if "--" in texts else texts
        return bool(_DUMPING_VERBS[part.name].intersection(texts[:1])) and (
            part.name == "memray" or any(text in ("-p", "--pid") or text.startswith("--pid=") for text in options)
        )
    if part.name in _ATTACHES:
        if "--args" in texts:
            texts = texts[: texts.index("--args")]
        joined = any(text in ("-p", "--pid", "--attach-pid", "--process-attach") for text in texts) or any(
            re.match(r"-p\d|--pid=|--attach-pid=|-p[^\x00-\x7f]", text) for text in texts
        )
        attaches = any(re.match(r"\s*+(?:attach|process\s++attach)\b", text) for text in (*texts, part.input))
        # `gdb program 1234` takes a number behind the program for a process.
        plain = [text for text in texts if not text.startswith("-")]
        by_number = part.name in ("gdb", "cgdb", "rust-gdb") and len(plain) > 1 and plain[1].isdigit()
        return joined or attaches or by_number
    return False


def _opens_memory(part: Part, ground: Ground) -> bool:
    words = [*part.words, *(redirect.target for redirect in part.redirects)]
    return part.name not in ("echo", "printf", "find") and any(
        _MEMORY.search(word.text) for word in words if "/proc/" in word.text
    )


_HOME = "It writes inside a home of Atlas."
_CODE = "It changes the code Atlas itself runs from."
_MOUNT = "It opens a folder that holds Atlas's own keys and data to a container."
_PROCESS = "It reads the memory of other processes, keys and all."

RULES: Final = (
    Rule("outward.atlas-home", _HOME, _writes_home),
    Rule("outward.atlas-code", _CODE, _writes_code),
    Rule("outward.atlas-home", _MOUNT, _mounts_home, _CONTAINERS),
    Rule("outward.environment", _PROCESS, _reads_memory, _ATTACHES | _DUMPS | frozenset(_DUMPING_VERBS)),
    Rule("outward.environment", _PROCESS, _opens_memory),
)
