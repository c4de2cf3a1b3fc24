"""The slot: which memory system is in use, its books, and what must be asked before something is learned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError
from atlas_sdk.events import Noticed
from atlas_sdk.guests import guest_spoke, guests_first
from atlas_sdk.memory import Known, MemorySystem, NotTaken, Receipt
from atlas_sdk.messages import Message, TextPart
from atlas_sdk.phrase import Phrase
from atlas_sdk.records import Conversation
from atlas_sdk.services import ServiceKey, Services
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.home import HOME
from atlas_sdk.services.memory import Switched
from atlas_sdk.services.store import STORE
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.whole_file import write_whole

from . import receipts
from .key import Key
from .notes import Notes
from .proposals import Proposals
from .settings import MemorySettings
from .soul import Soul
from .sources import Sources
from .standing import ACKNOWLEDGE, acknowledge, standing
from .tombstones import Tombstones

FORGOTTEN = (
    "The user had this forgotten, and it is not learned again from where it was said. Leave it, unless they say it "
    "anew."
)
SOURCE = "Something of this conversation was forgotten, and this was not said in it since."

LATER_TRIES, LATER_SECONDS = 50, 0.2
"""How long a start waits for the plugin of another system to come on."""


class Slot:
    """The memory of a home. What the kernel and other plugins reach as ``MEMORY``."""

    def __init__(self, ctx: PluginContext) -> None:
        self.ctx = ctx
        self.services: Services = ctx.services
        self._key = Key(lambda: ctx.data_folder)
        self.notes = Notes(ctx.home, self, ctx.clock, ctx.logger)
        self.proposals = Proposals(ctx.services, self.notes, ctx.clock)
        self.tombstones = Tombstones(ctx.services, self._key)
        self.sources = Sources(ctx.services)
        self.soul = Soul(ctx.home, lambda: ctx.data_folder, ctx.logger)
        self.differences: tuple[str, ...] = ()
        """What the self-check of this start found."""
        self.edited = False
        """Whether an edit by hand is among it, which the owner may acknowledge."""
        self.untold = False
        """Whether no conversation was told of it yet."""
        self.began = datetime.min.replace(tzinfo=UTC)
        """When this Atlas started: what an earlier one left open is under way no more."""
        self.forgotten: list[tuple[Phrase, datetime, bool]] = []
        """What was forgotten since this start, when, and whether in conversations, too. It is kept nowhere else."""

    @property
    def system(self) -> str:
        return self.ctx.section(MemorySettings).system

    @property
    def review_tools(self) -> tuple[str, ...]:
        found = self.in_use()
        return found.tools if found is not None else ()

    def systems(self) -> tuple[MemorySystem, ...]:
        """Return every memory system there is, by name."""
        home = self.services.get(HOME)
        found = [one.item for one in home.added("atlas_memories")] if home is not None else [self.notes]
        return tuple(sorted(found, key=lambda one: one.name))

    @property
    def plugin(self) -> str:
        """The plugin that brings the system in use."""
        home = self.services.get(HOME)
        found = home.added("atlas_memories") if home is not None else ()
        return next((one.plugin for one in found if one.name == self.system), self.ctx.name)

    def write_tools(self) -> frozenset[str]:
        """Return the tools that write the memory in use."""
        home = self.services.get(HOME)
        manifests = home.manifests() if home is not None else ()
        tools = self.services.get(TOOLS)
        named = {name for one in manifests if one.name == self.plugin for name in one.tools}
        found = {name: tools.find(name) for name in named} if tools is not None else {}
        return frozenset(name for name, tool in found.items() if tool is not None and not tool.read_only)

    def in_use(self) -> MemorySystem | None:
        """Return the system in use, or None where no plugin that is on brings it."""
        return next((one for one in self.systems() if one.name == self.system), None)

    async def known(self) -> tuple[Known, ...]:
        found = self.in_use()
        return await found.known() if found is not None else ()

    async def take(self, known: Sequence[Known]) -> tuple[NotTaken, ...]:
        found = self.in_use()
        if found is None:
            raise MisuseError(
                f"Nothing brings the memory system {self.system!r}.", hint="atlas doctor says which there are."
            )
        return await found.take(known)

    async def unread(self, system: str) -> tuple[str, ...]:
        """Return which files of a memory system cannot be read at the moment, in sentences."""
        return tuple((await self.notes.unread()).values()) if system == self.notes.name else ()

    async def guidance(self, conversation: Conversation) -> str:
        """Return how the agent of a conversation keeps its memory."""
        found = self.in_use()
        return await found.guidance(conversation) if found is not None else ""

    async def snapshot(self, conversation: Conversation) -> str:
        """Return what the agent of a conversation is told it knows."""
        found = self.in_use()
        return await found.snapshot(conversation) if found is not None else ""

    async def book(self, receipts_: Sequence[Receipt]) -> None:
        await receipts.book(self.services.need(STORE), receipts_)

    def digest(self, text: str) -> str:
        return self._key.digest(text, of="receipt\n")

    async def guests_read(self, conversation: Conversation) -> bool:
        return await self.services.need(STORE).read(lambda reading: guest_spoke(reading, conversation))

    async def guests_first(self, conversation: Conversation) -> str | None:
        """Return the id of the message with which a guest came into a conversation, or None where none did."""
        return await self.services.need(STORE).read(lambda reading: guests_first(reading, conversation))

    def owners_tools(self) -> frozenset[str]:
        """Return the tools that tell of the owner: those of every memory system, and those that run commands."""
        home, tools = self.services.get(HOME), self.services.get(TOOLS)
        if home is None:
            return frozenset()
        plugins = {one.plugin for one in home.added("atlas_memories")}
        found = {name: one.name for one in home.manifests() for name in one.tools}
        runs = {name for name in found if tools is not None and (tool := tools.find(name)) and tool.command}
        return frozenset(runs | {name for name, plugin in found.items() if plugin in plugins})

    async def may_learn(self, text: str, *, conversation: str, review: bool) -> str:
        forgotten = await self.tombstones.matches(text, ("",) if review else (conversation,))
        if not forgotten:
            return ""
        conversations = self.services.get(CONVERSATIONS)
        path = await conversations.path(conversation) if conversations is not None else ()
        anew = [owned(message) for message in path if message.created_at > max(forgotten.values())]
        again = await self.tombstones.matches("\n".join(anew), ("",))
        return "" if forgotten.keys() <= again.keys() else FORGOTTEN

    async def may_learn_from(self, text: str, messages: Sequence[Message]) -> str:
        return SOURCE if await self.sources.teaches(text, messages) else ""

    async def use(self, system: str) -> Switched:
        from .switch import switch

        return await switch(self, system)

    async def acknowledge(self) -> tuple[str, ...]:
        """Take the memory in use as it is now, whoever changed it; return what is said of it no more."""
        found = self.in_use()
        return await acknowledge(self, found) if found is not None else ()

    # --- the start ----------------------------------------------------------------------------

    async def start(self) -> None:
        """Write the soul of a new home, and compare what was acknowledged with what is there."""
        self.began = self.ctx.clock.now()
        await anyio.to_thread.run_sync(self.soul.start)
        if self.system == self.notes.name:
            await self._compare(self.notes)

    async def compare_later(self) -> None:
        """Compare what another system acknowledged with what is there, once its plugin is on."""
        for _ in range(LATER_TRIES):
            found = self.in_use()
            if found is self.notes:
                return
            if found is not None:
                await self._compare(found)
                return
            await anyio.sleep(LATER_SECONDS)

    async def _compare(self, found: MemorySystem) -> None:
        store = self.services.need(STORE)
        now = await standing(self, found)
        self.differences, self.edited = now.said, bool(now.edited)
        for said in self.differences:
            self.ctx.logger.warning("Memory differs from what was acknowledged", extra={"said": said})
        told = self.ctx.data_folder / "differences-told"
        text = "\n".join(self.differences)
        before = await anyio.to_thread.run_sync(_read, told)
        if text != before:
            # Doctor says it for as long as it is so; the user is told of it once.
            await store.commit([], [Noticed(text=said) for said in self._notices()])
            await anyio.to_thread.run_sync(write_whole, told, text)
        self.untold = bool(text) and text != await anyio.to_thread.run_sync(_read, self._heard)

    async def tell_differences(self, conversation: str, missing: Sequence[str]) -> None:
        """Say in a conversation what the self-check found, once: who talks there sees no notice of the home's.

        ``missing`` are entries that are gone. They stand in the conversation alone, where ``forget`` finds them.
        """
        self.untold = False
        text = "\n".join(self.differences)
        notices = [Noticed(conversation=conversation, text=said) for said in self._notices(missing)]
        await self.services.need(STORE).commit([], notices)
        await anyio.to_thread.run_sync(write_whole, self._heard, text)

    def _notices(self, missing: Sequence[str] = ()) -> list[str]:
        """Return the sentences, the last of which, of an edit, ends with the way out."""
        if not self.differences:
            return []
        *before, last = self.differences
        gone = [f"Gone: {', '.join(missing)}"] if missing else []
        return [*before, " ".join([last, *gone, *([ACKNOWLEDGE] if self.edited else [])])]

    @property
    def _heard(self) -> Path:
        return self.ctx.data_folder / "differences-heard"


def owned(message: Message) -> str:
    """Return what the owner typed in a message, without what a guest said or what was read."""
    typed = [part for part in message.parts if isinstance(part, TextPart) and part.trust == "owner" and not part.source]
    return " ".join(part.text for part in typed) if message.sender.kind == "person" else ""


def _read(file: Path) -> str:
    return file.read_text() if file.exists() else ""


SLOT: ServiceKey[Slot] = ServiceKey("memory", 1)
"""The slot as this plugin's own hooks reach it: the object behind ``MEMORY``."""
