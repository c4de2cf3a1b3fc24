"""What a review may call: a few tools that read, ``skill_manage`` for what it has loaded, and the memory's when due."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_sdk.hooks import Stage, ToolGo, ToolRequest
from atlas_sdk.services.skills import SKILLS
from atlas_sdk.tools import ToolError, ToolResult

from .counts import SKILL_TOOL
from .review import READS, Review

if TYPE_CHECKING:
    from .reviews import Reviews

REFUSED = "Not run: a background review may only use {allowed}. Go on with these, or end with what you have."
UNREAD = "Not changed: load the skill {name} with use_skill in this review first. Seen before or in part is not enough."
UNREAD_FILE = "Not changed: read all of the file {file} of the skill {name} with read_file in this review first."
NO_DELETING = "Not changed: a review deletes no skill. Patch it, or leave it to the user."


class GuardHook:
    """Holds for every conversation of a review, also for one whose review is not known any more. It fails closed."""

    stage: Stage = Stage.POLICY

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        if request.conversation.origin.kind != "review":
            return await go(request)
        review = self._reviews.running.get(request.conversation.id)
        allowed = review.allowed if review is not None else READS
        name, arguments = request.tool.name, request.arguments
        if name not in allowed:
            raise ToolError(REFUSED.format(allowed=", ".join(allowed)))
        if review is None:
            return await go(request)
        if name == SKILL_TOOL:
            await self._check(review, arguments["operations"])
        result = await go(request)
        if not result.is_error:
            review.note(name, arguments, Path(request.conversation.folder), result.content)
        return result

    async def _check(self, review: Review, operations: list[dict[str, Any]]) -> None:
        made: set[str] = set()
        for one in operations:
            name, file = one["name"], str(one.get("file_path") or "SKILL.md")
            match one["action"]:
                case "create":
                    made.add(name)
                case "delete":
                    raise ToolError(NO_DELETING)
                case _ if name not in made:
                    path = await self._file(review, name, file)
                    known = path is not None and review.reading.is_whole(path.resolve())
                    if file == "SKILL.md" or path is None or not path.exists():
                        if name not in review.loaded and not known:
                            raise ToolError(UNREAD.format(name=name))
                    elif not known and name not in made:
                        raise ToolError(UNREAD_FILE.format(name=name, file=file))

    async def _file(self, review: Review, name: str, file: str) -> Path | None:
        skills = self._reviews.services.get(SKILLS)
        rows = await skills.list() if skills is not None else ()
        bot = await self._reviews.bot_of(review.conversation)
        mine = [row for row in rows if row.name == name and row.bot in ("", bot)]
        mine.sort(key=lambda row: row.bot == "")
        return Path(mine[0].folder) / file if mine else None
