"""One call of ``skill_manage``: done on copies, checked, and then put in the skills' places at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from atlas_sdk.errors import AtlasError
from atlas_sdk.front_matter import split
from atlas_sdk.regular_file import read_regular_text
from atlas_sdk.screening import screen
from atlas_sdk.tools import ToolError

from . import record
from .diffs import is_changed
from .downloads import PIPED, piped
from .editing import Operation, apply, check, no_links
from .library import Library
from .record import Record
from .shelf import Away, Put, Shelf, copy
from .similarity import ALIKE, SURE, Text, nearest
from .skill import FILE, Skill, fits, text_of

CREATED, UPDATED, ARCHIVED = "created", "updated", "archived"
SAME = (
    "The skill {name} says so already. A skill that is not changed is not copied and gets no version. Load it, and "
    "patch what is to be different."
)


@dataclass(frozen=True)
class Done:
    """A skill that a call changed. ``before`` is the version that was kept of it."""

    name: str
    how: str
    bot: str
    folder: Path
    before: Path | None = None


@dataclass(frozen=True)
class _Target:
    """A skill a call changes: where it lies, and what it is copied from where it is there already."""

    bot: str
    folder: str
    source: Path | None
    origin: str


class Change:
    """One call, on the skills as they are. ``bot`` is whose conversation it is in; a review's is ``reviewing``."""

    def __init__(self, library: Library, *, bot: str, reviewing: bool, now: datetime) -> None:
        self._library = library
        self._bot = bot
        self._reviewing = reviewing
        self._now = now

    def run(self, operations: Sequence[Operation]) -> tuple[Done, ...]:
        """Do all of it or nothing, from a worker thread. Raises ToolError, which says what to do instead."""
        if any(one.action == "delete" for one in operations):
            return (self._delete(operations),)
        named = {one.name for one in operations}
        first = {name: next(one for one in operations if one.name == name) for name in named}
        places = {self._place(one) for one in first.values()}
        if len(places) != 1:
            raise ToolError("Change the library's skills and the bot's own in calls of their own.")
        shelf = self._library.shelf(places.pop())
        with shelf.lock:
            self._library.look_now()
            targets = {name: self._target(first[name]) for name in sorted(named)}
            return self._change(shelf, operations, targets)

    def _change(self, shelf: Shelf, operations: Sequence[Operation], targets: dict[str, _Target]) -> tuple[Done, ...]:
        with shelf.staging() as staging:
            staged = {name: staging / target.folder for name, target in targets.items()}
            for name, target in targets.items():
                if target.source is None:
                    staged[name].mkdir()
                else:
                    no_links(name, target.source)
                    copy(target.source, staged[name])
                    no_links(name, staged[name])  # one may have come in while it was copied
            for number, operation in enumerate(operations, 1):
                if operation.action == "create" and (staged[operation.name] / FILE).exists():
                    raise ToolError(f"Operation {number}: there is a skill {operation.name} already. Patch it.")
                try:
                    self._apply(operation, staged[operation.name])
                except ToolError as error:
                    raise ToolError(f"Operation {number} ({operation.action}): {error}") from error
            for name, target in targets.items():
                check(name, staged[name])
                if target.source is not None and not is_changed(target.source, staged[name]):
                    raise ToolError(SAME.format(name=name))
                kept = record.read(staged[name])
                made = kept.made_at if kept is not None else self._now
                record.write(staged[name], Record(target.origin, made, self._now))
            self._not_known([one for one in operations if one.action == "create"], staged)
            versions = shelf.commit(
                staging, [Put(target.folder, staged[name]) for name, target in targets.items()], self._now
            )
        return tuple(
            Done(
                name,
                UPDATED if target.source else CREATED,
                target.bot,
                shelf.folder / target.folder,
                shelf.version(target.folder, versions[target.folder]) if target.folder in versions else target.source,
            )
            for name, target in targets.items()
        )

    def _apply(self, operation: Operation, folder: Path) -> None:
        file = folder / operation.file
        before = read_regular_text(file, errors="replace") if not file.is_symlink() and file.is_file() else ""
        text = apply(operation, folder)
        found = screen(text, procedure=True) if text is not None else None
        if (
            found is not None
            and before
            and (old := screen(before, procedure=True)) is not None
            and old.family == found.family
        ):
            # The user's own text reads so; only what is new is the model's.
            found = screen(operation.new_string or operation.content or operation.file_content or "", procedure=True)
        if found is not None:
            raise ToolError(f"the text was refused ({found.family}): {found.said}")
        if self._reviewing and text is not None and piped(text) - piped(before):
            raise ToolError(PIPED)

    # --- which skill ------------------------------------------------------------------------------

    def _place(self, operation: Operation) -> str:
        if operation.action == "create":
            return self._bot
        return self._existing(operation.name).bot

    def _target(self, operation: Operation) -> _Target:
        name = operation.name
        if operation.action == "create":
            if not fits(name):
                raise ToolError(f"The name {name[:80]!r} must be of lowercase letters, digits, - and _, at most 64.")
            if (self._library.shelf(self._bot).folder / name).exists():
                raise ToolError(f"There is a skill {name} already. Load it and patch it.")
            if any(one.name == name for one in self._library.known(self._bot)):
                raise ToolError(f"There is a skill {name} already. Load it with use_skill, and patch it if it can be.")
            return _Target(self._bot, name, None, "review" if self._reviewing else "agent")
        skill = self._existing(name)
        return _Target(skill.bot, skill.folder.name if not skill.plugin else name, skill.folder, skill.origin)

    def _existing(self, name: str) -> Skill:
        try:
            skill = self._library.find(name, self._bot)
        except AtlasError as error:
            raise ToolError(str(error)) from error
        copies = skill.origin == "atlas" and skill.file.name == FILE and fits(name)
        if skill.plugin and not copies:
            raise ToolError(f"The skill {name} is the plugin {skill.plugin}'s, and plugins' skills are not changed.")
        return skill

    def _delete(self, operations: Sequence[Operation]) -> Done:
        if len(operations) != 1:
            raise ToolError("delete stands alone in its call.")
        if self._reviewing:
            raise ToolError("A review deletes no skill. Patch it, or leave it to the user.")
        self._library.look_now()
        skill = self._existing(operations[0].name)
        if skill.plugin:
            raise ToolError(f"Atlas ships the skill {skill.name}, and it stays. The user can turn its plugin off.")
        shelf = self._library.shelf(skill.bot)
        with shelf.staging() as staging:
            shelf.commit(staging, [Away(skill.folder.name)], self._now)
        return Done(skill.name, ARCHIVED, skill.bot, skill.folder)

    # --- near duplicates --------------------------------------------------------------------------

    def _not_known(self, created: Sequence[Operation], staged: dict[str, Path]) -> None:
        known = [text for one in self._library.known(self._bot) if not one.why and (text := _text(one)) is not None]
        for operation in created:
            new = _text_in(operation.name, staged[operation.name])
            if found := nearest(new, known):
                self._refuse_if_alike(operation, *found)
            known.append(new)

    def _refuse_if_alike(self, operation: Operation, other: Text, score: float) -> None:
        if score < (SURE if self._reviewing else ALIKE) or (operation.distinct.strip() and not self._reviewing):
            return
        way_out = "" if self._reviewing else " If it is another task all the same, say why in distinct."
        raise ToolError(
            f"There is a skill for this: {other.name} ({_short(other.description)}). Load it with use_skill and patch "
            f"it, so that what is known of one task stays in one place.{way_out}"
        )


def _text(skill: Skill) -> Text | None:
    try:
        _, body = split(text_of(skill.file))
    except AtlasError:
        return None
    return Text(skill.name, skill.description, body)


def _text_in(name: str, folder: Path) -> Text:
    front, body = split(text_of(folder / FILE))
    return Text(name, str(front.get("description")), body)


def _short(text: str, most: int = 120) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
