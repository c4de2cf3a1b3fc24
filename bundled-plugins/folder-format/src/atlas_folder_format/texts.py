"""The parts of a plugin folder that are words for the model: skills, commands and agents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atlas_sdk.folder_files import Walk, is_file, is_folder, is_there
from atlas_sdk.folder_parts import inside
from atlas_sdk.folder_report import Report
from atlas_sdk.front_matter import Document, first_line, read_document
from atlas_sdk.values import Json

DEEPEST = 6
"""How far below a folder of parts they are looked for."""
LONGEST_BYTES = 1_000_000
_PAGES = ("README", "CLAUDE", "AGENTS", "INDEX", "CONTRIBUTING", "CHANGELOG")
_LEFT_OUT = {"node_modules", "__pycache__"}
"""Never a part's own; ``build`` and ``dist`` are what skills and commands are called, too."""


@dataclass(frozen=True)
class Written:
    """A part that is a Markdown file, by the name it has in its plugin."""

    name: str
    file: Path
    document: Document

    @property
    def description(self) -> str:
        """What it is for: as its front matter says, else its first line."""
        said = self.document.text("description") or first_line(self.document.body) or self.name
        return " ".join(said.split())


def read_skills(folder: Path, declared: Json, plugin: str, report: Report) -> list[Written]:
    """Read every ``SKILL.md``: of ``skills/``, nested, at the root, and where the manifest points."""
    found: dict[str, Written] = {}
    seen: set[Path] = set()
    places = [(folder / "skills", False), *((path, True) for path in _places(folder, declared, "skills", report))]
    walk = Walk(folder, report)
    if (root := _skill_file(walk, folder)) is not None:
        places.append((root, True))
    for place, named in places:
        files = [place] if is_file(place) else list(_skills_below(place, walk))
        if named and not files:
            report.refuse(f"skills {_shown(place, folder)}", "There is no SKILL.md in it.")
        for file in files:
            if (known := file.resolve()) in seen:
                continue
            seen.add(known)
            part = f"skill {_shown(file.parent, folder)}"
            document = _document(file, part, report)
            if document is None:
                continue
            at_top = file.parent in (folder, folder / "skills")  # no folder of its own to be named after
            name = document.text("name") or plugin if at_top else file.parent.name
            if not document.has_front_matter:
                report.warn(f"{part} has no front matter; its first line says what it is for.")
            if name in found and place in file.parent.parents:
                name = ":".join(file.parent.relative_to(place).parts) or name
            if name in found:
                report.refuse(part, f"Another skill of the plugin is named {name}.")
            else:
                found[name] = Written(name, file, document)
    _name_the_rest(folder / "skills", folder, report)
    return list(found.values())


def _name_the_rest(place: Path, folder: Path, report: Report) -> None:
    """Name what lies in ``skills/`` and is no skill, since its author may think it is."""
    walk = Walk(folder, Report())  # what it says was said when the skills were read
    if walk.why_not(place) or _skill_file(walk, place) is not None:
        return
    for entry in _entries(place, walk):
        if is_file(entry) and _is_page(entry) and entry.stem.upper() not in _PAGES:
            report.refuse(f"skill {_shown(entry, folder)}", "A skill is a folder with a SKILL.md, and this is a file.")
        elif is_folder(entry) and next(_skills_below(entry, walk), None) is None:
            report.warn(f"{_shown(entry, folder)} has no SKILL.md, so it is no skill.")


def read_commands(folder: Path, declared: Json, report: Report) -> list[Written]:
    """Read every Markdown file of ``commands/``, and where the manifest points; a subfolder is part of a name."""
    inline: dict[str, Json] = declared if isinstance(declared, dict) else {}
    found: dict[str, Written] = {}
    for name, command in inline.items():
        known = command if isinstance(command, dict) else {"source": command}
        given = {key: text for key in ("description", "argument-hint") if isinstance(text := known.get(key), str)}
        content, source = known.get("content"), known.get("source")
        if isinstance(content, str):
            found[name] = Written(name, folder, _with(read_document(content), given))
        elif isinstance(source, str) and (path := _place(folder, source, "commands", report)) is not None:
            if (read := _document(path, f"command {name}", report)) is not None:
                found[name] = Written(name, path, _with(read, given))
        elif not isinstance(source, str):
            report.refuse(f"command {name}", "It has neither a source nor a content.")
    described = {command.file.resolve() for command in found.values()}
    for name, written in _markdown(folder, "commands", None if inline else declared, "command", report):
        if written.file.resolve() in described:
            continue  # the manifest names it and says more of it
        if name in found:
            report.refuse(f"command {_shown(written.file, folder)}", f"Another command is named {name}.")
        else:
            found[name] = written
    return list(found.values())


def read_agents(folder: Path, declared: Json, report: Report) -> list[Written]:
    """Read every Markdown file of ``agents/``, and where the manifest points."""
    found: dict[str, Written] = {}
    for _, written in _markdown(folder, "agents", declared, "agent", report):
        part = f"agent {_shown(written.file, folder)}"
        name = written.document.text("name").strip() or written.file.stem
        if not written.document.has_front_matter and written.file.stem.upper() in _PAGES:
            report.refuse(part, "It is a page about the agents and has no front matter.")
        elif not written.document.body.strip():
            report.refuse(part, "It has no instructions.")
        elif name in found:
            report.refuse(part, f"Another agent of the plugin is named {name}.")
        else:
            found[name] = Written(name, written.file, written.document)
    return list(found.values())


def _markdown(folder: Path, default: str, declared: Json, what: str, report: Report) -> Iterator[tuple[str, Written]]:
    seen: set[Path] = set()
    walk = Walk(folder, report)
    for place in [folder / default, *_places(folder, declared, default, report)]:
        files = [place] if is_file(place) else [file for file in _below(place, walk) if _is_page(file)]
        for file in files:
            if (known := file.resolve()) in seen:
                continue
            seen.add(known)
            document = _document(file, f"{what} {_shown(file, folder)}", report)
            if document is not None:
                above = file.parent.relative_to(place).parts if is_folder(place) else ()
                name = ":".join((*above, file.stem))
                yield name, Written(name, file, document)


def _with(document: Document, given: dict[str, str]) -> Document:
    """Return a command's text with what the manifest says of it."""
    return Document({**document.fields, **given}, document.body, document.has_front_matter or bool(given))


def _is_page(file: Path) -> bool:
    return file.suffix.lower() == ".md" and file.name.lower() != "skill.md"


def _places(folder: Path, declared: Json, what: str, report: Report) -> Iterator[Path]:
    listed = list(declared.values()) if isinstance(declared, dict) else declared
    for item in listed if isinstance(listed, list) else [] if listed is None else [listed]:
        named = _path_of(item)
        if named is None:
            report.refuse(f"{what} in the manifest", "An entry must be a path.")
        elif (path := _place(folder, named, what, report)) is not None:
            yield path


def _path_of(item: Json) -> str | None:
    """Return the path of an entry: Claude Code wants it alone, and some write an object around it."""
    if isinstance(item, dict):
        item = next((item[key] for key in ("path", "source", "file", "location") if key in item), None)
    return item if isinstance(item, str) else None


def _place(folder: Path, item: str, what: str, report: Report) -> Path | None:
    path = inside(folder, item)
    if path is None:
        report.refuse(f"{what} {item}", "The path leads out of the plugin's folder.")
    elif not is_there(path):
        report.refuse(f"{what} {item}", "There is no such file or folder.")
    else:
        return path
    return None


def _skill_file(walk: Walk, folder: Path) -> Path | None:
    try:
        files = [entry for entry in folder.iterdir() if entry.name.lower() == "skill.md"]
    except OSError:
        return None
    for file in files:
        if why := walk.why_not(file):
            walk.refuse(file, why)
        elif is_file(file):
            return file
    return None


def _skills_below(place: Path, walk: Walk, depth: int = 0) -> Iterator[Path]:
    """Yield the skills of a folder; what lies below one belongs to it."""
    if why := walk.why_not(place):
        walk.refuse(place, why)
        return
    if (file := _skill_file(walk, place)) is not None:
        yield file
        return
    for entry in _entries(place, walk):
        if depth < DEEPEST and is_folder(entry):
            yield from _skills_below(entry, walk, depth + 1)


def _below(place: Path, walk: Walk, depth: int = 0) -> Iterator[Path]:
    for entry in _entries(place, walk):
        if is_file(entry):
            yield entry
        elif depth < DEEPEST and is_folder(entry):
            yield from _below(entry, walk, depth + 1)


def _entries(place: Path, walk: Walk) -> list[Path]:
    return [entry for entry in walk.entries(place) if entry.name not in _LEFT_OUT]


def _document(file: Path, part: str, report: Report) -> Document | None:
    try:
        if file.stat().st_size > LONGEST_BYTES:
            report.refuse(part, f"It is longer than {LONGEST_BYTES:,} bytes.")
            return None
        text = file.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        report.refuse(part, f"It cannot be read: {error.strerror}.")
        return None
    if not text.strip():
        report.refuse(part, "It is empty.")
        return None
    return read_document(text)


def _shown(path: Path, folder: Path) -> str:
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:
        return path.name
