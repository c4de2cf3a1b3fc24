"""What the person said, word for word: what of it a compacted conversation goes on with.

It is taken from the stored messages each time, never from an earlier summary, so that the tenth compaction is as exact
as the first. What was not typed by the person (results of tools, what guests say) is not here at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from atlas_sdk.messages import Message, TextPart

from .rules import GENERAL, PLAIN, STRONG, WEAK, asks, has_number, is_plain, names_task, rules_in
from .sizes import Sizes

COMMANDS = ("/compact", "/new", "/clear")
"""What is said to Atlas itself and asks nothing of the agent."""
TASK_SHARE = 0.15
"""How much of the room a task may take: the first message may be a document with its task at the top."""
NAMED_TASKS = 3
"""How many messages that name a task are kept beside the first: labelled ones first, and of those the newest."""
INSTRUCTION_SHARE = 0.6
"""How much of the room the last instruction may take: it is worth more than all before it, but not than the rules."""
QUOTED_TASKS = 3
EARLY = 5
"""In so many first messages people mostly say how they want it done, so what reads like a rule there is firm."""

SHORT_CHARS = 200
"""What people say of how they want things is short, and what they paste is long: with room for one, this stays."""

Kind = Literal["task", "rule"]


@dataclass(frozen=True)
class Said:
    """A message of the person: its words and nothing else."""

    id: str
    at: int
    text: str


@dataclass(frozen=True)
class Quote:
    """What the summarising model took for a task or a rule, and says the person wrote."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Kept:
    """A piece of what the person said. ``quoted`` says that a model found it worth keeping, ``firm`` that it is a rule
    for all times by its own words, ``plain`` that it may be one by its form alone."""

    at: int
    start: int
    text: str
    quoted: bool = False
    firm: bool = False
    plain: bool = False


@dataclass(frozen=True)
class Words:
    """What is carried, each in the order it was said. ``left_out`` counts messages there was no room for."""

    tasks: tuple[Kept, ...] = ()
    instruction: tuple[Kept, ...] = ()
    rules: tuple[Kept, ...] = ()
    others: tuple[Kept, ...] = ()
    left_out: int = 0

    def essential(self, sizes: Sizes) -> int:
        """Return what the parts take that have to be there."""
        rules = (one for one in self.rules if one.firm or one.quoted)
        return sum(sizes.text(one.text) + 1 for one in (*self.tasks, *self.instruction, *rules))


def command_of(message: Message) -> str:
    """Return the slash command a message begins with, such as ``/compact``, or nothing."""
    said = next((part.text for part in message.parts if isinstance(part, TextPart) and not part.source), "")
    return said.split(maxsplit=1)[0] if said.startswith("/") else ""


def spoken(messages: Sequence[Message]) -> tuple[Said, ...]:
    """Return what the owner said, in order."""
    found = []
    for at, message in enumerate(messages):
        if message.role == "user" and message.sender.kind == "person":
            texts = [p.text for p in message.parts if isinstance(p, TextPart) and p.trust == "owner" and not p.source]
            text = "\n\n".join(texts).strip()
            if text and command_of(message) not in COMMANDS:
                found.append(Said(message.id, at, text))
    return tuple(found)


def literal(quote: str, said: Sequence[Said]) -> Kept | None:
    """Return the newest place where the person wrote exactly this, spacing aside, or None where nobody did."""
    words = quote.split()
    if not words:
        return None
    wanted = re.compile(r"\s+".join(map(re.escape, words)))
    for one in reversed(said):
        if match := wanted.search(one.text):
            return Kept(one.at, match.start(), match[0], quoted=True)
    return None


def carried(
    said: Sequence[Said], *, tail: Collection[str], quotes: Sequence[Quote], sizes: Sizes, tokens: int
) -> Words:
    """Choose what goes on word for word within so many tokens. Messages of the ``tail`` are read anyway."""
    if not said:
        return Words()
    room = _Room(sizes, tokens)
    older = [one for one in said if one.id not in tail]
    verified = [(quote.kind, literal(quote.text, said)) for quote in quotes]
    found = [(kind, kept) for kind, kept in verified if kept is not None]
    shown = {one.at for one in said} - {one.at for one in older}

    instruction = room.whole([said[-1]] if said[-1] in older else [], share=INSTRUCTION_SHARE)
    shown |= {one.at for one in instruction if one.text == said[-1].text}
    tasks = room.pieces([kept for kind, kept in found if kind == "task" and kept.at not in shown][-QUOTED_TASKS:])
    newest = sorted(older, key=lambda one: (names_task(one.text), one.at), reverse=True)[:NAMED_TASKS]
    wanted = {one.at: one for one in (*older[:1], *newest) if one is older[0] or names_task(one.text)}
    tasks += room.whole([one for at, one in wanted.items() if at not in shown], share=TASK_SHARE)
    told = {one.at for one in tasks}
    rules = room.pieces(one for one in _by_worth(found, older, shown) if not one.plain or one.at not in told)
    shown |= wanted.keys()
    whole = {(one.at, one.text) for one in rules}
    rest = [one for one in reversed(older) if one.at not in shown and (one.at, one.text) not in whole]
    others = room.fitting(sorted(rest, key=lambda one: _late(one.text)))
    left_out = len(rest) - len(others)
    fitted = {one.at for one in others}
    others += [one for one in rules if one.plain and one.at not in fitted]
    rules = [one for one in rules if not one.plain]
    return Words(
        tasks=_ordered(tasks),
        instruction=_ordered(instruction),
        rules=_ordered(rules),
        others=_ordered(others),
        left_out=left_out,
    )


def _by_worth(found: Sequence[tuple[Kind, Kept]], older: Sequence[Said], shown: Collection[int]) -> Iterator[Kept]:
    """Yield what may be a rule, the most certain first, and the newest first among equals."""
    yield from (kept for kind, kept in reversed(found) if kind == "rule" and kept.at not in shown)
    read = [(one.at, rule) for one in reversed(older) if one.at not in shown for rule in reversed(rules_in(one.text))]
    early = {one.at for one in older[:EARLY]}
    firm = [(at, rule) for at, rule in read if rule.strength == STRONG or (at in early and rule.strength != PLAIN)]
    yield from (Kept(at, rule.start, rule.text, firm=True) for at, rule in firm)
    for strength in (GENERAL, PLAIN, WEAK):
        kept = [(at, rule) for at, rule in read if rule.strength == strength]
        yield from (Kept(at, rule.start, rule.text, plain=strength == PLAIN) for at, rule in kept)


def _late(text: str) -> int:
    """Say how late a message's turn comes: first what is short, then what is so of one thing, then the rest."""
    if len(text) > SHORT_CHARS or asks(text):
        return 2
    return int(has_number(text) and not is_plain(text))


def _ordered(kept: Sequence[Kept]) -> tuple[Kept, ...]:
    return tuple(sorted(kept, key=lambda one: (one.at, one.start)))


class _Room:
    """So many tokens, given out once."""

    def __init__(self, sizes: Sizes, tokens: int) -> None:
        self._sizes = sizes
        self._tokens = tokens
        self._left = tokens

    def whole(self, said: Sequence[Said], *, share: float) -> list[Kept]:
        """Take messages, cut where one is longer than its share."""
        texts = [(one, self._sizes.cut(one.text, min(self._left, int(self._tokens * share)))) for one in said]
        return [kept for one, text in texts if (kept := self._take(Kept(one.at, 0, text)))]

    def pieces(self, wanted: Iterator[Kept] | Sequence[Kept]) -> list[Kept]:
        """Take pieces as long as they fit; one that another holds already is not taken again."""
        taken: list[Kept] = []
        for one in wanted:
            held = any(
                other.at == one.at and other.start <= one.start < other.start + len(other.text) for other in taken
            )
            if not held and self._take(one):
                taken.append(one)
        return taken

    def fitting(self, said: Sequence[Said]) -> list[Kept]:
        """Take whole messages as long as they fit."""
        return [kept for one in said if (kept := self._take(Kept(one.at, 0, one.text)))]

    def _take(self, kept: Kept) -> Kept | None:
        size = self._sizes.text(kept.text) + 1
        if size > self._left:
            return None
        self._left -= size
        return kept
