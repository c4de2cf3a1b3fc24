"""The bill of a conversation's first request: the bytes of each block of instructions and of each tool."""

from __future__ import annotations

import inspect
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
from bench_figure import Bench, Figure
from bench_home import Home

from atlas_kernel.app import open_app
from atlas_sdk import homes
from atlas_sdk.instructions import DEFAULT_SOUL, IDENTITY, RULES
from atlas_sdk.services.conversations import ConversationDraft
from atlas_sdk.testing.model_server import ModelServer, Obedient

LIMIT_BYTES = 16_000


def first_request(bench: Bench) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, ModelServer([Obedient()]) as model:
        made = Home(Path(folder), model.url)
        made.command("chat", "-p", "hi")
        raw = model.calls[0].raw
        body = model.calls[0].body
        blocks = anyio.run(_sections, made, backend="trio")
    system = next(one["content"] for one in body["messages"] if one["role"] == "system")
    tools = {one["function"]["name"]: _size(one) for one in body["tools"]}
    known = sum(blocks.values())
    instructions = len(system.encode())
    yield Figure("first request", "bytes", [instructions + sum(tools.values())], target=f"{LIMIT_BYTES:,}")
    yield Figure("  instructions", "bytes", [instructions])
    for name, size in sorted(blocks.items(), key=lambda item: -item[1]):
        yield Figure(f"    {name}", "bytes", [size])
    yield Figure("    between them", "bytes", [instructions - known])
    yield Figure("  tools", "bytes", [sum(tools.values())])
    for name, size in sorted(tools.items(), key=lambda item: -item[1]):
        yield Figure(f"    {name}", "bytes", [size])
    yield Figure("  all of it as sent, with the message", "bytes", [len(raw)])


def _size(tool: Any) -> int:
    return len(json.dumps(tool, ensure_ascii=False, separators=(",", ":")).encode())


async def _sections(made: Home) -> dict[str, int]:
    blocks = {"identity and rules (sdk)": len(f"{DEFAULT_SOUL}\n\n{RULES}".encode())}
    async with open_app(homes.Home(made.folder, "default"), environ=dict(os.environ)) as app:
        conversation = await app.conversations.create(ConversationDraft(folder=str(made.work)))
        for plugin, section in app.generations.current.sections:
            text = section.text(conversation)
            said = await text if inspect.isawaitable(text) else text
            size = len(str(said).strip().encode())
            if section.name == IDENTITY and size:
                blocks["identity and rules (sdk)"] = size + len(f"\n\n{RULES}".encode())
            else:
                blocks[f"{section.name} ({plugin})"] = size
    return blocks


ROWS = (first_request,)
