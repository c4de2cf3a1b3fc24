"""The memory system ``notes``: two small files of entries, read by the agent at the start of every conversation."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from atlas_sdk.context import Clock
from atlas_sdk.errors import StorageError
from atlas_sdk.ids import new_id
from atlas_sdk.memory import Known, NotTaken, Receipt
from atlas_sdk.phrase import evened
from atlas_sdk.records import Conversation
from atlas_sdk.screening import screen
from atlas_sdk.tools import ToolError
from atlas_sdk.whole_file import write_whole

from .entries import Applied, NotKeptError, Operation, apply, cut, normal, parse, render, size
from .files import UnreadableError, cannot_write, leftovers, locked, read_text, read_to_write, set_aside
from .guidance import GUIDANCE
from .places import MAIN, Place, every_place, has_memory, notes_of, place_of
from .places import USER as USER_PLACE
from .receipts import PLACE_CHARS
from .snapshot import block, without_profile

NAME = "notes"


class ElsewhereError(NotKeptError):
    """What would be added is in the other file. What it says is of that file's entries."""


class Books(Protocol):
    """Where receipts go and who reads along, so that this module needs no database."""

    async def book(self, receipts: Sequence[Receipt]) -> None:
        """Keep receipts."""

    def digest(self, text: str) -> str:
        """Return the digest of a text as this home's receipts have it."""

    async def guests_read(self, conversation: Conversation) -> bool:
        """Whether a guest spoke where a conversation is held, so that its answers are not the owner's alone."""


@dataclass(frozen=True)
class Written:
    """What is on disk after a write, as it was read back."""

    entries: tuple[str, ...]
    applied: Applied


class Notes:
    """Reads and writes the files of entries of a home."""

    name = NAME
    tools = ("memory",)
    owns = (USER_PLACE.name, "memory/MEMORY.md", "bots/*/MEMORY.md")

    def __init__(self, home: Path, books: Books, clock: Clock, logger: logging.Logger) -> None:
        self._home = home
        self._books = books
        self._clock = clock
        self._log = logger

    # --- what the model reads -----------------------------------------------------------------

    async def guidance(self, conversation: Conversation) -> str:
        return GUIDANCE if has_memory(conversation) else ""

    async def snapshot(self, conversation: Conversation) -> str:
        if not has_memory(conversation):
            return ""
        profile = None if await self._books.guests_read(conversation) else USER_PLACE
        places = [place for place in (profile, notes_of(conversation.agent)) if place is not None]
        return await anyio.to_thread.run_sync(self._snapshot, places)

    def for_guests(self, instructions: str) -> str:
        return without_profile(instructions)

    def _snapshot(self, places: Sequence[Place]) -> str:
        blocks = []
        for place in places:
            try:
                blocks.append(block(place, self.read(place)))
            except UnreadableError as error:
                self._log.warning("A memory file cannot be read", extra={"file": place.name, "why": str(error)})
                blocks.append(f"[{place.name} exists but cannot be read right now: do not guess what it says.]")
        return "\n\n".join(one for one in blocks if one)

    def read(self, place: Place) -> tuple[str, ...]:
        """Return a file's entries. Raises UnreadableError."""
        return parse(read_text(place.file(self._home)) or "")

    # --- writing ------------------------------------------------------------------------------

    async def write(
        self,
        place: Place,
        operations: Sequence[Operation],
        *,
        conversation: str = "",
        call: str = "",
        agent: str = MAIN,
        still: Callable[[Sequence[str]], None] | None = None,
    ) -> Written:
        """Apply operations to a file, read it back and book that. Raises ToolError or StorageError, nothing written.

        ``agent`` is whose: what its notes hold does not go to the profile, too, and the other way round.
        ``still`` looks at the entries inside the lock and may refuse. A write that began is finished.
        """
        with anyio.CancelScope(shield=True):
            written = await anyio.to_thread.run_sync(self._write, place, operations, still, agent)
            if written.applied.changes:
                try:
                    await self._books.book(self._receipts(place, written.applied, conversation, call))
                except StorageError as error:
                    raise StorageError(
                        f"{place.name} holds the change, but its receipt could not be kept: {error.message}",
                        hint="Do not repeat it; tell the user.",
                        code="memory_no_receipt",
                    ) from error
        return written

    def check(self, place: Place, operations: Sequence[Operation]) -> Applied:
        """Apply operations to a copy of what is on disk, as a write would."""
        file = place.file(self._home)
        text = read_to_write(file) or ""
        entries = parse(text)
        self._guard(place, file, text, entries, operations)
        applied = apply(entries, operations, self._limit(place, entries), file=place.name)
        self._only_here(place, applied.added, MAIN)
        return applied

    def _write(
        self, place: Place, operations: Sequence[Operation], still: Callable[[Sequence[str]], None] | None, agent: str
    ) -> Written:
        file = place.file(self._home)
        with locked(file):
            text = read_to_write(file) or ""
            entries = parse(text)
            if still is not None:
                still(entries)
            self._guard(place, file, text, entries, operations)
            applied = apply(entries, operations, self._limit(place, entries), file=place.name)
            if not applied.changes:
                return Written(entries, applied)
            self._only_here(place, applied.added, agent)
            self._put(file, applied.entries)
            there = parse(read_text(file) or "")
        if there != applied.entries:
            raise StorageError(f"{file} does not hold what was written: another program writes it, too.")
        return Written(there, applied)

    def _put(self, file: Path, entries: Sequence[str]) -> None:
        """Replace a file; the caller holds its lock, so a half-written copy beside it is a crash's."""
        try:
            for half in leftovers(file):
                if half.name.endswith(".new"):
                    half.unlink(missing_ok=True)
            write_whole(file, render(entries))
        except OSError as error:
            raise cannot_write(file, error) from error

    def _guard(
        self, place: Place, file: Path, text: str, entries: Sequence[str], operations: Sequence[Operation]
    ) -> None:
        """Set aside a file to which text was added without § lines, which no replace may then cut up."""
        longest = max((len(entry) for entry in entries), default=0)
        if longest <= place.limit or all(one.action == "add" for one in operations):
            return
        try:
            copy = set_aside(file, text, self._clock.now()).name
        except OSError as error:
            raise cannot_write(file, error) from error
        raise NotKeptError(
            f"Refusing to write {file.name}: it holds an entry larger than the whole store's char limit "
            f"({longest:,} of {place.limit:,}), as when text was added without § lines. A copy is at {copy}. "
            f"Tell the user to split the text in {file} into entries separated by lines of only §, or to move it "
            "out. Only add works until then.",
            why=f"{place.name} holds an entry larger than the whole file may be: text was added without § lines.",
            way=f"Split the text in {file} into entries separated by lines of only §; a copy is at {copy}",
        )

    def _only_here(self, place: Place, added: Sequence[str], agent: str) -> None:
        """Refuse what the file that is read with this one holds already: twice, only one would be kept right."""
        for text in added:
            if other := self._elsewhere(place, text, agent):
                raise ElsewhereError(
                    f"Nothing was saved: {other.name} holds {cut(text)!r} already, and a fact is kept in one file. "
                    f"To move it, remove it there first (target {'user' if other.about == 'user' else 'memory'}).",
                    why=f"{other.name} holds {cut(text)!r} already, and a fact is kept in one file.",
                    way=f"Take it out of {other.name}",
                )

    def _elsewhere(self, place: Place, text: str, agent: str) -> Place | None:
        """Return the file that an agent reads beside a place, where it holds the same text."""
        other = notes_of(agent) if place.about == "user" else USER_PLACE
        same = evened(text)
        return other if other is not None and any(evened(one) == same for one in self._readable(other)) else None

    def _limit(self, place: Place, entries: Sequence[str]) -> int:
        """An entry that is larger than a whole file was put there by hand, and takes no room from what is added."""
        large = [entry for entry in entries if len(entry) > place.limit]
        return place.limit + (size(large) + 3 if large else 0)

    def _receipts(self, place: Place, applied: Applied, conversation: str, call: str) -> list[Receipt]:
        now = self._clock.now()
        gone = [one.text for one in applied.overwritten if one.text not in applied.entries]
        return [
            *(self._receipt(place, text, "", conversation, call, now) for text in gone),
            *(self._receipt(place, text, self._books.digest(text), conversation, call, now) for text in applied.added),
        ]

    def _receipt(self, place: Place, text: str, kept: str, conversation: str, call: str, now: datetime) -> Receipt:
        where = f"{place.name}#{self._books.digest(text)[:PLACE_CHARS]}"
        return Receipt(id=new_id(), system=NAME, place=where, digest=kept, conversation=conversation, call=call, at=now)

    # --- as a memory system -------------------------------------------------------------------

    async def known(self) -> tuple[Known, ...]:
        return await anyio.to_thread.run_sync(self._known)

    def _known(self) -> tuple[Known, ...]:
        return tuple(
            Known(id=known_id(place, text), text=text, about=place.about, agent=place.agent, system=NAME)
            for place in every_place(self._home)
            for text in self._readable(place)
        )

    def _readable(self, place: Place) -> tuple[str, ...]:
        """Return a file's entries, none where it cannot be read: ``unread`` names it, and it stops no other."""
        try:
            return self.read(place)
        except UnreadableError:
            return ()

    async def unread(self) -> dict[str, str]:
        """Return the files that cannot be read at the moment, each with a sentence that says why."""
        return await anyio.to_thread.run_sync(self._unread)

    def _unread(self) -> dict[str, str]:
        found = {}
        for place in every_place(self._home):
            try:
                self.read(place)
            except UnreadableError as error:
                found[place.name] = str(error)
        return found

    async def oversized(self) -> tuple[str, ...]:
        """Return a sentence for each file that was made larger by hand than it may be."""
        return await anyio.to_thread.run_sync(self._oversized)

    def _oversized(self) -> tuple[str, ...]:
        return tuple(
            said for place in every_place(self._home) if (said := _over(place, self._readable(place), self._home))
        )

    async def take(self, known: Sequence[Known]) -> tuple[NotTaken, ...]:
        left: list[NotTaken] = []
        wanted: dict[Place, list[str]] = {}
        for one in known:
            if one.only:
                why = f"Notes are read in every conversation, and this is of {one.only}."
                left.append(NotTaken(known=one, why=why))
                continue
            place = place_of(one.about, one.agent or "main")
            if place is None:
                left.append(NotTaken(known=one, why=f"{one.agent!r} is no name of an agent with notes."))
                continue
            text = normal(one.text)
            refused = self._why_not(place, wanted.setdefault(place, []), text)
            if refused:
                left.append(NotTaken(known=one, why=refused))
            elif refused is not None:
                wanted[place].append(text)
        for place, texts in wanted.items():
            if texts:
                await self.write(place, [Operation("add", text) for text in texts])
        return tuple(left)

    def _why_not(self, place: Place, more: Sequence[str], text: str) -> str | None:
        """Return why a text cannot be kept, nothing where it can, and None where it is there.

        It is there in whatever lines and case: a system that keeps each thing on one line gives it back so.
        """
        try:
            entries = self.read(place)
        except UnreadableError as error:
            return str(error)
        if evened(text) in {evened(one) for one in (*entries, *more)}:
            return None
        if other := self._elsewhere(place, text, MAIN):
            return f"{other.name} holds it already, and a fact is kept in one file."
        if found := screen(text):
            return found.said
        operations = [Operation("add", one) for one in (*more, text)]
        try:
            apply(entries, operations, self._limit(place, entries), file=place.name)
        except ToolError:
            return f"It does not fit into {place.name}, which holds {place.limit:,} characters."
        return ""

    async def drop(self, ids: Sequence[str]) -> None:
        with anyio.CancelScope(shield=True):
            await self._books.book(await anyio.to_thread.run_sync(self._drop, frozenset(ids)))

    def _drop(self, ids: frozenset[str]) -> list[Receipt]:
        receipts: list[Receipt] = []
        for place in every_place(self._home):
            file = place.file(self._home)
            if not any(known_id(place, text) in ids for text in self._readable(place)):
                continue
            with locked(file):
                entries = self.read(place)
                gone = [text for text in entries if known_id(place, text) in ids]
                self._put(file, [text for text in entries if text not in gone])
                for copy in leftovers(file):
                    try:
                        self._clean(copy, gone)
                    except OSError as error:
                        raise cannot_write(copy, error) from error
            now = self._clock.now()
            receipts += [self._receipt(place, text, "", "", "", now) for text in gone]
        return receipts

    def _clean(self, copy: Path, gone: Sequence[str]) -> None:
        """Take texts out of a file that was set aside; one that cannot be read is removed, as it may hold them."""
        try:
            text = read_text(copy) or ""
        except UnreadableError:
            copy.unlink(missing_ok=True)
            return
        cleaned = text
        for one in gone:
            cleaned = cleaned.replace(one, "")
        if cleaned != text:
            write_whole(copy, cleaned)

    async def differences(self, receipts: Sequence[Receipt]) -> tuple[str, ...]:
        return await anyio.to_thread.run_sync(self._differences, receipts)

    def _differences(self, receipts: Sequence[Receipt]) -> tuple[str, ...]:
        found: list[str] = []
        for place in every_place(self._home):
            mine = [one for one in receipts if one.place.partition("#")[0] == place.name]
            try:
                there = {self._books.digest(text) for text in self.read(place)}
            except UnreadableError as error:
                found.append(str(error))
                continue
            missing = [one for one in mine if one.digest and one.digest not in there]
            named = {kept[:PLACE_CHARS] for kept in there}
            back = [one for one in mine if not one.digest and one.place[-PLACE_CHARS:] in named]
            if missing:
                found.append(_differs(place, missing, "saved there", "no longer there"))
            if back:
                found.append(_differs(place, back, "removed from it", "there again"))
        gone = {one.place.partition("#")[0] for one in receipts if one.digest}
        gone -= {place.name for place in every_place(self._home)}
        return (*found, *(f"{name}, to which something was saved, is gone." for name in sorted(gone)))


def known_id(place: Place, text: str) -> str:
    """Return the id of an entry: the same for as long as its words and its file are."""
    return f"note-{hashlib.sha256(f'{place.name}#{text}'.encode()).hexdigest()[:16]}"


def _over(place: Place, entries: Sequence[str], home: Path) -> str:
    longest = max((len(entry) for entry in entries), default=0)
    if longest > place.limit:
        return (
            f"{place.name} holds an entry of {longest:,} characters, and the whole file is for {place.limit:,}: text "
            f"was added without § lines. Until you split it in {place.file(home)}, entries are only added."
        )
    if (taken := size(entries)) > place.limit:
        return (
            f"{place.name} holds {taken:,} characters of {place.limit:,}, so nothing more fits. Shorten it in "
            f"{place.file(home)}, or have the agent do it."
        )
    return ""


def _differs(place: Place, receipts: Sequence[Receipt], done: str, now: str) -> str:
    last = max(one.at for one in receipts)
    what = "1 entry that was" if len(receipts) == 1 else f"{len(receipts)} entries that were"
    verb = "is" if len(receipts) == 1 else "are"
    return f"{place.name} was changed outside Atlas: {what} {done} (last on {last:%Y-%m-%d}) {verb} {now}."
