"""The channel: carries text, files, questions and presses between Atlas and the rooms of one Matrix account."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio

from atlas.plugins.sdk import ChannelHost, Inbound, InboundFile, Prompt

from .client import Client, MatrixError
from .events import Said, choice, inviter, reaction, said, since_invited
from .state import Asked, State
from .writing import MARKS, message, pieces, question, replacing

LONGEST_WAIT_SECONDS = 60.0
TYPING_SECONDS = 30.0
"""How long a homeserver shows that somebody types; it is said again before that."""
FILE_BYTES = 50_000_000
REFUSED = (
    "The homeserver {host} refused the access token. Log the account in again for a new one, "
    "store it with: atlas secrets set MATRIX_ACCESS_TOKEN, then turn the plugin off and on."
)
ENCRYPTED = (
    "This room is encrypted, and I can neither read nor write in it. "
    "Make a room with encryption off, and invite me there."
)
UNREAD = "(A file that did not arrive: {name}: {why}.)"
FOLDERS = {"image": "m.image", "audio": "m.audio", "video": "m.video"}


class MatrixChannel:
    """One account. ``people`` are those of the settings; who else is let in is Atlas's to say."""

    def __init__(self, client: Client, state: State, *, people: frozenset[str], logger: logging.Logger) -> None:
        self.client = client
        self.state = state
        self.me = ""
        self._people = people
        self._logger = logger
        self.typing_seconds = TYPING_SECONDS
        self._signing_in = anyio.Lock()
        self._members: dict[str, dict[str, str]] = {}
        self._encrypted: dict[str, bool] = {}
        self._told: set[str] = set()
        self._busy: set[str] = set()
        self._somebody_waits = anyio.Event()

    # --- receiving ----------------------------------------------------------------------------

    async def run(self, host: ChannelHost) -> None:
        """Receive until cancelled, or until the homeserver refuses the account."""
        why = self.client.lacks()
        if not why:
            async with self.client.open(), anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_typing)
                why = await self._receive(host)
                tasks.cancel_scope.cancel()
        host.failed(why)

    async def _receive(self, host: ChannelHost) -> str:
        """Sync without end, waiting longer after each failure. Return why it cannot go on."""
        wait = self.client.first_wait_seconds
        while True:
            try:
                await self._sign_in()
                since = self.state.since
                await self._take(host, await self.client.sync(since), is_first=not since)
            except MatrixError as error:
                if error.refuses_token:
                    return REFUSED.format(host=self.client.homeserver)
                if not self.me and not error.passes:
                    return f"No account could be used at {self.client.homeserver}: {error}. Is that its address?"
                if error.status == 400 and self.state.since:
                    self._logger.error("The homeserver does not know where Atlas had read to; it goes on from here.")
                    self.state.kept.since = ""
                self._logger.warning("The homeserver is tried again in %.0f seconds: %s", wait, error)
                await anyio.sleep(min(max(error.wait_seconds, wait), LONGEST_WAIT_SECONDS))
                wait = min(wait * 2, LONGEST_WAIT_SECONDS)
            else:
                wait = self.client.first_wait_seconds

    async def _sign_in(self) -> None:
        """Learn which account this is: nothing is read or written before, since what is remembered is of one."""
        async with self._signing_in:
            if not self.me:
                me = await self.client.who_am_i()
                self.state.belongs_to(f"{me} {self.client.homeserver}")
                self.me = me

    async def _take(self, host: ChannelHost, batch: Mapping[str, Any], *, is_first: bool) -> None:
        """Hand over all of a sync, then note that it was. The first one tells what was before Atlas came."""
        rooms = batch.get("rooms") or {}
        for room, found in (rooms.get("join") or {}).items():
            timeline = found.get("timeline") or {}
            events = list(timeline.get("events") or [])
            # A room that Atlas has just come into has its whole past left out, and none of that is for it.
            if timeline.get("limited") and not is_first and len(since_invited(events, self.me)) == len(events):
                events = await self._left_out(room, timeline.get("prev_batch", "")) + events
            self._learn(room, [*((found.get("state") or {}).get("events") or []), *events])
            if self._encrypted.get(room) and not is_first:
                await self._tell_encrypted(room)
            for event in since_invited(events, self.me) if not is_first else []:
                await self._event(host, room, event)
        kept = self.state.kept
        for room, found in (rooms.get("invite") or {}).items():
            kept.invitations[room] = inviter((found.get("invite_state") or {}).get("events"), self.me)
        for room in rooms.get("leave") or {}:
            kept.invitations.pop(room, None)
            self._members.pop(room, None)
        kept.since, kept.taken = str(batch.get("next_batch") or kept.since), []
        if rooms or is_first:
            self.state.write()
        await self._accept_invitations()

    async def _left_out(self, room: str, start: str) -> list[dict[str, Any]]:
        try:
            return await self.client.before(room, start, self.state.since)
        except MatrixError as error:
            if error.passes or error.refuses_token:
                raise
            self._logger.error("What was written in a room meanwhile cannot be read: %s", error)
            return []

    def _learn(self, room: str, events: list[dict[str, Any]]) -> None:
        for event in events:
            if event.get("type") == "m.room.member":
                self._members.pop(room, None)
            elif event.get("type") in ("m.room.encryption", "m.room.encrypted"):
                self._encrypted[room] = True

    async def _event(self, host: ChannelHost, room: str, event: Mapping[str, Any]) -> None:
        id, sender = str(event.get("event_id", "")), str(event.get("sender", ""))
        if not id or not sender or sender == self.me or id in self.state.kept.taken:
            return
        to, key = reaction(event)
        found = said(event)
        if to:
            await self._press(host, room, self.state.asked(room, event=to), key, sender)
        elif found is not None:
            asked = self.state.asked(room, event=found.answers) if found.answers else None
            if not await self._press(host, room, asked, found.text, sender):
                await host.receive(await self._inbound(room, id, sender, found))
        else:
            return
        self.state.kept.taken.append(id)
        self.state.write()

    async def _press(self, host: ChannelHost, room: str, asked: Asked | None, words: str, user: str) -> bool:
        """Answer a question by a reaction or a reply; say whether that was one and answered it."""
        index = choice(words, asked.choices) if asked is not None else None
        if asked is None or index is None:
            return False
        shown = await host.choose(asked.prompt, index, user)
        if shown is None:
            return False
        self._let_in(user)
        try:
            await self.settle(room, asked.prompt, shown)
        except MatrixError as error:
            self._logger.warning("A question that was answered still stands: %s", error)
        return True

    async def _inbound(self, room: str, id: str, user: str, found: Said) -> Inbound:
        members = await self._in_room(room)
        text, files = found.text, []
        if found.name:
            try:
                files.append(InboundFile(found.name, await self._download(found)))
            except MatrixError as error:
                text = f"{text}\n\n{UNREAD.format(name=found.name, why=str(error).rstrip('.'))}".strip()
        # A room whose members nobody tells may be read by many: strangers get no code there.
        group = len(members) != 2 if members else True
        return Inbound(room, user, members.get(user, user), text, tuple(files), id, group)

    async def _download(self, found: Said) -> bytes:
        if found.size > FILE_BYTES:
            raise MatrixError(f"it is over {FILE_BYTES // 1_000_000} MB", status=413)
        try:
            return await self.client.download(found.file, FILE_BYTES)
        except MatrixError as error:
            if not error.passes:
                raise
        await anyio.sleep(self.client.first_wait_seconds)
        return await self.client.download(found.file, FILE_BYTES)

    async def _in_room(self, room: str) -> dict[str, str]:
        if room not in self._members:
            try:
                self._members[room] = await self.client.members(room)
            except MatrixError as error:
                if error.passes or error.refuses_token:
                    raise
                return {}
        return self._members[room]

    # --- rooms --------------------------------------------------------------------------------

    def _let_in(self, user: str) -> None:
        """Remember that Atlas takes somebody's word: their invitations are accepted from here on."""
        if user not in self.state.kept.let_in:
            self.state.kept.let_in.append(user)
            self.state.write()

    async def _accept_invitations(self) -> None:
        kept = self.state.kept
        for room, by in list(kept.invitations.items()):
            if by not in self._people and by not in kept.let_in:
                continue
            try:
                await self.client.join(room)
            except MatrixError as error:
                if error.passes or error.refuses_token:
                    raise
                self._logger.warning("An invitation of %s could not be accepted: %s", by, error)
            kept.invitations.pop(room, None)
            self.state.write()

    async def _tell_encrypted(self, room: str) -> None:
        """Say once in a room why nothing is answered there. This alone is sent to it in the clear."""
        if room in self._told:
            return
        self._told.add(room)
        try:
            await self.client.send(room, "m.room.message", message(ENCRYPTED), _key("encrypted", room))
        except MatrixError as error:
            self._logger.warning("A room is encrypted, and that could not be said there: %s", error)

    async def _writable(self, room: str) -> None:
        """Raise MatrixError for a room that expects its messages encrypted."""
        await self._sign_in()
        if room not in self._encrypted:
            self._encrypted[room] = await self.client.is_encrypted(room)
        if self._encrypted[room]:
            raise MatrixError("The room is encrypted, and this channel writes only in rooms that are not", status=403)

    # --- sending ------------------------------------------------------------------------------

    async def send(self, chat: str, text: str) -> None:
        """Send Markdown to a room."""
        await self.send_once(chat, text, uuid4().hex)

    async def send_once(self, chat: str, text: str, key: str) -> None:
        """Send Markdown under a key: each piece is a transaction that the homeserver knows again."""
        await self._writable(chat)
        for number, piece in enumerate(pieces(text)):
            await self.client.send(chat, "m.room.message", message(piece), _key("text", chat, key, str(number)))

    async def send_file(self, chat: str, path: Path, media_type: str) -> None:
        """Send a file to a room."""
        await self._writable(chat)
        data = await anyio.Path(path).read_bytes()
        content = {
            "msgtype": FOLDERS.get(media_type.partition("/")[0], "m.file"),
            "body": path.name,
            "filename": path.name,
            "url": await self.client.upload(path.name, data, media_type),
            "info": {"mimetype": media_type or "application/octet-stream", "size": len(data)},
            "m.mentions": {},
        }
        await self.client.send(chat, "m.room.message", content, uuid4().hex)

    async def ask(self, chat: str, prompt: Prompt) -> None:
        """Show a question with its choices numbered, and reactions to press."""
        await self._writable(chat)
        choices = list(prompt.choices)
        key = _key("ask", chat, prompt.id)
        event = await self.client.send(chat, "m.room.message", question(prompt.text, choices), key)
        kept = self.state.kept
        kept.asked = [one for one in kept.asked if (one.room, one.prompt) != (chat, prompt.id)]
        kept.asked.append(Asked(chat, prompt.id, event, prompt.text, choices))
        self.state.write()
        for number, mark in enumerate(MARKS[: len(choices)]):
            about = {"m.relates_to": {"rel_type": "m.annotation", "event_id": event, "key": mark}}
            try:
                await self.client.send(chat, "m.reaction", about, _key("mark", key, str(number)))
            except MatrixError as error:
                self._logger.warning("A question has no buttons, and its numbers are written: %s", error)
                return

    async def settle(self, chat: str, prompt: str, said: str) -> None:
        """Put what came of a question in its choices' place. One that does not stand is none of ours."""
        asked = self.state.asked(chat, prompt=prompt)
        if asked is None:
            return
        await self._writable(chat)
        text = f"{asked.text}\n\n**{said}**"
        await self.client.send(chat, "m.room.message", replacing(asked.event, text), _key("settle", chat, prompt))
        self.state.kept.asked = [one for one in self.state.kept.asked if one is not asked]
        self.state.write()

    async def working(self, chat: str, busy: bool) -> None:
        """Show that Atlas types, for as long as it works."""
        if busy:
            self._busy.add(chat)
            self._somebody_waits.set()
        else:
            self._busy.discard(chat)
        try:
            await self._sign_in()
            if busy:
                # Atlas works for those it has let in alone, and in a room of two there is one it can be.
                others = [user for user in await self._in_room(chat) if user != self.me]
                if len(others) == 1:
                    self._let_in(others[0])
            await self.client.typing(chat, self.me, self.typing_seconds if busy else 0)
        except MatrixError as error:
            self._logger.debug("Typing was not shown: %s", error)

    async def _keep_typing(self) -> None:
        """Say again that Atlas types, before the homeserver takes it back."""
        while True:
            if not self._busy:
                self._somebody_waits = anyio.Event()
                await self._somebody_waits.wait()
            await anyio.sleep(self.typing_seconds * 2 / 3)
            for chat in list(self._busy):
                await self.working(chat, True)


def _key(*parts: str) -> str:
    """Return the transaction of a thing that is sent once: the same for the same parts, also after a restart."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]
