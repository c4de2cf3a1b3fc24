"""The skills there are: those in the home's folder, those of its bots, and those that plugins add."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.folder_files import is_folder, is_there
from atlas_sdk.front_matter import read_document
from atlas_sdk.services import ServiceKey
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.home import HOME
from atlas_sdk.services.retirements import RETIREMENTS
from atlas_sdk.services.skills import SkillChange, SkillRow

from . import record
from . import skill as skills
from .changes import Changes
from .instructions import instructions
from .shelf import Away, Shelf
from .skill import FILE, Skill, text_of
from .usage import Count, Usage

T = TypeVar("T")
_Stamp = tuple[int, ...] | None
_Seen = dict[Path, tuple[_Stamp, Skill]]
MAIN = "main"
_BOT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Library:
    """Lists and loads skills. What it knows of files is as of the last ``look``; a use reads the file itself.

    ``bot`` is everywhere the bot whose own skills are meant, and empty for the home's library.
    """

    def __init__(self, ctx: PluginContext) -> None:
        self.ctx = ctx
        self._folder = ctx.home / "skills"
        # One for all: a change in a bot's skills looks at the library's, and the other way round.
        self._lock = threading.RLock()
        self._shelves: dict[str, Shelf] = {"": Shelf(self._folder, self._lock)}
        self._own: dict[str, _Seen] = {}
        self._plugins: _Seen = {}
        self.usage = Usage(ctx)
        self.reviewed = Changes()

    def known(self, bot: str = "") -> tuple[Skill, ...]:
        """Return every skill an agent sees, its own first, then the home's and plugins', without looking at any file.

        Each is what it is called by once; one whose name is taken says so.
        """
        found: dict[str, Skill] = {}
        again: list[Skill] = []
        own = self._of(bot) if bot else ()
        for skill in (*own, *self._of(""), *self._added()):
            if skill.name in found:
                where = found[skill.name].folder
                again.append(replace(skill, why=f"The skill in {where} has the same name and comes first."))
            else:
                found[skill.name] = skill
        return tuple(sorted((*found.values(), *again), key=lambda skill: (bool(skill.plugin), skill.name)))

    def listed(self, bot: str = "") -> tuple[Skill, ...]:
        """Return those the model may use."""
        return tuple(skill for skill in self.known(bot) if skill.for_model and not skill.why)

    def invocable(self) -> tuple[Skill, ...]:
        """Return those a person may call by ``/name``."""
        return tuple(skill for skill in self.known() if skill.for_person and not skill.why)

    def retired(self) -> Mapping[str, str]:
        """Return what the marketplace stopped and nothing here took the name of, each with why."""
        service = self.ctx.services.get(RETIREMENTS)
        found = service.sentences("skill") if service is not None else {}
        names = {skill.name for skill in self.known()}
        return {name: why for name, why in found.items() if name not in names}

    def own(self, bot: str) -> tuple[Skill, ...]:
        """Return a bot's own skills that its model may use."""
        return tuple(skill for skill in self._of(bot) if bot and skill.for_model and not skill.why)

    def of_bots(self) -> bool:
        """Whether any bot has skills of its own."""
        return any(bot and self.own(bot) for bot in self._own)

    async def start(self) -> None:
        """Finish what a crash left, read what was used with success, and look what there is."""
        await anyio.to_thread.run_sync(self._recover)
        await self.usage.start()
        await self.look()

    async def look(self) -> bool:
        """Look what skills there are on disk; say whether anything changed."""
        bots = self.ctx.home / "bots"
        if not any(self._own.values()) and not self._added() and not is_there(self._folder) and not is_there(bots):
            return False  # the home has no skills, and nobody pays for looking at them before every turn
        before = self.known(), {bot: self._of(bot) for bot in self._own}
        await anyio.to_thread.run_sync(self.look_now)
        return (self.known(), {bot: self._of(bot) for bot in self._own}) != before

    async def list(self) -> tuple[SkillRow, ...]:
        await self.look()
        counts = await self.usage.counts()
        bots = sorted(bot for bot in self._own if bot)
        return tuple(_row(skill, counts) for skill in (*self.known(), *(one for bot in bots for one in self._of(bot))))

    async def use(self, name: str, *, arguments: str = "", conversation: str = "") -> str:
        await self.look()
        bot = await self.bot_of(conversation)
        skill = self.find(name, bot)
        if skill.why:
            raise MisuseError(f"The skill {skill.name} cannot be used: {skill.why}", code="broken_skill")
        text = await anyio.to_thread.run_sync(self._text, skill, arguments)
        await self.usage.used((skill.bot, skill.name), conversation)
        return text

    async def changes(self, conversation: str) -> tuple[SkillChange, ...]:
        return await anyio.to_thread.run_sync(self.reviewed.of, conversation)

    async def archive(self, name: str, *, bot: str = "") -> None:
        skill = self.on_shelf(name, bot)

        def work() -> None:
            shelf = self.shelf(bot)
            with shelf.staging() as staging:
                shelf.commit(staging, [Away(skill.folder.name)], self.ctx.clock.now())

        await anyio.to_thread.run_sync(work)
        await self.look()

    # --- for the plugin's own modules -------------------------------------------------------------

    async def bot_of(self, conversation: str) -> str:
        """Return the bot whose conversation it is, nothing for the main agent."""
        conversations = self.ctx.services.get(CONVERSATIONS)
        if not conversation or conversations is None:
            return ""
        try:
            agent = (await conversations.get(conversation)).agent
        except NotFoundError:
            return ""
        return "" if agent == MAIN or _BOT.fullmatch(agent) is None else agent

    def find(self, name: str, bot: str = "") -> Skill:
        """Return the skill an agent calls by a name. Raises NotFoundError."""
        name = name.strip().removeprefix("/")
        known = self.known(bot)
        found = next((one for one in known if one.name == name), None)
        if found is None:
            if why := self.retired().get(name):
                raise NotFoundError(why, hint="atlas marketplace list shows others.", code="no_skill")
            names = ", ".join(one.name for one in known if not one.why)
            there = f"Those there are: {names}." if names else "There are none yet."
            raise NotFoundError(f"There is no skill {name[:80]!r}. {there}", code="no_skill")
        return found

    def on_shelf(self, name: str, bot: str) -> Skill:
        """Return a skill that lies in the library or with a bot. Raises NotFoundError."""
        own = self._of(bot)
        found = next((one for one in own if one.name == name), None)
        if found is None:
            whose = f"The bot {bot} has" if bot else "The library has"
            near = get_close_matches(name, [one.name for one in own], 1)
            names = f"It has: {', '.join(one.name for one in own)}." if own else "It has none."
            hint = f"Did you mean {near[0]}?" if near else names
            raise NotFoundError(f"{whose} no skill {name[:80]!r} of its own.", hint=hint, code="no_skill")
        return found

    def shelf(self, bot: str) -> Shelf:
        """Return where the library's or a bot's own skills lie. Raises NotFoundError for a name that is no bot's."""
        if bot not in self._shelves:
            if _BOT.fullmatch(bot) is None:
                raise NotFoundError(f"There is no bot {bot[:80]!r}.", code="no_bot")
            self._shelves[bot] = Shelf(self.ctx.home / "bots" / bot / "skills", self._lock)
        return self._shelves[bot]

    def shelves(self) -> tuple[Shelf, ...]:
        """Return every shelf there is."""
        return tuple(self.shelf(bot) for bot in self._bots())

    def look_now(self) -> None:
        """Look at the disk, from a worker thread."""
        self._own = {bot: found for bot in self._bots() if (found := self._look_at(bot)) or not bot}
        sources = {source.file: source for source in self._added()}
        self._plugins = {
            file: _seen(self._plugins, file, file, lambda _, source=source: skills.looked_at(source))  # type: ignore[misc]  # bound early
            for file, source in sources.items()
        }

    # --- looking ----------------------------------------------------------------------------------

    def _of(self, bot: str) -> tuple[Skill, ...]:
        seen = (skill for _, skill in self._own.get(bot, {}).values())
        tried = self.usage.succeeded
        marked = (replace(one, on_trial=one.origin == "review" and (bot, one.name) not in tried) for one in seen)
        return tuple(sorted(marked, key=lambda skill: (bool(skill.why), skill.name)))

    def _bots(self) -> tuple[str, ...]:
        """Return the bots that may have skills, after the library."""
        folder = self.ctx.home / "bots"
        try:
            names = sorted(one.name for one in folder.iterdir() if _BOT.fullmatch(one.name) and is_folder(one))
        except OSError:
            names = []
        return ("", *names)

    def _look_at(self, bot: str) -> _Seen:
        shelf, known = self.shelf(bot), self._own.get(bot, {})
        with shelf.lock:
            try:
                folders = [one for one in shelf.folder.iterdir() if is_folder(one) and not one.name.startswith(".")]
            except OSError:
                folders = []
            return {
                folder: _seen(known, folder, folder / FILE, lambda one: skills.of_home(one, bot=bot))
                for folder in folders
            }

    def _recover(self) -> None:
        for shelf in self.shelves():
            shelf.recover()

    def _text(self, skill: Skill, arguments: str) -> str:
        with self.shelf(skill.bot).lock:
            body = read_document(text_of(skill.file)).body
            return instructions(skill, body, arguments, plugin_folder=self._plugin_folder(skill.plugin))

    def _plugin_folder(self, name: str) -> Path | None:
        home = self.ctx.services.get(HOME)
        manifests = home.manifests() if home is not None and name else ()
        return next((Path(one.folder) for one in manifests if one.name == name), None)

    def _added(self) -> tuple[Skill, ...]:
        home = self.ctx.services.get(HOME)
        added = home.added("atlas_skills") if home is not None else ()
        if not added or home is None:
            return ()
        shipped = {one.name for one in home.manifests() if one.source == "bundled"}
        sources = [skills.of_plugin(one.item, one.plugin, shipped=one.plugin in shipped) for one in added]
        # What a look found out about a file says who may call it; what a plugin says of it is the plugin's word.
        known = [(source, self._plugins.get(source.file)) for source in sources]
        return tuple(
            source
            if seen is None
            else replace(source, why=seen[1].why, for_model=seen[1].for_model, for_person=seen[1].for_person)
            for source, seen in known
        )


def _seen(
    known: Mapping[Path, tuple[_Stamp, Skill]], key: Path, file: Path, read: Callable[[Path], Skill]
) -> tuple[_Stamp, Skill]:
    """Return what a file says, read only when it is another than the last time."""
    stamp = _stamp((file, file.parent / record.FILE))
    last = known.get(key)
    return last if last is not None and stamp is not None and last[0] == stamp else (stamp, read(key))


def _stamp(files: Iterable[Path]) -> _Stamp:
    """Return what changes when one of the files does, or None where the first is not there."""
    found: tuple[int, ...] = ()
    for file in files:
        try:
            stat = file.stat()
        except OSError:
            if not found:
                return None
            continue
        found += (stat.st_mtime_ns, stat.st_size)
    return found


def _row(skill: Skill, counts: Mapping[tuple[str, str], Count]) -> SkillRow:
    count = counts.get((skill.bot, skill.name), Count())
    times = [one for one in (skill.active_at, count.last) if one is not None]
    return skill.row().model_copy(
        update={
            "uses": count.uses,
            "successes": count.successes,
            "last_used": count.last,
            "active_at": max(times, default=None),
        }
    )


LIBRARY: ServiceKey[Library] = ServiceKey("skills", 1)
"""The plugin's own view of the service it provides."""
