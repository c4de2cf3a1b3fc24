"""The method ``skills.list``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.skills import SkillRow

from .library import Library


class Nothing(BaseModel):
    """No params."""

    model_config = ConfigDict(extra="forbid")


class SkillRows(BaseModel):
    """The skills, the home's own first."""

    skills: tuple[SkillRow, ...]


def methods(library: Library) -> list[Method]:
    """Return the methods."""

    async def list_(params: Nothing, caller: Caller) -> SkillRows:
        return SkillRows(skills=await library.list())

    return [Method("skills.list", Nothing, SkillRows, list_, "List the skills, also those that cannot be used.")]
