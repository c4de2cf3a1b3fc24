"""What a running channel may call: a message is kept before it is acknowledged, and a press is taken once."""

from __future__ import annotations

import mimetypes
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from atlas_sdk.channels import Inbound, InboundFile
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, StorageError
from atlas_sdk.guests import is_guests
from atlas_sdk.ids import new_id
from atlas_sdk.messages import FilePart, ImagePart, Message, Part, Sender, TextPart, Trust
from atlas_sdk.records import Origin, Turn
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationChange, ConversationDraft
from atlas_sdk.services.pairing import PairedPerson
from atlas_sdk.services.store import STORE

from .chats import Chats
from .foreign import attempt, sentence
from .outbox import Item, Outbox
from .pairing import Pairing
from .prompts import Prompts

RETRY_SECONDS = 60.0
"""How long is waited at most before a message that the disk did not take is tried again."""
WELCOME = "Hello{name}. Write as you would in the app, or send a file.\n\n"
HELLO = (
    f"{WELCOME}`/new` starts a new conversation from your next message.\n`/stop` stops the answer that is being made."
)
HELLO_GUEST = f"{WELCOME}`/stop` stops the answer that is being made to you."
NEW = "Your next message starts a new conversation."
IDLE = "Nothing is running."
ONLY_OWNER = "Only the owner may do that."
LOST = "Atlas could not take your last message: {why}"
TYPES = {
    ".ogg": "audio/ogg", ".oga": "audio/ogg", ".opus": "audio/ogg", ".m4a": "audio/mp4", ".mp3": "audio/mpeg",
    ".wav": "audio/wav", ".weba": "audio/webm", ".webp": "image/webp", ".heic": "image/heic", ".md": "text/markdown",
}  # fmt: skip
"""What chats send and the system's own table often does not know."""


class Host:
    """The ChannelHost of one channel that runs."""

    def __init__(
        self,
        ctx: PluginContext,
        channel: str,
        *,
        pairing: Pairing,
        chats: Chats,
        prompts: Prompts,
        outbox: Outbox,
        wake: Callable[[str], None],
    ) -> None:
        self._ctx = ctx
        self._channel = channel
        self._pairing = pairing
        self._chats = chats
        self._prompts = prompts
        self._outbox = outbox
        self._wake = wake
        self._turns: dict[str, tuple[anyio.Lock, int]] = {}
        self.reason = ""

    async def receive(self, message: Inbound) -> None:
        """Take a message. It returns once the message is on disk, waiting as long as a full disk takes.

        One that cannot be taken for another reason is said to the chat and let go: it must not keep those behind
        it for ever.
        """
        if not message.chat or not message.user:
            self._ctx.logger.warning("A message without a chat or a person was left out", extra=self._extra)
            return
        wait = 1.0
        while True:
            async with self._in_order(message.chat):
                error = await attempt(self._take, message)
            if not isinstance(error, StorageError):
                break
            self._ctx.logger.error("A message waits for the disk: %s", sentence(error), extra=self._extra)
            await anyio.sleep(wait)
            wait = min(wait * 2, RETRY_SECONDS)
        if error is not None:
            bug = None if isinstance(error, AtlasError) else error
            self._ctx.logger.error("A message could not be taken", extra=self._extra, exc_info=bug)
            why = sentence(error) if isinstance(error, AtlasError) else "something went wrong inside it."
            await self._say(message.chat, LOST.format(why=why), f"lost:{self._channel}:{message.chat}:{_id(message)}")

    async def choose(self, prompt: str, index: int, user: str) -> str | None:
        """Take a press."""
        person = await self._pairing.person(self._channel, user)
        if person is None or (person.guest and await self._prompts.is_for_owner(prompt)):
            return None
        return await self._prompts.press(self._channel, prompt, index, f"{person.name}, {self._channel}")

    def failed(self, reason: str) -> None:
        """Keep why the channel is about to end."""
        self.reason = reason

    @property
    def _extra(self) -> dict[str, object]:
        return {"channel": self._channel}

    @asynccontextmanager
    async def _in_order(self, chat: str) -> AsyncIterator[None]:
        """Let one message of a chat in at a time, so that they are kept in the order they came."""
        lock, count = self._turns.get(chat, (anyio.Lock(), 0))
        self._turns[chat] = lock, count + 1
        try:
            async with lock:
                yield
        finally:
            count = self._turns[chat][1] - 1
            if count:
                self._turns[chat] = lock, count
            else:
                del self._turns[chat]

    async def _take(self, message: Inbound) -> None:
        person = await self._pairing.person(self._channel, message.user)
        if person is None:
            if not message.group and (said := await self._pairing.meet(self._channel, message)):
                await self._say(message.chat, said, f"pair:{new_id()}")
            return
        name = person.name
        command, _, rest = message.text.strip().partition(" ")
        match command.partition("@")[0].casefold():
            case "/start":
                hello = HELLO_GUEST if person.guest else HELLO
                await self._command(message, hello.format(name=f", {name}" if name else ""))
            case "/new" if person.guest:  # what everybody in the chat goes on from is the owner's to end
                await self._command(message, ONLY_OWNER)
            case "/new" if not rest.strip() and not message.files:
                await self._command(message, NEW, leave=True)
            case "/new":
                await self._send(message, rest.strip(), person, new=True)
            case "/stop":
                await self._stop(message, person)
            case _:
                await self._words(message, person)

    async def _command(self, message: Inbound, said: str, *, leave: bool = False) -> bool:
        items = [self._item(message.chat, said, f"command:{self._channel}:{message.chat}:{_id(message)}")]
        taken = await self._chats.command(
            self._channel, message.chat, message.user, message.id, items if said else (), leave=leave
        )
        self._wake(self._channel)
        return taken

    async def _stop(self, message: Inbound, person: PairedPerson) -> None:
        chat = await self._chats.get(self._channel, message.chat)
        conversations = self._ctx.services.need(CONVERSATIONS)
        running = await conversations.running(chat.conversation) if chat is not None and chat.conversation else None
        if running is not None and person.guest and not await self._is_of_guest(running):
            await self._command(message, ONLY_OWNER)
            return
        # What a stop did is said when the turn has ended, to whoever sees the chat.
        if await self._command(message, "" if running else IDLE) and running and chat is not None:
            await conversations.stop(chat.conversation)

    async def _is_of_guest(self, turn: Turn) -> bool:
        began = await self._ctx.services.need(STORE).get(Message, turn.cause)
        return began is not None and is_guests(began)

    async def _words(self, message: Inbound, person: PairedPerson) -> None:
        text = message.text.strip()
        chat = await self._chats.get(self._channel, message.chat)
        if chat is not None and text and not message.files and not text.startswith("/"):
            found = await self._prompts.find(self._channel, message.chat, chat.conversation, text)
            if found is not None and not (person.guest and await self._prompts.is_for_owner(found[0].id)):
                question, answer = found
                by = f"{person.name}, {self._channel}"
                if not await self._chats.command(self._channel, message.chat, message.user, message.id):
                    return
                if await self._prompts.answer(question, answer.model_copy(update={"by": by})):
                    return
                # Another answer was first, so this is something said to the agent after all.
                await self._send(message, text, person, retaken=True)
                return
        await self._send(message, text, person)

    async def _send(
        self, message: Inbound, text: str, person: PairedPerson, *, new: bool = False, retaken: bool = False
    ) -> None:
        if not text and not message.files:
            return
        conversation, again = await self._chats.take(
            self._channel, message.chat, message.user, "" if retaken else message.id, new=new
        )
        if again and not conversation:
            return  # it was a command, or the answer to a question
        conversations = self._ctx.services.need(CONVERSATIONS)
        origin = Origin(kind="channel", name=self._channel, chat=message.chat)
        trust: Trust = "guest" if person.guest else "owner"
        draft = ConversationDraft(origin=origin, auto_mode=not person.guest)
        there = await conversations.create(draft, id=conversation)
        if person.guest and there.auto_mode:  # what a guest asks for is looked at first
            await conversations.change(conversation, ConversationChange(auto_mode=False))
        parts: list[Part] = [TextPart(text=text, trust=trust)] if text else []
        parts += [await self._keep(file, trust) for file in message.files]
        sender = Sender(kind="person", id=f"{self._channel}:{message.user}", name=person.name)
        client_id = f"{self._channel}:{message.chat}:{message.id}" if message.id else None
        await conversations.send(conversation, parts, sender=sender, client_id=client_id)

    async def _keep(self, file: InboundFile, trust: Trust) -> Part:
        name = file.name.replace("\\", "/").rpartition("/")[2].strip() or "file"
        kept = await self._ctx.services.need(STORE).keep(file.data, media_type=media_type(name), name=name)
        if kept.media_type.startswith("image/"):
            return ImagePart(attachment=kept.id, media_type=kept.media_type, name=name, trust=trust)
        return FilePart(attachment=kept.id, media_type=kept.media_type, name=name, text=kept.text, trust=trust)

    async def _say(self, chat: str, text: str, source: str) -> None:
        await self._outbox.put([self._item(chat, text, source)])
        self._wake(self._channel)

    def _item(self, chat: str, text: str, source: str) -> Item:
        return Item(self._channel, chat, "text", source, {"text": text})


def media_type(name: str) -> str:
    """Return what kind of file a name says it is."""
    ending = f".{name.rpartition('.')[2].lower()}"
    return TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _id(message: Inbound) -> str:
    return message.id or new_id()
