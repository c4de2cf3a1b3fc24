"""Hooks of a plugin that did not come with Atlas, called where they hold up nobody: in a thread, waited for a little.

A hook is called on the event loop, since what it returns is needed at once. One that sleeps or asks a server would stop
every turn, and every way to turn its plugin off. What is asked for whenever a generation is built is therefore first
asked for by the plugin's own start, which may take seconds; from then on a hook that is slow keeps its last answer.
"""

from __future__ import annotations

import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import anyio
import anyio.to_thread

from .context import PluginContext
from .errors import MisuseError
from .hookspecs import hookimpl
from .services.home import CONSUMED_BY_PLUGINS

FIRST_SECONDS = 5.0
"""For all of a plugin's hooks together while it is turned on: one may import a library for its first answer."""
ONCE_SECONDS = 3.0
"""For a hook that is asked for while the plugin is turned on, or by hand, and that everybody waits for."""
AGAIN_SECONDS = 0.25
"""For a hook that has answered before, each time plugins change."""
_BUILT = (
    *CONSUMED_BY_PLUGINS, "atlas_tools", "atlas_providers", "atlas_methods", "atlas_commands", "atlas_hooks",
    "atlas_instructions",
)  # fmt: skip
"""The hooks that are asked whenever a generation is built."""
_START = "atlas_startup"
Hook = Callable[..., Any]


def apart(module: ModuleType) -> ModuleType:
    """Return a module's hooks as those of another one, each called apart; what is no plain hook stays as it is."""
    made, hooks = ModuleType(module.__name__), HooksApart()
    for attribute, member in inspect.getmembers(module):
        options = getattr(member, "atlas_impl", None)
        if not isinstance(options, dict):
            continue
        name = options.get("specname") or attribute
        if inspect.isfunction(member) and not inspect.iscoroutinefunction(member):
            wrapped = hooks.hook(name, member)
            setattr(made, attribute, hookimpl(**{**options, "specname": name})(_taking_ctx(wrapped)))
        else:
            setattr(made, attribute, member)
    if hooks.are_asked_again and not any(name == _START for name in hooks.names):
        setattr(made, _START, hookimpl(_taking_ctx(lambda ctx: [hooks.first(ctx)])))
    return made


def _taking_ctx(hook: Callable[[PluginContext], Any]) -> Hook:
    def implementation(ctx: PluginContext) -> Any:
        return hook(ctx)

    return implementation


class HooksApart:
    """The hooks of one plugin."""

    def __init__(self) -> None:
        self._its: dict[str, _Call] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The hooks there are."""
        return tuple(self._its)

    @property
    def are_asked_again(self) -> bool:
        """Whether there is one that is asked whenever a generation is built."""
        return any(name in _BUILT for name in self._its)

    def hook(self, name: str, its: Hook) -> Callable[[PluginContext], Any]:
        """Return a hook that is called apart. That of the start adds ``first``."""
        call = self._its[name] = _Call(its)
        if name == _START:
            return lambda ctx: self._started(call.within(ONCE_SECONDS, ctx), ctx)
        return lambda ctx: call.within(AGAIN_SECONDS if name in _BUILT else ONCE_SECONDS, ctx)

    def _started(self, answer: Any, ctx: PluginContext) -> Any:
        return [*answer, self.first(ctx)] if isinstance(answer, list | tuple) else answer

    def first(self, ctx: PluginContext) -> Callable[[], Awaitable[None]]:
        """Return what asks for the first answers of those that are asked again, off the event loop."""

        async def ask() -> None:
            asked = [call for name, call in self._its.items() if name in _BUILT]

            def all_of_them() -> None:
                for call in asked:
                    call.run(ctx)

            with anyio.move_on_after(FIRST_SECONDS):
                # A limiter of its own: one that hangs is not to take a thread from everybody else.
                await anyio.to_thread.run_sync(all_of_them, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
                return
            for call in asked:
                call.give_up(FIRST_SECONDS)

        return ask


class _Call:
    """One hook: its last outcome, and the thread that may still be at it."""

    def __init__(self, its: Hook) -> None:
        self._its = its
        self._wants_ctx = "ctx" in inspect.signature(its).parameters
        self._answer: Any = None
        self._error: BaseException | None = None
        self._has_answered = False
        self._thread: threading.Thread | None = None

    def run(self, ctx: PluginContext) -> None:
        """Call it, and keep what came of it."""
        try:
            answer, error = self._its(ctx) if self._wants_ctx else self._its(), None
        except BaseException as raised:  # noqa: BLE001  # it is raised again where the hook is asked
            answer, error = None, raised
        self._answer, self._error, self._has_answered = answer, error, True

    def give_up(self, seconds: float) -> None:
        """Take it for failed where it did not answer in its time."""
        if not self._has_answered:
            self._answer, self._error, self._has_answered = None, _slow(seconds), True

    def within(self, seconds: float, ctx: PluginContext) -> Any:
        """Call it in a thread and return its answer, or the last one where it takes longer. Raises what it raised."""
        if self._error is None and (self._thread is None or not self._thread.is_alive()):
            run = contextvars.copy_context().run
            self._thread = threading.Thread(target=run, args=(self.run, ctx), name="a hook", daemon=True)
            self._thread.start()
            self._thread.join(seconds)
            if self._thread.is_alive():
                self.give_up(seconds)
        if self._error is not None:
            raise self._error
        return self._answer


def _slow(seconds: float) -> MisuseError:
    return MisuseError(
        f"it took over {seconds:g} seconds.", hint="A hook returns what there is; the work belongs in atlas_background."
    )
