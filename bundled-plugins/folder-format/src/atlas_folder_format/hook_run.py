"""One run of a hook command: what it is told, and the process that is told it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.audit import Audit
from atlas_sdk.context import PluginContext
from atlas_sdk.folder_hooks import HookCommand
from atlas_sdk.process_trees import Mark, end_marked
from atlas_sdk.values import Json

from .environment import base, filled, new_mark, option_variables, options, places
from .process import Ended, run, shell_line
from .transcript import Transcripts

Later = Callable[..., None]
"""Has work done that nothing waits for."""


class HookRunner:
    """Runs the hook commands of one folder.

    What a hook leaves running has as long as the hook had, which is enough for a sound or a message. What made a
    session of its own is meant to stay, and ends with the plugin.
    """

    def __init__(self, ctx: PluginContext, user_config: Json, later: Later) -> None:
        self._ctx = ctx
        self._user_config = user_config
        self._later = later
        self._left: set[Mark] = set()
        self._first: Mark | None = None
        self._transcripts = Transcripts(ctx)
        self._audit = Audit(ctx.home, ctx.name, ctx.clock)

    async def run(self, hook: HookCommand, told: Mapping[str, Json]) -> Ended | None:
        """Tell a hook of an event; None for one that did not come to its end, which is logged."""
        conversation, folder = str(told["session_id"]), Path(told["cwd"])
        given = await options(self._ctx, self._user_config)
        known = places(self._ctx, folder, conversation)
        environment = {**base(os.environ), **hook.environment, **option_variables(given), **known}
        transcript = str(await self._transcripts.of(conversation, folder))
        told = {**{name: value for name, value in told.items() if name != "atlas"}, "transcript_path": transcript}
        outcome, mark = "stopped", new_mark()
        self._first = self._first or mark
        try:
            ended = await run(
                _command(hook, known, given),
                mark=mark,
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
        self._left.add(mark)
        self._later(self._end_rest, mark, ended.session, hook.timeout_seconds)  # to look takes milliseconds
        return ended

    async def _end_rest(self, mark: Mark, session: int, seconds: float) -> None:
        """Give what a hook left in its session as long as the hook had, and forget a mark that nobody carries."""
        if await anyio.to_thread.run_sync(mark.left):
            await anyio.sleep(seconds)
            await end_marked(mark, session=session)
        if not await anyio.to_thread.run_sync(mark.left):
            self._left.discard(mark)

    def log(self, hook: HookCommand, why: str) -> None:
        """Say in the log that a hook failed; what it stood around went on."""
        self._ctx.logger.warning("A hook failed and was passed over", extra={"hook": hook.at, "why": why})

    async def close(self) -> None:
        """End what hooks left running, and take their transcripts away.

        Also who took off the mark it was born with: it may be of any tree that was there before it, and none of the
        plugin's was before the first.
        """
        async with anyio.create_task_group() as group:
            for mark in {*self._left, *([self._first] if self._first else [])}:
                group.start_soon(end_marked, mark)
        self._left.clear()
        self._first = None
        self._transcripts.close()


def _command(hook: HookCommand, known: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    if hook.args is None:
        # Where a path needs no quoting it is put in, since a line may quote it singly; else the shell looks it up.
        plain = {name: path for name, path in known.items() if all(sign.isalnum() or sign in "/._-:" for sign in path)}
        return shell_line(filled(hook.command, plain), hook.shell)
    values = {**known, **{f"user_config.{key}": value for key, value in given.items()}}
    return [filled(hook.command, values), *(filled(word, values) for word in hook.args)]
