"""Make and test plugins: terminal commands, and the skill by which Atlas writes one with its user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.skills import SkillSource


@hookimpl
def atlas_skills(ctx: PluginContext) -> list[SkillSource]:
    from atlas_sdk.skills import SkillSource

    about = "Write a plugin for Atlas with the user, check and install it. Use when Atlas should do something new."
    return [SkillSource("write-plugin", about, ctx.folder / "skills" / "write-plugin" / "SKILL.md")]
