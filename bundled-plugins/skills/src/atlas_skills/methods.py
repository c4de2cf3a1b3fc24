"""The methods ``skills.*``."""

from __future__ import annotations

from collections.abc import Sequence, Set

from pydantic import BaseModel, ConfigDict

from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.skills import SkillRow

from .keeper import Keeper, Version
from .library import Library


class _Params(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Nothing(_Params):
    """No params."""


class SkillName(_Params):
    """Which skill; ``bot`` is the bot whose it is, empty for the library's."""

    name: str
    bot: str = ""


class SkillVersionsWanted(SkillName):
    """Which skill, and whether to say what changed after each version."""

    diff: bool = False


class SkillVersion(SkillName):
    """Which version of a skill; the last one where none is named."""

    version: str = ""


class ShippedName(_Params):
    """A skill that Atlas ships."""

    name: str


class SkillRows(BaseModel):
    """The skills, the home's own first."""

    skills: tuple[SkillRow, ...]


class SkillVersions(BaseModel):
    """The versions of a skill that are kept, the newest first."""

    name: str
    bot: str
    versions: tuple[Version, ...]


class SkillDone(BaseModel):
    """What was done to which skill; ``version`` is the one that was put back."""

    name: str
    bot: str = ""
    version: str = ""


def _in_force(rows: Sequence[SkillRow], added: Set[str]) -> tuple[SkillRow, ...]:
    """Return the rows without what Atlas ships and the home has a copy of, which is marked; ``added`` are plugins'."""
    mine = {row.name for row in rows if not row.bot and row.folder not in added}
    shipped = [row for row in rows if row.origin == "atlas" and row.folder in added and row.name in mine]
    copied = {row.name for row in shipped}
    kept = [row for row in rows if row not in shipped]
    return tuple(row.model_copy(update={"edited_copy": not row.bot and row.name in copied}) for row in kept)


def methods(library: Library) -> list[Method]:
    """Return the methods."""
    keeper = Keeper(library)

    async def list_(params: Nothing, caller: Caller) -> SkillRows:
        rows = await library.list()
        return SkillRows(skills=_in_force(rows, {str(one.folder) for one in library.known() if one.plugin}))

    async def versions(params: SkillVersionsWanted, caller: Caller) -> SkillVersions:
        found = await keeper.versions(params.name, params.bot, diff=params.diff)
        return SkillVersions(name=params.name, bot=params.bot, versions=found)

    async def revert(params: SkillVersion, caller: Caller) -> SkillDone:
        version = await keeper.revert(params.name, params.version, params.bot)
        return SkillDone(name=params.name, bot=params.bot, version=version)

    async def restore(params: SkillName, caller: Caller) -> SkillDone:
        await keeper.restore(params.name, params.bot)
        return SkillDone(name=params.name, bot=params.bot)

    async def share(params: SkillName, caller: Caller) -> SkillDone:
        await keeper.share(params.name, params.bot)
        return SkillDone(name=params.name)

    async def reset(params: ShippedName, caller: Caller) -> SkillDone:
        await keeper.reset(params.name)
        return SkillDone(name=params.name)

    return [
        Method("skills.list", Nothing, SkillRows, list_, "List the skills, also those that cannot be used."),
        Method("skills.versions", SkillVersionsWanted, SkillVersions, versions, "List a skill's kept versions."),
        Method(
            "skills.revert", SkillVersion, SkillDone, revert, "Put a skill back as a version holds it.", inside="closed"
        ),
        Method("skills.restore", SkillName, SkillDone, restore, "Bring an archived skill back.", inside="closed"),
        Method("skills.share", SkillName, SkillDone, share, "Move a bot's skill to the library.", inside="closed"),
        Method(
            "skills.reset",
            ShippedName,
            SkillDone,
            reset,
            "Put a skill Atlas ships back as it ships it.",
            inside="closed",
        ),
    ]
