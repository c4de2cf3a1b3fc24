"""A skill as it is known before it is used: what its front matter says, or why it cannot be used."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from atlas_sdk.front_matter import FrontMatterError, Value, read_document, split
from atlas_sdk.regular_file import open_regular
from atlas_sdk.services.skills import SkillRow
from atlas_sdk.skills import SkillSource

from . import record

FILE = "SKILL.md"
MOST_BYTES = 1_000_000
"""A text that fills a model's window is no instruction."""
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_NAME_CHARS = 64
_ORIGINS = ("agent", "marketplace")
"""What a front matter may say; what Atlas made says so in its record, which the model cannot write."""


@dataclass(frozen=True)
class Skill:
    """A skill. ``why`` says why it cannot be used. ``for_model`` and ``for_person`` say who may call it."""

    name: str
    description: str
    file: Path
    origin: str = "user"
    plugin: str = ""
    why: str = ""
    for_model: bool = True
    for_person: bool = True
    bot: str = ""
    on_trial: bool = False
    active_at: datetime | None = None
    """When it was last changed, as far as its files say."""

    @property
    def folder(self) -> Path:
        """Where its other files lie."""
        return self.file.parent

    def row(self) -> SkillRow:
        """Return it as lists show it."""
        folder = str(self.folder)
        return SkillRow(
            name=self.name,
            description=self.description,
            origin=self.origin,
            folder=folder,
            why=self.why,
            bot=self.bot,
            on_trial=self.on_trial,
            active_at=self.active_at,
        )


def of_home(folder: Path, *, bot: str = "") -> Skill:
    """Return the skill of one folder of the home's or a bot's ``skills/``. A broken one says why; none raises."""
    kept = record.read(folder)
    skill = Skill(folder.name, "", folder / FILE, bot=bot, active_at=_changed(folder / FILE, kept))
    try:
        front, body = split(text_of(skill.file))
    except FrontMatterError as error:
        return replace(skill, why=error.message)
    given = front.get("name")
    name = next((one for one in (given, folder.name) if isinstance(one, str) and fits(one)), None)
    metadata = front.get("metadata")
    said = metadata.get("origin") if isinstance(metadata, dict) else None
    origin = kept.origin if kept is not None else said if isinstance(said, str) and said in _ORIGINS else "user"
    skill = replace(
        skill,
        description=_described(front.get("description"), body),
        origin=origin,
        for_model=front.get("disable-model-invocation") is not True,
        for_person=front.get("user-invocable") is not False,
    )
    if name is None:
        why = f"Its name {str(given or folder.name)[:80]!r} must be of lowercase letters, digits, - and _."
        return replace(skill, why=why)
    if not body:
        return replace(skill, name=name, why=f"Its {FILE} says nothing below the front matter.")
    return replace(skill, name=name)


def of_plugin(source: SkillSource, plugin: str, *, shipped: bool = False) -> Skill:
    """Return a skill that a plugin adds, with nothing read of it; ``shipped`` are those of Atlas's own plugins."""
    said = " ".join(source.description.split())
    return Skill(source.name, said, source.file, origin="atlas" if shipped else "plugin", plugin=plugin)


def looked_at(skill: Skill) -> Skill:
    """Return a plugin's skill with what its file says of who may call it, or why it cannot be used.

    Its front matter is a stranger's, whom a sentence does not reach: a line that cannot be meant costs that line alone.
    """
    try:
        document = read_document(text_of(skill.file))
    except FrontMatterError as error:
        return replace(skill, why=error.message)
    return replace(
        skill,
        why="" if document.body else "It says nothing below its front matter.",
        for_model=document.fields.get("disable-model-invocation") is not True,
        for_person=document.fields.get("user-invocable") is not False,
    )


def text_of(file: Path) -> str:
    """Return a skill's whole text. Raises FrontMatterError where there is none."""
    try:
        with open_regular(file) as stream:
            data = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise FrontMatterError(f"There is no {file.name} in {file.parent}.") from None
    except OSError as error:
        raise FrontMatterError(f"{file} cannot be read: {error.strerror}.") from error
    if len(data) > MOST_BYTES:
        raise FrontMatterError(f"{file.name} has over {MOST_BYTES:,} bytes, which no model reads.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise FrontMatterError(f"{file.name} is not UTF-8 text.") from None


def fits(name: str) -> bool:
    """Whether a skill may be called so."""
    return len(name) <= _NAME_CHARS and _NAME.fullmatch(name) is not None


def _changed(file: Path, kept: record.Record | None) -> datetime | None:
    """Return when a skill last changed: by Atlas, as its record says, or by hand, as the file's time says."""
    try:
        by_hand = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return kept.changed_at if kept is not None else None
    return max(by_hand, kept.changed_at) if kept is not None else by_hand


def _described(given: Value | None, body: str) -> str:
    """Return the description on one line: the front matter's, else the text's first paragraph."""
    if isinstance(given, str) and given.strip():
        return " ".join(given.split())
    for paragraph in re.split(r"\n\s*\n", body):
        if paragraph.strip() and not paragraph.lstrip().startswith(("#", "<!--")):
            return " ".join(paragraph.split())
    return ""
