"""Running an author's ``register(ctx)``, and giving what it registered as hooks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.to_thread

from .author_context import AuthorContext, CliEntry, Registrations
from .context import PluginContext
from .errors import AtlasError, MisuseError
from .hook_events import EventHooks
from .hookspecs import hookimpl
from .loading import in_one_process
from .manifest import Manifest

REGISTER_SECONDS = 10.0
"""How long ``register`` may take. It only registers, which takes no time."""
_STOP_SECONDS = 2.0


class Registered:
    """A plugin that was registered by ``register(ctx)``: its hooks return what that registered.

    It has no hook for a kind of which nothing was registered: each is one more that is looked at whenever Atlas starts.
    """

    def __init__(self, ctx: PluginContext, what: Registrations) -> None:
        self.what = what
        given: dict[str, Sequence[object]] = {
            "atlas_tools": what.tools,
            "atlas_channels": what.channels,
            "atlas_executors": what.executors,
            "atlas_readers": what.readers,
            "atlas_hooks": [EventHooks(ctx, what.hooks)] if what.hooks else [],
            "atlas_commands": what.commands,
            "atlas_calls": what.calls,
        }
        for hook, items in given.items():
            if items:
                setattr(self, hook, hookimpl(_giving(items)))

    @property
    def cli(self) -> tuple[CliEntry, ...]:
        """The terminal commands, which no hook asks for."""
        return tuple(self.what.cli)


def _giving(items: Sequence[object]) -> Callable[[], list[object]]:
    return lambda: list(items)


async def run_register(module: object, ctx: PluginContext, manifest: Manifest) -> object:
    """Call ``module.register(ctx)`` and return an object whose hooks give what it registered.

    It runs in a worker thread that is abandoned after ten seconds. What it was to stop is stopped when it
    fails. A module with ``hookimpl`` functions and no ``register`` is returned as it is. Raises AtlasError with
    the reason: an undeclared name, a broken schema, what ``register`` itself raised, or that it took too long.
    """
    register = getattr(module, "register", None)
    own = [name for name, member in inspect.getmembers(module) if getattr(member, "atlas_impl", None) is not None]
    if register is None and own:
        return module
    if own:
        raise MisuseError(
            f"The plugin {manifest.name} has register(ctx) and the hook {own[0]}.",
            hint="Use one of them: register(ctx) for a folder, hooks for a package.",
        )
    author = AuthorContext(ctx, manifest)
    try:
        if register is not None:
            await _called(register, author, manifest.name)
    except BaseException:
        author.close()
        await _stopped(author)
        raise
    author.close()
    for stop in author.registered.stops:
        ctx.on_unload(stop)
    return Registered(ctx, author.registered)


async def _called(register: Any, author: AuthorContext, name: str) -> None:
    if inspect.iscoroutinefunction(register):
        raise MisuseError(
            f"register(ctx) of {name} is async.", hint="Make it a plain function; what it registers may be async."
        )

    def call() -> None:
        try:
            with in_one_process():
                register(author)
        except AtlasError:
            raise
        except SystemExit as error:  # it would end Atlas
            raise MisuseError(f"register(ctx) of {name} left the program ({error}).") from error
        except BaseException as error:  # so would any other; nothing that is cancelled is in this thread
            said = f"{type(error).__name__}: {error}".rstrip(": ")
            raise AtlasError(f"register(ctx) of {name} raised {said}.{_where(error)}", code="register") from error

    with anyio.move_on_after(REGISTER_SECONDS):
        # A limiter of its own: one that hangs is not to take a thread from everybody else.
        await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1))
        return
    raise MisuseError(
        f"register(ctx) of {name} took over {REGISTER_SECONDS:.0f} seconds.",
        hint="It only registers: begin the work when a tool is called.",
    )


async def _stopped(author: AuthorContext) -> None:
    """Run what a registration that failed was to stop; what fails of it is logged."""
    with anyio.move_on_after(_STOP_SECONDS, shield=True):
        for stop in reversed(author.registered.stops):
            try:
                result = stop()
                if inspect.isawaitable(result):
                    await result
            except Exception as error:  # noqa: BLE001  # the reason it failed is what counts; the other stops still run
                author.logger.error("Stopping failed: %s", error)


def _where(error: BaseException) -> str:
    """Return the file and line of the author's code that raised."""
    trace = error.__traceback__
    last = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename != __file__:
            last = trace
        trace = trace.tb_next
    return f" ({last.tb_frame.f_code.co_filename.rpartition('/')[2]}, line {last.tb_lineno})" if last else ""
