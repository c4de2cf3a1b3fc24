"""One run of a hook command: what it is told, and the process that is told it."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import anyio

from atlas_sdk.context import PluginContext
from atlas_sdk.folder_hooks import HookCommand
from atlas_sdk.values import Json

from .audit import Audit
from .environment import MARK, base, filled, option_variables, options, places
from .process import Ended, end_marked, run, shell_line
from .transcript import Transcripts


class HookRunner:
    """Runs the hook commands of one folder. What they leave running ends with the plugin."""

    def __init__(self, ctx: PluginContext, user_config: Json) -> None:
        self._ctx = ctx
        self._user_config = user_config
        self._mark = secrets.token_hex(8)
        self._has_run = False
        self._transcripts = Transcripts(ctx)
        self._audit = Audit(ctx.home, ctx.name, ctx.clock)

    async def run(self, hook: HookCommand, told: Mapping[str, Json]) -> Ended | None:
        """Tell a hook of an event; None for one that did not come to its end, which is logged."""
        conversation, folder = str(told["session_id"]), Path(told["cwd"])
        given = await options(self._ctx, self._user_config)
        known = places(self._ctx, folder, conversation)
        environment = {**base(os.environ), **hook.environment, **option_variables(given), **known, MARK: self._mark}
        transcript = str(await self._transcripts.of(conversation, folder))
        told = {**{name: value for name, value in told.items() if name != "atlas"}, "transcript_path": transcript}
        self._has_run = True
        outcome = "stopped"
        try:
            ended = await run(
                _command(hook, known, given),
                stdin=json.dumps(told, ensure_ascii=False, default=str, separators=(",", ":")),
                folder=folder if await anyio.Path(folder).is_dir() else self._ctx.folder,
                environment=environment,
                timeout_seconds=hook.timeout_seconds,
            )
            outcome = "too slow" if ended.code is None else f"exit code {ended.code}"
        except (OSError, ValueError) as error:
            outcome = "not started"
            self.log(hook, f"it could not be started: {error}")
            return None
        finally:
            self._audit.note("hook", f"{hook.at}: {hook.command}", outcome, conversation=conversation)
        if ended.code is None:
            self.log(hook, f"it took over {hook.timeout_seconds:g} seconds and was ended")
            return None
        return ended

    def log(self, hook: HookCommand, why: str) -> None:
        """Say in the log that a hook failed; what it stood around went on."""
        self._ctx.logger.warning("A hook failed and was passed over", extra={"hook": hook.at, "why": why})

    async def close(self) -> None:
        """End what hooks left running, and take their transcripts away."""
        if self._has_run:
            await end_marked(self._mark)
        self._transcripts.close()


def _command(hook: HookCommand, known: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    if hook.args is None:
        # Where a path needs no quoting it is put in, since a line may quote it singly; else the shell looks it up.
        plain = {name: path for name, path in known.items() if all(sign.isalnum() or sign in "/._-:" for sign in path)}
        return shell_line(filled(hook.command, plain), hook.shell)
    values = {**known, **{f"user_config.{key}": value for key, value in given.items()}}
    return [filled(hook.command, values), *(filled(word, values) for word in hook.args)]
