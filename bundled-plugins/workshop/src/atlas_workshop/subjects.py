"""What a plugin registers, each with the promises of its contract that it is held against."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from atlas_sdk.testing.examples import Examples
    from atlas_sdk.testing.folder_plugin import FolderPlugin

Promise: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Subject:
    """One thing a plugin registers. ``lacks`` says why there are no promises to hold it against."""

    of: str
    name: str
    promises: tuple[Promise, ...] = ()
    lacks: str = ""


def subjects(plugin: FolderPlugin, examples: Examples) -> Iterator[Subject]:
    """Yield what a plugin registered that has a conformance suite."""
    from atlas_sdk.testing.conformance import check_channel, check_executor, check_tool

    what = plugin.registered
    for tool in what.tools:
        arguments = examples.of("tools", tool.name)
        if arguments is None and tool.parameters.get("required"):
            yield _lacking("tool", tool.name)
        else:
            yield _held("tool", tool.name, check_tool, tool, arguments or {}, make_host=examples.host)
    for channel in what.channels:
        ends = examples.of("channels", channel.name)
        if ends is None:
            yield _lacking("channel", channel.name)
        else:
            yield _held("channel", channel.name, check_channel, channel.again, **ends)
    for executor in what.executors:
        prompts = examples.of("executors", executor.name)
        if prompts is None:
            yield _lacking("executor", executor.name)
        else:
            yield _held("executor", executor.name, check_executor, executor.again, **prompts)
    for reader in what.readers:
        make = examples.of("readers", reader.kind)
        yield _lacking("reader", reader.kind) if make is None else _reading(reader, make)


def _held(of: str, name: str, suite: Any, *arguments: Any, **named: Any) -> Subject:
    def bound(promise: Any) -> Promise:
        return lambda: promise(*arguments, **named)

    return Subject(of, name, tuple(bound(promise) for promise in suite.promises))


def _reading(reader: Any, make: Callable[[Path], tuple[Path, str]]) -> Subject:
    from atlas_sdk.testing.conformance import check_reader

    def bound(promise: Any) -> Promise:
        async def check() -> None:
            with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
                path, media_type = make(Path(folder))
                await promise(reader, path, media_type)

        return check

    return Subject("reader", reader.kind, tuple(bound(promise) for promise in check_reader.promises))


def _lacking(of: str, name: str) -> Subject:
    from atlas_sdk.testing.examples import EXAMPLES

    return Subject(of, name, lacks=f"{EXAMPLES.as_posix()} has no example of it: add {name!r} to `{of}s` there.")
