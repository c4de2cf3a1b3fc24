"""A plugin's ``register`` that is run as Atlas runs it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from atlas_sdk.manifest import CliCommand, Manifest
from atlas_sdk.register import Registered, run_register
from atlas_sdk.testing.fakes import FakeContext

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
MANIFEST = Manifest(
    "greeter",
    tools=("greet", "read_file"),
    channels=("post",),
    executors=("harness",),
    readers=("audio",),
    hooks=("PreToolUse",),
    commands=("status",),
    calls=("renders",),
    cli=(CliCommand("greet-all", "", ""), CliCommand("doctor", "", "")),
    llm=True,
    notify=True,
)


async def hello(arguments: dict[str, Any], host: Any) -> str:
    host.progress("Saying hello")
    return f"Hello, {arguments['name']}!"


async def registered(register: Callable[[Any], Any], ctx: FakeContext, manifest: Manifest = MANIFEST) -> Registered:
    made = await run_register(SimpleNamespace(register=register), ctx, manifest)
    assert isinstance(made, Registered)
    return made
