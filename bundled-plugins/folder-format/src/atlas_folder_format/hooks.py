"""The hook commands of a plugin folder, as hooks at the events that the SDK fires."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from atlas_sdk.claude_names import call_fits, claude_names
from atlas_sdk.context import PluginContext
from atlas_sdk.folder_hooks import HookCommand
from atlas_sdk.hook_events import MOST_CHARS, EventHook, EventHooks, read_answer
from atlas_sdk.services.notify import NOTIFY
from atlas_sdk.values import Json

from .answer import BLOCKS, answer_of
from .hook_run import HookRunner, Later

AT_ONCE = 16
"""How many of a plugin's hooks run beside each other: each is a process, and some plugins bring a hundred."""


def hook_commands(ctx: PluginContext, commands: Sequence[HookCommand], user_config: Json, later: Later) -> EventHooks:
    """Return the interceptor that runs a folder's hook commands.

    They fail open: a hook that breaks or takes too long is logged, and what it stood around goes on. Only exit code 2
    and an answer that says so block. ``later`` does what nothing waits for.
    """
    runner = HookRunner(ctx, user_config, later)
    ctx.on_unload(runner.close)
    few = anyio.Semaphore(AT_ONCE)
    return EventHooks(
        ctx,
        [
            # A command's time is its own to say, and begins when its process does.
            EventHook(one.event, _Command(ctx, one, runner, few, later).run, one.matcher, timeout_seconds=None)
            for one in commands
        ],
    )


class _Command:
    """One command. What an answer does is the SDK's to say."""

    def __init__(
        self, ctx: PluginContext, hook: HookCommand, runner: HookRunner, few: anyio.Semaphore, later: Later
    ) -> None:
        self._ctx = ctx
        self._hook = hook
        self._runner = runner
        self._few = few
        self._later = later
        self._ran: set[str] = set()

    async def run(self, told: dict[str, Json]) -> Json:
        """Run it where its ``if`` and its ``once`` let it, and return what it answers."""
        conversation = str(told["session_id"])
        if (self._hook.once and conversation in self._ran) or not self._is_meant(told):
            return None
        if self._hook.once:
            self._ran.add(conversation)
        if self._hook.is_async:
            self._later(self._in_the_background, told)
            return None
        async with self._few:
            return await self._answer(told)

    def _is_meant(self, told: dict[str, Json]) -> bool:
        if not self._hook.condition or "tool_input" not in told:
            return True
        call = told["atlas"]
        names = (*claude_names(call["tool"], call["arguments"]), call["tool"])
        return call_fits(self._hook.condition, names, told["tool_input"])

    async def _answer(self, told: dict[str, Json]) -> Json:
        ended = await self._runner.run(self._hook, told)
        if ended is None:
            return None
        said, wrong = answer_of(self._hook.event, ended)
        if wrong:
            self._runner.log(self._hook, wrong)
        return said

    async def _in_the_background(self, told: dict[str, Json]) -> None:
        ended = await self._runner.run(self._hook, told)
        if ended is None:
            return
        if self._hook.rewakes and ended.code == BLOCKS:
            said = (ended.stderr.strip() or ended.stdout.strip())[:MOST_CHARS]
            text = f"{self._hook.rewake_message}\n{said}".strip()
        else:
            answer = read_answer(self._hook.event, answer_of(self._hook.event, ended)[0])
            text = answer.context or answer.notice
        if text:
            source = f"plugin:{self._ctx.name}"
            await self._ctx.services.need(NOTIFY).notify(str(told["session_id"]), text, source=source)
