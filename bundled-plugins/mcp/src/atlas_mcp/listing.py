"""What a server offers: its tools and prompts, as it last listed them, kept so that nothing is started for it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

if TYPE_CHECKING:
    from mcp.client import Client

MOST_PAGES = 100
MOST_TOOLS = 2_000
"""A server that lists more has a paginator that never ends, or floods every search."""


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ListedTool(_Kept):
    """A tool as its server describes it."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)
    read_only: bool = False


class ListedArgument(_Kept):
    """An argument of a prompt."""

    name: str
    required: bool = False


class ListedPrompt(_Kept):
    """A prompt as its server describes it."""

    name: str
    description: str = ""
    arguments: tuple[ListedArgument, ...] = ()


class Listing(_Kept):
    """What one server offers. ``digest`` is that of the configuration it was asked with."""

    server: str
    digest: str
    tools: tuple[ListedTool, ...] = ()
    prompts: tuple[ListedPrompt, ...] = ()
    has_resources: bool = False


async def ask(client: Client, *, server: str, digest: str) -> Listing:
    """Ask a server what it offers."""
    able = client.server_capabilities
    tools: list[ListedTool] = []
    prompts: list[ListedPrompt] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES if able.tools else 0):
        page = await client.list_tools(cursor=cursor, cache_mode="refresh")
        for tool in page.tools:
            if tool.execution is not None and tool.execution.task_support == "required":
                continue  # it runs only as a task of the protocol, which the SDK does not speak (mcp 2.3)
            hints = tool.annotations
            title = tool.title or (hints.title if hints else None) or ""
            tools.append(
                ListedTool(
                    name=tool.name,
                    description=tool.description or title,
                    parameters=tool.input_schema,
                    read_only=hints is not None and hints.read_only_hint is True,
                )
            )
        cursor = page.next_cursor
        if not cursor or len(tools) >= MOST_TOOLS:
            break
    cursor = None
    for _ in range(MOST_PAGES if able.prompts else 0):
        found = await client.list_prompts(cursor=cursor, cache_mode="refresh")
        for prompt in found.prompts:
            wanted = [ListedArgument(name=one.name, required=bool(one.required)) for one in prompt.arguments or []]
            said = prompt.description or prompt.title or ""
            prompts.append(ListedPrompt(name=prompt.name, description=said, arguments=tuple(wanted)))
        cursor = found.next_cursor
        if not cursor:
            break
    return Listing(
        server=server,
        digest=digest,
        tools=tuple(tools[:MOST_TOOLS]),
        prompts=tuple(prompts),
        has_resources=able.resources is not None,
    )


class Shelf:
    """The listings on disk, one file a server in the plugin's data folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> Mapping[str, Listing]:
        """Return every listing by its server. One that cannot be read is as good as none: it is made anew."""
        found: dict[str, Listing] = {}
        for file in sorted(self._folder.glob("*.json")):
            try:
                listing = Listing.model_validate_json(file.read_bytes())
            except (OSError, ValidationError):
                continue
            found[listing.server] = listing
        return found

    def write(self, listing: Listing) -> None:
        """Keep a listing, whole or not at all."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._file(listing.server)
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(listing.model_dump(mode="json"), ensure_ascii=False), encoding="utf-8")
        os.replace(fresh, file)  # noqa: PTH105  # the same, and says what it does

    def _file(self, server: str) -> Path:
        return self._folder / f"{hashlib.sha256(server.encode()).hexdigest()[:16]}.json"
