"""The methods `gate.explain` and `gate.log`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, Field

from atlas_gate.ground import real_world
from atlas_gate.judgement import Judgement
from atlas_gate.settings import TrustSettings
from atlas_sdk.context import PluginContext
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import Call
from atlas_sdk.services.store import STORE


class Explain(BaseModel):
    """A command, and the folder it would run in."""

    model_config = ConfigDict(extra="forbid")
    command: str
    folder: str = ""


class ModeVerdict(BaseModel):
    """What one mode would do."""

    verdict: str
    rule: str
    why: str


class Explained(BaseModel):
    """How a command is read, and what each mode would do."""

    parts: tuple[str, ...]
    scripts: tuple[str, ...]
    always: str | None
    ask: ModeVerdict
    auto: ModeVerdict


class Log(BaseModel):
    """How many decisions, the newest first."""

    model_config = ConfigDict(extra="forbid")
    limit: int = Field(default=50, ge=1, le=1000)


class Decision(BaseModel):
    """One decision on record."""

    at: str
    tool: str
    what: str
    verdict: str
    by: str
    why: str
    outcome: str


class Decisions(BaseModel):
    """Decisions, the newest first."""

    decisions: tuple[Decision, ...]


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""

    async def explain(params: Explain, caller: Caller) -> BaseModel:
        world = real_world(
            home=Path.home(),
            atlas_home=ctx.home,
            cwd=Path(params.folder) if params.folder else Path.home(),
            auto_mode=False,
            trust=ctx.section(TrustSettings),
            environment={**os.environ, "ATLAS_HOME": str(ctx.home)},
        )

        def both() -> tuple[Judgement, Judgement]:
            from atlas_gate.judge import judge

            return judge(params.command, world), judge(params.command, replace(world, mode="auto"))

        asked, auto = await anyio.to_thread.run_sync(both)
        return Explained(
            parts=tuple(
                part.shown() + (f"   (in {' › '.join(part.origin)})" if part.origin else "") for part in asked.parts
            ),
            scripts=tuple(script.path for script in asked.scripts),
            always=asked.always,
            ask=ModeVerdict(verdict=asked.verdict.word, rule=asked.rule, why=asked.why),
            auto=ModeVerdict(verdict=auto.verdict.word, rule=auto.rule, why=auto.why),
        )

    async def log(params: Log, caller: Caller) -> BaseModel:
        rows = await ctx.services.need(STORE).find(Call, limit=params.limit * 4, newest=True)
        return Decisions(decisions=tuple(_decision(row) for row in rows if row.verdict)[: params.limit])

    return [
        Method("gate.explain", Explain, Explained, explain, "Say how a command is read and what would happen to it."),
        Method("gate.log", Log, Decisions, log, "Return what was decided, and by whom."),
    ]


def _decision(row: Call) -> Decision:
    arguments = row.arguments if isinstance(row.arguments, dict) else {}
    words = [value for value in arguments.values() if isinstance(value, str)]
    what = arguments.get("command") or arguments.get("path") or next(iter(words), "")
    return Decision(
        at=row.started_at.isoformat(timespec="seconds"),
        tool=row.tool,
        what=str(what)[:200],
        verdict=row.verdict,
        by=row.verdict_by,
        why=row.verdict_why,
        outcome=row.outcome,
    )
