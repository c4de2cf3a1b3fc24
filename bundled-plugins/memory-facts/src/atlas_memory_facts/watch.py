"""Watches turns end and has the reviewer look, on a task of its own: no turn and no answer waits for it."""

from __future__ import annotations

from datetime import timedelta

import anyio

from atlas_sdk.errors import AtlasError
from atlas_sdk.events import MessageAdded, NumberedEvent, TurnEnded
from atlas_sdk.in_process import ONE_COMMAND
from atlas_sdk.records import Conversation
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.store import STORE

from .review import Reviewer
from .settings import FactsSettings
from .system import Facts
from .waiting import lately

PAUSE_SECONDS = 5.0
"""The answer goes out to its chat meanwhile, and a program that asks one thing is gone: it pays for no review."""
READY_SECONDS, READY_POLL_SECONDS = 30.0, 0.1
"""A home that opens has its models a moment later; without any, a review would fail."""
TAKEN_UP_DAYS, MOST_TAKEN_UP = 7, 20
"""What a server takes up at its start: a week's words, and not a call of a model for each chat of an old home."""


class Watch:
    """An observer, and the task that reviews what it saw. One of a conversation waits at most once."""

    def __init__(self, system: Facts) -> None:
        self._system = system
        self._reviewer = Reviewer(system)
        self._waiting: dict[str, None] = {}
        self._wake = anyio.Event()
        self.looked = 0
        """How often a conversation was looked at, due or not."""

    async def observe(self, event: NumberedEvent) -> None:
        """Note a turn that is done, and what was said aloud."""
        told = event.event
        done = isinstance(told, TurnEnded) and told.turn.state == "done"
        spoken = isinstance(told, MessageAdded) and told.message.kind == "voice_turn"
        if (done or spoken) and told.conversation is not None and self._system.in_use:
            self._waiting[told.conversation] = None
            self._wake.set()

    async def run(self) -> None:
        """Look at the conversations whose turns ended, for as long as the plugin is on."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            await anyio.sleep(PAUSE_SECONDS)
            while self._waiting:
                id = next(iter(self._waiting))
                del self._waiting[id]
                await self._look(id)
                self.looked += 1

    async def take_up(self) -> None:
        """Look at what was said before this server began: the last one, or a command, may have ended too soon to.

        One command ends too soon, too.
        """
        if ONE_COMMAND.get() or not self._system.in_use or not self._system.ctx.section(FactsSettings).is_on:
            return
        services, since = self._system.ctx.services, self._system.ctx.clock.now() - timedelta(days=TAKEN_UP_DAYS)
        try:
            with anyio.move_on_after(READY_SECONDS):
                while not services.need(MODELS).providers:  # noqa: ASYNC110  # a start says nothing of it
                    await anyio.sleep(READY_POLL_SECONDS)
            found = await services.need(STORE).read(lambda view: lately(view, since=since, most=MOST_TAKEN_UP))
        except AtlasError as error:
            self._system.ctx.logger.warning("Waiting memory reviews were not taken up", extra={"why": str(error)})
            return
        for one in found:
            self._waiting.setdefault(one.id)
        if found:
            self._wake.set()

    async def _look(self, id: str) -> None:
        try:
            conversation = await self._system.ctx.services.need(STORE).get(Conversation, id)
            if conversation is not None:
                await self._reviewer.review(conversation)
        except AtlasError as error:
            # The store itself refused; a task that ended with it would turn the plugin off.
            self._system.ctx.logger.warning("A memory review failed", extra={"conversation": id, "why": str(error)})
