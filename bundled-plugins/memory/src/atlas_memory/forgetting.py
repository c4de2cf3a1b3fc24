"""Forgetting: every place is asked; what is erased leaves no copy, and the same source does not teach it again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from atlas_sdk.errors import MisuseError, NotFoundError
from atlas_sdk.memory import Forgetter, Known, MemorySystem, Trace
from atlas_sdk.messages import Frozen
from atlas_sdk.phrase import SHORTEST, Phrase
from atlas_sdk.plain_text import counted
from atlas_sdk.records import Conversation
from atlas_sdk.services.home import HOME
from atlas_sdk.services.store import STORE, Reading, Transaction
from atlas_sdk.spelling import weight
from atlas_sdk.whole_file import write_whole

from . import receipts, underway
from .files import UnreadableError, cannot_write, leftovers, read_text
from .looking import in_files, in_tables, said_in
from .places import every_place
from .redaction import Conversations, Instructions

if TYPE_CHECKING:
    from .slot import Slot

_ID = re.compile(r"(?:note|fact)-[0-9a-z]+|[0-9a-f]{8}-[0-9a-f-]+")
"""What an id of something known looks like, or its beginning: nobody has such a word forgotten that stands nowhere."""


class Found(Frozen):
    """A place and what it holds of a text. ``by_hand`` says that it is the user's own file, which is left alone.

    ``stays`` says why nothing erases it there, and the way out. ``whole`` says that ``text`` is all of an entry, and
    that all of it goes.
    """

    place: str
    id: str
    where: str
    text: str
    asked: bool = False
    by_hand: bool = False
    stays: str = ""
    whole: bool = False

    def goes(self, *, conversations: bool) -> bool:
        """Whether it is erased."""
        return not self.by_hand and not self.stays and (conversations or not self.asked)


class Forgot(Frozen):
    """What was found where, and what was done about it."""

    text: str
    erased: tuple[Found, ...]
    left: tuple[Found, ...]


async def find(slot: Slot, text: str) -> tuple[str, tuple[Found, ...]]:
    """Return the text itself, where an id was given, and every place that holds it."""
    text, found = await _asked(slot, text)
    return text, (*found, *await _looked(slot, Phrase(text), _owned(_places(slot))))


async def _asked(slot: Slot, text: str, *, again: bool = False) -> tuple[str, tuple[Found, ...]]:
    """Ask the memory systems, then every place that was added; ``again`` where it was found and may be gone."""
    known = [(system, one) for system in slot.systems() for one in await system.known()]
    named = next((one for _, one in known if one.id == text), None)
    text = named.text if named is not None else text
    if weight(text) < SHORTEST:
        hint = f"Give at least {SHORTEST} letters, of Chinese, Japanese or Korean 2."
        raise MisuseError(f"{text!r} is too short to look for.", hint=hint)
    phrase = Phrase(text)
    found = [_of(system, one) for system, one in known if phrase.is_in(one.text)]
    for forgetter in _forgetters(slot):
        found += [
            Found(place=forgetter.name, id=one.id, where=one.where, text=one.text, asked=one.asked, stays=one.stays)
            for one in await forgetter.find(text)
        ]
    if said := await anyio.to_thread.run_sync(said_in, slot.soul.file, phrase):
        found.append(Found(place="soul", id="soul", where="SOUL.md", text=said, by_hand=True))
    if not found and not again and _ID.fullmatch(text):
        begin = sum(one.id.startswith(text) for _, one in known)
        ids = counted(begin, "id begins so", "ids begin so") if begin else "no id begins so"
        raise NotFoundError(
            f"Nothing that is known has the id {text!r}, {ids}, and it stands nowhere as a text.",
            hint="Give a whole id: atlas memory list shows them.",
        )
    found += [
        Found(place=slot.notes.name, id=name, where=name, text="", by_hand=True, stays=f"It may hold it. {why}")
        for name, why in (await slot.notes.unread()).items()
    ]
    return phrase.text, tuple(found)


async def _looked(slot: Slot, phrase: Phrase, owns: Sequence[str]) -> list[Found]:
    """Look through all that is owned by nobody."""
    left = await slot.services.need(STORE).read(lambda reading: in_tables(reading, phrase, owns))
    left += await anyio.to_thread.run_sync(in_files, slot.ctx.home, phrase, owns)
    return [
        Found(
            place="elsewhere",
            id=one.id,
            where=one.where,
            text=one.text,
            by_hand=one.id.startswith("path:"),
            stays=one.stays,
        )
        for one in left
    ]


async def forget(slot: Slot, text: str, *, conversations: bool) -> Forgot:
    """Erase a text from every place, conversations only when asked, and keep that it is not to be learned again."""
    text, found = await _asked(slot, text)
    erased = [one for one in found if one.goes(conversations=conversations)]
    left = [one for one in found if not one.goes(conversations=conversations)]
    entries = [one for system in slot.systems() for one in await system.known() if Phrase(text).is_in(one.text)]
    # First, so that a crash in the middle leaves nothing that a review could teach again.
    said_in = await _said_in(slot, entries, found)
    told = await underway.told(slot, [one.id for one in found if one.place == Instructions.name])
    now = slot.ctx.clock.now()
    forgotten = (Phrase(text), now, conversations)
    slot.forgotten.append(forgotten)
    await slot.sources.put(said_in, now, told=told)
    await slot.tombstones.put([text, *(one.text for one in entries)], said_in, now)
    await _erase(slot, text, erased)
    opened = {*told, *await underway.holding(slot, _of_conversations(erased))}
    await underway.reread(slot, opened)
    # What was being written meanwhile is stored when it ends, and a copy of it is redacted then.
    unsettled = await underway.settled(slot, sorted(opened)) if conversations else ()
    # Once more: what follows the messages, as an index does, may have taken in again what was not redacted yet.
    there = (await _asked(slot, text, again=True))[1]
    again = [one for one in there if one.goes(conversations=conversations)]
    # What was to stay may have gone, as a copy that nobody can read does with an entry.
    stays = {(one.place, one.id) for one in there}
    left = [one for one in left if (one.place, one.id) in stays]
    left += [await _unsettled(slot, id) for id in unsettled]
    await _erase(slot, text, again)
    opened |= {*await underway.holding(slot, _of_conversations(again))}
    await underway.reread(slot, opened)
    slot.forgotten[slot.forgotten.index(forgotten)] = (forgotten[0], slot.ctx.clock.now(), conversations)
    await receipts.drop(slot.services.need(STORE), [slot.digest(one) for one in {text, *(one.text for one in entries)}])
    await _forget_carried(slot)
    await slot.services.need(STORE).scrub()
    # Who said to have erased all is looked at like everybody else: what is there still is named.
    named = {one.place for one in left}
    asked = {one.place for one in left if one.asked and not one.stays}
    owns = [
        pattern
        for one in _places(slot)
        for pattern in _owned([one])
        if one.name in (asked if "/" in pattern else named)
    ]
    wheres = {one.where for one in left}
    left += [one for one in await _looked(slot, Phrase(text), owns) if one.where not in wheres]
    return Forgot(text=text, erased=tuple(erased), left=tuple(left))


async def _erase(slot: Slot, text: str, found: Sequence[Found]) -> None:
    for system in slot.systems():
        ids = [one.id for one in found if one.place == system.name]
        if ids:
            await system.drop(ids)
    for forgetter in _forgetters(slot):
        traces = [
            Trace(id=one.id, where=one.where, text=one.text, asked=one.asked)
            for one in found
            if one.place == forgetter.name
        ]
        if traces:
            await forgetter.erase(text, traces)


async def _forget_carried(slot: Slot) -> None:
    """Drop what is kept of things that were carried and are known no more: an id is made of a text."""
    known = {system.name: [one.id for one in await system.known()] for system in slot.systems()}

    def work(transaction: Transaction) -> None:
        for system, ids in known.items():
            transaction.run(
                "DELETE FROM memory_carried WHERE system = :system "
                "AND known NOT IN (SELECT value FROM json_each(:ids))",
                system=system,
                ids=json.dumps(ids),
            )

    await slot.services.need(STORE).write(work)


def _of_conversations(found: Iterable[Found]) -> list[str]:
    """Return the traces of what conversations hold, with titles and summaries, which others look after."""
    kinds = {"titles": "conversation:", "summaries": "message:", Conversations.name: ""}
    return [kinds[one.place] + one.id for one in found if one.place in kinds]


async def _unsettled(slot: Slot, id: str) -> Found:
    return Found(
        place=Conversations.name,
        id=f"running:{id}",
        where=f"conversation {await underway.title(slot, id)}, the answer under way",
        text="",
        by_hand=True,
        stays="It was still being written, and may hold it. Wait for its end or stop it, then forget it once more.",
    )


def _places(slot: Slot) -> list[Forgetter | MemorySystem]:
    return [*slot.systems(), *_forgetters(slot)]


def _owned(places: Iterable[Forgetter | MemorySystem]) -> list[str]:
    return [pattern for one in places for pattern in getattr(one, "owns", ())]


def _forgetters(slot: Slot) -> Sequence[Forgetter]:
    home = slot.services.get(HOME)
    return [one.item for one in home.added("atlas_forgetters")] if home is not None else []


def _of(system: MemorySystem, known: Known) -> Found:
    whose = "your profile" if known.about == "user" else f"notes of {known.agent or 'main'}"
    return Found(place=system.name, id=known.id, where=f"{system.name}, {whose}", text=known.text, whole=True)


async def _said_in(slot: Slot, entries: Sequence[Known], found: Sequence[Found]) -> list[str]:
    """Return the conversations in which it had been said or saved."""
    digests = {slot.digest(one.text) for one in entries}
    ids = {one.conversation for one in entries if one.conversation}
    messages = [one.id.partition(":")[2] for one in found if one.id.startswith("message:")]

    def work(reading: Reading) -> set[str]:
        rows = reading.rows("SELECT conversation, digest FROM memory_receipt WHERE conversation != ''")
        said = {str(row["conversation"]) for row in rows if row["digest"] in digests}
        for id in messages:
            said |= {
                str(row["conversation"]) for row in reading.rows("SELECT conversation FROM message WHERE id = :i", i=id)
            }
        return said

    said = ids | await slot.services.need(STORE).read(work)
    conversations = [await slot.services.need(STORE).get(Conversation, id) for id in sorted(said)]
    # A review works in a copy, and what it learned had been said in the conversation it copied.
    copied = {one.parent for one in conversations if one is not None and one.origin.kind == "review" and one.parent}
    return sorted(said | copied)


class SetAside:
    """Copies of memory files that were set aside, and proposals: what the notes keep beside their entries."""

    name = "copies and proposals"
    owns = ("memory_proposals", "memory/*.bak.*", "bots/*/MEMORY.md.bak.*")

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    async def find(self, text: str) -> tuple[Trace, ...]:
        phrase = Phrase(text)
        held = await anyio.to_thread.run_sync(self._copies, phrase)
        for one in await self._slot.proposals.list():
            said = " ".join(f"{change.leaves} {change.text}" for change in one.changes)
            if phrase.is_in(said):
                held.append(
                    Trace(id=f"proposal:{one.id}", where=f"a proposal for {one.file}", text=" ".join(said.split()))
                )
        return tuple(held)

    def _copies(self, phrase: Phrase) -> list[Trace]:
        found = []
        for place in every_place(self._slot.ctx.home):
            file = place.file(self._slot.ctx.home)
            for copy in leftovers(file):
                try:
                    text = read_text(copy) or ""
                except UnreadableError as error:
                    text = said_in(copy, phrase)
                    if text:
                        where = copy.relative_to(self._slot.ctx.home).as_posix()
                        found.append(Trace(id=where, where=where, text=text, stays=f"{error} Delete it yourself."))
                    continue
                if phrase.is_in(text):
                    where = copy.relative_to(self._slot.ctx.home).as_posix()
                    found.append(Trace(id=where, where=where, text=phrase.shown(text)))
        return found

    async def erase(self, text: str, traces: Sequence[Trace]) -> None:
        phrase = Phrase(text)
        for trace in traces:
            if trace.id.startswith("proposal:"):
                await self._slot.proposals.discard(trace.id.removeprefix("proposal:"))
            else:
                await anyio.to_thread.run_sync(self._clean, trace.id, phrase)

    def _clean(self, name: str, phrase: Phrase) -> None:
        file = self._slot.ctx.home / name
        try:
            text = read_text(file)
            if text is not None:
                write_whole(file, phrase.without(text))
        except OSError as error:
            raise cannot_write(file, error) from error
