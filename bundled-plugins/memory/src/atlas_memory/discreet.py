"""Keeps what is the owner's alone out of requests where a guest reads along, from the turn in which one came.

A conversation keeps the instructions it began with, and these may be from before the guest.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio.to_thread

from atlas_sdk.guests import is_guests
from atlas_sdk.hooks import ModelGo, Stage, ToolGo, ToolRequest
from atlas_sdk.memory import DiscreetMemory
from atlas_sdk.messages import Message
from atlas_sdk.providers import Emit, ModelReply, ModelRequest
from atlas_sdk.records import Content
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.tools import ToolError, ToolResult

from .owners_files import names_owners_files
from .slot import Slot
from .told import Told

OWNERS = "Not run: a guest reads along here, and that names files of the owner's memory. Go on without them."
KEPT = 512


class Discreet:
    """An interceptor of requests and calls. It fails closed: where it cannot find out who reads, nothing is sent."""

    stage: Stage = Stage.LAST

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._told = Told(slot.ctx.home)
        self._guests: dict[str, str] = {}
        """Conversations with a guest, for good, and the message with which one came."""
        self._seen: dict[str, None] = {}
        """Those without that were looked through."""
        self._kept: set[str] = set()

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """Send a request, without the owner's memory where a guest spoke."""
        shorter = self._without(request.instructions)
        is_same = shorter == request.instructions and all(one.role != "tool" for one in request.messages)
        first = None if is_same else await self._guests_first(request)
        if first is None:
            return await go(request, emit)
        content = Content.of(shorter)
        if content.id not in self._kept:  # the books name what was sent
            await self._slot.services.need(STORE).commit([content])
            self._kept.add(content.id)
        messages = await self._untold(request, first)
        return await go(replace(request, instructions=shorter, messages=messages), emit)

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        """Run a call, unless it names the files of the owner's memory where a guest reads what comes of it."""
        conversation = request.conversation
        if request.tool.name in self._slot.write_tools() or not await anyio.to_thread.run_sync(
            partial(
                names_owners_files, request.arguments, home=self._slot.ctx.home, folder=Path(conversation.folder or "/")
            )
        ):
            return await go(request)
        if await self._slot.guests_read(conversation):
            raise ToolError(OWNERS)
        return await go(request)

    def _without(self, instructions: str) -> str:
        # Of every system: the conversation may have begun with one that was in use before.
        for system in self._slot.systems():
            if isinstance(system, DiscreetMemory):
                instructions = system.for_guests(instructions)
        return instructions

    async def _untold(self, request: ModelRequest, first: str) -> tuple[Message, ...]:
        folder = ""
        if request.conversation is not None:
            folder = (await self._slot.services.need(CONVERSATIONS).get(request.conversation)).folder
        work = partial(
            self._told.without,
            request.messages,
            before=first,
            tells=self._slot.owners_tools().__contains__,
            folder=Path(folder or "/"),
        )
        return await anyio.to_thread.run_sync(work)

    async def _guests_first(self, request: ModelRequest) -> str | None:
        """Return the message with which a guest came to where a request is from, or None."""
        id = request.conversation
        found = min((one.id for one in request.messages if is_guests(one)), default=None)
        if id is None:
            return found
        if id in self._guests:
            return self._guests[id]
        if found is None and id in self._seen:
            return None
        conversation = await self._slot.services.need(CONVERSATIONS).get(id)
        first = await self._slot.guests_first(conversation) or found
        if first is not None:
            self._guests[id] = first
        elif conversation.cause is None and conversation.parent is None:
            # Once looked through, a conversation gets a guest by a message of its own; one that works for another may
            # get one there. To look through a long chat takes a moment, and is not done at every request.
            self._seen[id] = None
            for old in list(self._seen)[:-KEPT]:
                del self._seen[old]
        return first
