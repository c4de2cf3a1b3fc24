"""The skills there are: those in the home's folder and those that plugins add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.front_matter import read_document
from atlas_sdk.services import ServiceKey
from atlas_sdk.services.home import HOME
from atlas_sdk.services.retirements import RETIREMENTS
from atlas_sdk.services.skills import SkillRow

from . import skill as skills
from .instructions import instructions
from .skill import FILE, Skill, text_of

T = TypeVar("T")
_Stamp = tuple[int, int] | None


class Library:
    """Lists and loads skills. What it knows of files is as of the last ``look``; a use reads the file itself."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._folder = ctx.home / "skills"
        self._home: dict[Path, tuple[_Stamp, Skill]] = {}
        self._plugins: dict[Path, tuple[_Stamp, Skill]] = {}
        self.late: dict[str, tuple[Skill, ...]] = {}
        """What a conversation that begins must be told beside the tool's description; kept by ``Latecomers``."""

    def known(self) -> tuple[Skill, ...]:
        """Return every skill, the home's own first, without looking at any file."""
        found: dict[str, Skill] = {}
        again: list[Skill] = []
        mine = sorted((skill for _, skill in self._home.values()), key=lambda skill: (bool(skill.why), skill.name))
        for skill in (*mine, *self._added()):
            if skill.name in found:
                where = found[skill.name].folder
                again.append(replace(skill, why=f"The skill in {where} has the same name and comes first."))
            else:
                found[skill.name] = skill
        return tuple(sorted((*found.values(), *again), key=lambda skill: (skill.origin == "plugin", skill.name)))

    def listed(self) -> tuple[Skill, ...]:
        """Return those the model may use."""
        return tuple(skill for skill in self.known() if skill.for_model and not skill.why)

    def invocable(self) -> tuple[Skill, ...]:
        """Return those a person may call by ``/name``."""
        return tuple(skill for skill in self.known() if skill.for_person and not skill.why)

    def retired(self) -> Mapping[str, str]:
        """Return what the marketplace stopped and nothing here took the name of, each with why."""
        service = self._ctx.services.get(RETIREMENTS)
        found = service.sentences("skill") if service is not None else {}
        names = {skill.name for skill in self.known()}
        return {name: why for name, why in found.items() if name not in names}

    async def look(self) -> bool:
        """Look what skills there are on disk; say whether anything changed."""
        if not self._home and not self._added() and not self._folder.exists():
            return False  # the home has no skills, and nobody pays for looking at them before every turn
        before = self.known()
        await anyio.to_thread.run_sync(self._look)
        return self.known() != before

    async def list(self) -> tuple[SkillRow, ...]:
        await self.look()
        return tuple(skill.row() for skill in self.known())

    async def use(self, name: str, *, arguments: str = "", conversation: str = "") -> str:
        await self.look()
        skill = next((one for one in self.known() if one.name == name.strip().removeprefix("/")), None)
        if skill is None:
            if why := self.retired().get(name.strip().removeprefix("/")):
                raise NotFoundError(why, hint="atlas marketplace list shows others.", code="no_skill")
            names = ", ".join(one.name for one in self.known() if not one.why) or "none"
            raise NotFoundError(f"There is no skill {name[:80]!r}. Those there are: {names}.", code="no_skill")
        if skill.why:
            raise MisuseError(f"The skill {skill.name} cannot be used: {skill.why}", code="broken_skill")
        return await anyio.to_thread.run_sync(self._text, skill, arguments)

    def _text(self, skill: Skill, arguments: str) -> str:
        body = read_document(text_of(skill.file)).body
        return instructions(skill, body, arguments, plugin_folder=self._plugin_folder(skill.plugin))

    def _plugin_folder(self, name: str) -> Path | None:
        home = self._ctx.services.get(HOME)
        manifests = home.manifests() if home is not None and name else ()
        return next((Path(one.folder) for one in manifests if one.name == name), None)

    def _added(self) -> tuple[Skill, ...]:
        home = self._ctx.services.get(HOME)
        added = home.added("atlas_skills") if home is not None else ()
        sources = [skills.of_plugin(one.item, one.plugin) for one in added]
        # What a look found out about a file says who may call it; what a plugin says of it is the plugin's word.
        known = [(source, self._plugins.get(source.file)) for source in sources]
        return tuple(
            source
            if seen is None
            else replace(source, why=seen[1].why, for_model=seen[1].for_model, for_person=seen[1].for_person)
            for source, seen in known
        )

    def _look(self) -> None:
        try:
            folders = [one for one in self._folder.iterdir() if one.is_dir() and not one.name.startswith(".")]
        except OSError:
            folders = []
        self._home = {folder: self._seen(self._home, folder, folder / FILE, skills.of_home) for folder in folders}
        sources = {source.file: source for source in self._added()}
        self._plugins = {
            file: self._seen(self._plugins, file, file, lambda _, source=source: skills.looked_at(source))  # type: ignore[misc]  # bound early
            for file, source in sources.items()
        }

    def _seen(
        self, known: dict[Path, tuple[_Stamp, Skill]], key: Path, file: Path, read: Callable[[Path], Skill]
    ) -> tuple[_Stamp, Skill]:
        """Return what a file says, read only when it is another than the last time."""
        try:
            stat = file.stat()
            stamp: _Stamp = (stat.st_mtime_ns, stat.st_size)
        except OSError:
            stamp = None
        last = known.get(key)
        return last if last is not None and stamp is not None and last[0] == stamp else (stamp, read(key))


LIBRARY: ServiceKey[Library] = ServiceKey("skills", 1)
"""The plugin's own view of the service it provides."""
