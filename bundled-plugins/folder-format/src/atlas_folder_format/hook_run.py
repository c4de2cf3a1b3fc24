"""One run of a hook command: what it is told, and the process that is told it."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from atlas_sdk.context import PluginContext
from atlas_sdk.folder_hooks import HookCommand
from atlas_sdk.records import Conversation
from atlas_sdk.values import Json

from .audit import Audit
from .environment import MARK, base, filled, option_variables, options, places
from .process import Ended, end_marked, run, shell_line
from .tool_names import arguments_of_claude
from .transcript import Transcripts


@dataclass(frozen=True)
class Moment:
    """An event in a conversation. ``told`` is what a hook learns of it beside what every hook does.

    ``names`` is what a matcher is held against: a tool's names, Atlas's own the last. ``arguments`` are the call's.
    """

    event: str
    conversation: Conversation
    told: Mapping[str, Json]
    names: tuple[str, ...] = ()
    arguments: Mapping[str, Json] | None = None

    @property
    def folder(self) -> Path:
        """The conversation's folder."""
        return Path(self.conversation.folder).expanduser() if self.conversation.folder else Path.home()


class HookRunner:
    """Runs the hook commands of one folder. What they leave running ends with the plugin."""

    def __init__(self, ctx: PluginContext, user_config: Json) -> None:
        self._ctx = ctx
        self._user_config = user_config
        self._mark = secrets.token_hex(8)
        self._has_run = False
        self._transcripts = Transcripts(ctx)
        self._audit = Audit(ctx.home, ctx.name, ctx.clock)

    async def run(self, hook: HookCommand, moment: Moment, name: str) -> Ended | None:
        """Run a hook whose matcher fitted ``name``; None for one that did not come to its end, which is logged."""
        given = await options(self._ctx, self._user_config)
        known = places(self._ctx, moment.folder, moment.conversation.id)
        environment = {**base(os.environ), **hook.environment, **option_variables(given), **known, MARK: self._mark}
        told = _told(moment, name, await self._transcripts.of(moment.conversation.id))
        self._has_run = True
        outcome = "stopped"
        try:
            ended = await run(
                _command(hook, known, given),
                stdin=json.dumps(told, ensure_ascii=False, default=str, separators=(",", ":")),
                folder=moment.folder if moment.folder.is_dir() else self._ctx.folder,
                environment=environment,
                timeout_seconds=hook.timeout_seconds,
            )
            outcome = "too slow" if ended.code is None else f"exit code {ended.code}"
        except (OSError, ValueError) as error:
            outcome = "not started"
            self.log(hook, f"it could not be started: {error}")
            return None
        finally:
            self._audit.note("hook", f"{hook.at}: {hook.command}", outcome, conversation=moment.conversation.id)
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


def _told(moment: Moment, name: str, transcript: Path) -> dict[str, Json]:
    told: dict[str, Json] = {
        "session_id": moment.conversation.id,
        "transcript_path": str(transcript),
        "cwd": str(moment.folder),
        "permission_mode": "default",
        "hook_event_name": moment.event,
        **moment.told,
    }
    if moment.arguments is not None:
        ours = name == moment.names[-1]
        arguments = dict(moment.arguments) if ours else arguments_of_claude(name, moment.arguments, moment.folder)
        told |= {"tool_name": name, "tool_input": arguments}
    return told


def _command(hook: HookCommand, known: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    if hook.args is None:
        # Where a path needs no quoting it is put in, since a line may quote it singly; else the shell looks it up.
        plain = {name: path for name, path in known.items() if all(sign.isalnum() or sign in "/._-:" for sign in path)}
        return shell_line(filled(hook.command, plain), hook.shell)
    values = {**known, **{f"user_config.{key}": value for key, value in given.items()}}
    return [filled(hook.command, values), *(filled(word, values) for word in hook.args)]
