"""Keeps what is the owner's alone out of requests where a guest reads along, from the turn in which one came.

A conversation keeps the instructions it began with, and these may be from before the guest.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio.to_thread

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

OWNERS = "Not run: a guest reads along here, and that names files of the owner's memory. Go on without them."
KEPT = 512


class Discreet:
    """An interceptor of requests and calls. It fails closed: where it cannot find out who reads, nothing is sent."""

    stage: Stage = Stage.LAST

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._guests: dict[str, None] = {}
        """Conversations with a guest, for good."""
        self._seen: dict[str, str] = {}
        """Of those without, the last person's message up to which that is known."""
        self._kept: set[str] = set()

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        """Send a request, without the owner's memory where a guest spoke."""
        shorter = self._without(request.instructions)
        if shorter == request.instructions or not await self._has_guest(request):
            return await go(request, emit)
        content = Content.of(shorter)
        if content.id not in self._kept:  # the books name what was sent
            await self._slot.services.need(STORE).commit([content])
            self._kept.add(content.id)
        return await go(replace(request, instructions=shorter), emit)

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

    async def _has_guest(self, request: ModelRequest) -> bool:
        id = request.conversation
        if id is None:
            return any(map(_is_guests, request.messages))
        if id in self._guests:
            return True
        last = next((one.id for one in reversed(request.messages) if one.sender.kind == "person"), "")
        found = any(map(_is_guests, request.messages))
        if not found and self._seen.get(id) != last:
            conversation = await self._slot.services.need(CONVERSATIONS).get(id)
            # Once looked through, a conversation gets a guest by a message of its own; one that works for another may
            # get one there. To look through a long chat takes a moment, and is not done at every turn.
            known = id in self._seen and conversation.cause is None
            found = not known and await self._slot.guests_read(conversation)
        if found:
            self._guests[id] = None
        else:
            self._seen.pop(id, None)
            self._seen[id] = last
            for old in list(self._seen)[:-KEPT]:
                del self._seen[old]
        return found


def _is_guests(message: Message) -> bool:
    return message.role == "user" and any(getattr(part, "trust", "") == "guest" for part in message.parts)
