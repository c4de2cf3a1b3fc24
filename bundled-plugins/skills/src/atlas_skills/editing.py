"""What one operation does to a skill's folder, and whether what comes of it may stay. It only sees a copy."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias, get_args

from atlas_sdk.folder_files import is_file, is_folder
from atlas_sdk.front_matter import split
from atlas_sdk.regular_file import read_regular_text
from atlas_sdk.tools import ToolError
from atlas_sdk.whole_file import write_inside

from . import record
from .skill import FILE, of_home, text_of

Action: TypeAlias = Literal["create", "patch", "write_file", "remove_file", "delete"]
ACTIONS: tuple[str, ...] = get_args(Action)
FOLDERS = ("references", "templates", "scripts", "assets")
MOST_CHARS = 100_000
"""Of a SKILL.md: about 25,000 tokens, a fifth of the smallest usual window."""
MOST_DESCRIPTION_CHARS = 1_024
MOST_FILE_BYTES = 1_000_000
MOST_FILES = 200
MOST_BYTES = 20_000_000
_PATH_CHARS = 200
_COMPILED = frozenset(
    """
    .pyc .pyo .pyd .so .dylib .dll .exe .com .msi .o .obj .a .lib .class .jar .war .wasm .bin .elf .node .ko
    .whl .egg .deb .rpm .app .dmg .apk .nexe .scr .sys
    """.split()  # noqa: SIM905  # a list of a hundred quoted words is no easier to read
)


@dataclass(frozen=True)
class Operation:
    """One change of one skill, as the model asked for it. A field that it did not give is None."""

    name: str
    action: Action
    content: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False
    file_path: str = ""
    file_content: str | None = None
    distinct: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Operation:
        """Return an operation from arguments that fit the tool's schema."""
        return cls(**given)

    @property
    def file(self) -> str:
        """The file it is about, below the skill's folder."""
        return self.file_path.strip().removeprefix("./") or FILE


def apply(operation: Operation, folder: Path) -> str | None:
    """Do one operation in a copy of a skill's folder; return the text it wrote, if it wrote one. Raises ToolError."""
    match operation.action:
        case "create":
            if operation.content is None:
                raise ToolError("create needs content: the whole SKILL.md.")
            return _write(folder, folder / FILE, operation.content)
        case "patch":
            return _patch(operation, folder)
        case "write_file":
            if operation.file_content is None:
                raise ToolError("write_file needs file_content.")
            return _write(folder, _inside(folder, operation.file), operation.file_content)
        case "remove_file":
            file = _inside(folder, operation.file)
            if not is_file(file):
                raise ToolError(f"There is no file {operation.file} in the skill. {_files(folder)}")
            file.unlink()
            for parent in (one for one in file.parents if one != folder and folder in one.parents):
                if not any(parent.iterdir()):
                    parent.rmdir()
    return None


def check(name: str, folder: Path) -> None:
    """See that a folder is a skill that can be loaded, of that name, and holds nothing it may not. Raises ToolError."""
    skill = of_home(folder)
    if skill.why:
        raise ToolError(f"The skill {name} could not be loaded after this: {skill.why}")
    front, _ = split(text_of(skill.file))
    if front.get("name") != name:
        raise ToolError(f"Its front matter must say name: {name}, and says {str(front.get('name'))[:80]!r}.")
    described = front.get("description")
    if not isinstance(described, str) or not described.strip():
        raise ToolError("Its front matter needs a description: what it is for, since it is chosen by that.")
    if len(described) > MOST_DESCRIPTION_CHARS:
        raise ToolError(f"Its description has {len(described):,} characters; {MOST_DESCRIPTION_CHARS:,} are allowed.")
    text = text_of(skill.file)
    if len(text) > MOST_CHARS:
        hint = "Move what is needed seldom into references/."
        raise ToolError(f"Its SKILL.md has {len(text):,} characters; {MOST_CHARS:,} are allowed. {hint}")
    _check_files(folder)


def no_links(name: str, folder: Path) -> None:
    """Refuse a skill that is a link or holds one: what is changed must lie in its folder."""
    if folder.is_symlink():
        raise ToolError(f"The skill {name} is a link to another folder. It is changed there, not here.")
    for here, folders, names in os.walk(folder):
        for one in (*folders, *names):
            if (Path(here) / one).is_symlink():
                raise ToolError(f"The skill {name} holds the link {one}, and a skill with links is not changed here.")


def _check_files(folder: Path) -> None:
    count = total = 0
    for here, _, names in os.walk(folder):
        for name in names:
            count += 1
            total += (Path(here) / name).stat().st_size
    if count > MOST_FILES or total > MOST_BYTES:
        raise ToolError(f"The skill has {count} files of {total:,} bytes; {MOST_FILES} of {MOST_BYTES:,} are allowed.")


def _patch(operation: Operation, folder: Path) -> str:
    file = folder / FILE if operation.file == FILE else _inside(folder, operation.file)
    if not is_file(file):
        raise ToolError(f"There is no file {operation.file} in the skill. {_files(folder)}")
    if operation.content is not None:
        if operation.old_string is not None:
            raise ToolError("patch takes old_string and new_string, or content for the whole file, not both.")
        return _write(folder, file, operation.content)
    old, new = operation.old_string, operation.new_string
    if not old or new is None:
        raise ToolError("patch needs old_string and new_string, or content for the whole file.")
    try:
        text = read_regular_text(file).replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ToolError(f"{operation.file} is not text, so it cannot be patched.") from None
    count = text.count(old)
    if count == 0:
        raise ToolError(f"old_string is not in {operation.file}.{_closest(old, text)}")
    if count > 1 and not operation.replace_all:
        raise ToolError(f"old_string is in {operation.file} {count} times. Give more of it, or replace_all.")
    return _write(folder, file, text.replace(old, new))


def _inside(folder: Path, path: str) -> Path:
    """Return a support file's path. It lies below one of four folders, and is no program that nobody can read."""
    pure = PurePosixPath(path)
    parts = pure.parts
    clean = path.isprintable() and "\\" not in path and ":" not in path and len(path) <= _PATH_CHARS
    if not clean or pure.is_absolute() or len(parts) < 2 or any(part.startswith(".") for part in parts):
        parts = ()
    if not parts or parts[0] not in FOLDERS:
        allowed = ", ".join(f"{one}/" for one in FOLDERS)
        raise ToolError(f"file_path {path[:80]!r} is not allowed: a skill's other files lie below {allowed}.")
    if "__pycache__" in parts or pure.suffix.lower() in _COMPILED:
        raise ToolError(f"{path[:80]} is a compiled file, and a skill holds only what can be read.")
    return folder.joinpath(*parts)


def _write(folder: Path, file: Path, text: str) -> str:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ToolError("The text holds halves of characters. Write it again, whole.") from None
    if "\0" in text:
        raise ToolError("The text holds NUL characters, so it is no text.")
    if len(data) > MOST_FILE_BYTES:
        raise ToolError(f"The text has {len(data):,} bytes; {MOST_FILE_BYTES:,} are allowed.")
    if is_folder(file):
        raise ToolError(f"{file.name} is a folder of the skill.")
    for parent in file.parents:
        if is_file(parent):
            raise ToolError(f"{parent.name} is a file of the skill, so nothing can lie below it.")
    try:
        write_inside(folder, file, data)
    except OSError as error:
        raise ToolError(f"{file.name} could not be written: {error.strerror}.") from error
    return text


def _closest(old: str, text: str) -> str:
    first = next((line for line in old.splitlines() if line.strip()), "")
    near = difflib.get_close_matches(first.strip(), [line.strip() for line in text.splitlines()], 1, 0.6)
    return f" The closest line: {near[0][:200]}" if near else " Load the skill and copy it from there."


def _files(folder: Path) -> str:
    found = sorted(
        (Path(here) / name).relative_to(folder).as_posix() for here, _, names in os.walk(folder) for name in names
    )
    return f"Its files: {', '.join(name for name in found if name != record.FILE)}."
