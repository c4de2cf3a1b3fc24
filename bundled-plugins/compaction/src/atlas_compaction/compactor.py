"""One compaction: cut, sum up, carry word for word, and put it all in the place of the older messages, or nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import Message, Part, TextPart
from atlas_sdk.records import Checkpoint, Content, Conversation
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.models import MODELS
from atlas_sdk.services.skills import SKILLS
from atlas_sdk.services.store import STORE
from atlas_sdk.services.tools import TOOLS

from .carried import Held, held, within
from .cut import cut, whole_cuts
from .failures import NothingToCompactError, NotWorthItError
from .settings import CompactionSettings
from .sizes import Sizes
from .summary import Asked, Summary, summed_up
from .transcript import SUMMARY, entries, is_summary
from .words import Kept, Kind, Quote, Said, Words, carried, spoken

SUMMARY_SHARE, WORDS_SHARE, HELD_SHARE = 0.15, 0.35, 0.2
"""How the budget is divided; the tail has what is left."""
ESSENTIAL_SHARE = 0.6
"""The most that the task, the last instruction and the firm rules may take: where they need it, the tail is shorter."""
TAIL_SHARE = 0.1
HELD_TAIL_TOKENS = 8_000
"""What a tail keeps before skills in use take more than their share: a large window has room for all of them."""
SUMMARY_TOKENS = 6_000
"""A longer summary is read with less care than the messages it stands for."""
LEAST_SHARE = 0.25
"""Of the window, where instructions and tools leave next to nothing: less would not hold the rules."""
SLACK = 0.8
"""Of the room between the instructions and the threshold: a turn must fit before the next compaction."""
MANUAL_TAIL_SHARE = 0.25
"""Whoever asks for a compaction wants to see it shrink, also where all would fit."""
WORTH_TOKENS = 1_000
"""Less than this by hand pays for no call of a model: its summary, and what goes with it, is about as long."""
SHRINKS_TO = 0.9
"""A compaction that saves less than a tenth comes back at once."""

CLEARED = "compaction:cleared"
TASK, INSTRUCTION, RULE, WORDS = "compaction:task", "compaction:instruction", "compaction:rule", "compaction:words"
QUOTED = ":quoted"
"""Behind the source of a piece that a summarising model found: the next compaction looks it up again."""

SUMMED = "The older part of this conversation is archived. This is its summary:\n\n"
CLEAR = (
    "The user cleared this conversation: what was said before is archived, and nothing of it is asked for any more. "
    "Begin afresh."
)
HEADINGS = {
    TASK: "What the user wants done, word for word as the user wrote it, the latest last:",
    RULE: "The user's standing rules, word for word and in their order. A later one changes an earlier one. "
    "They hold for all that follows:",
    WORDS: "What else the user said in the archived part, word for word and in its order. A standing wish among it "
    "still holds, and what was asked once may be done:",
    INSTRUCTION: "The user's last instruction, word for word:",
}
HELD = "Still in use, as {what} last answered:"


@dataclass(frozen=True)
class Outcome:
    """What came of a compaction: messages archived, and tokens before and after."""

    archived: int
    before: int
    after: int
    window: int


@dataclass(frozen=True)
class Plan:
    """How much room there is, in tokens, beside the instructions and the tools (the prefix)."""

    prefix: int
    room: int

    @classmethod
    def of(cls, settings: CompactionSettings, window: int, prefix: int) -> Plan:
        """Return the budget; instructions and tools that fill a small window leave less of it.

        One above the threshold counts as the threshold: either may be set without a look at the other.
        """
        filled = min(settings.budget, settings.threshold)
        room = min(filled * window, SLACK * (settings.threshold * window - prefix))
        return cls(prefix, int(max(room, min(LEAST_SHARE, filled) * window)))

    def share(self, part: float) -> int:
        """Return a part of the room."""
        return int(self.room * part)


class Compactor:
    """Compacts conversations of one home."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def compact(
        self, id: str, *, counted: int = 0, window: int = 0, manual: bool = False, wish: str = ""
    ) -> Outcome:
        """Compact a conversation, and commit it in one transaction. Whatever it raises, nothing was changed.

        ``counted`` is what the provider said the last prompt took, ``window`` what the model turned out to hold, and
        ``wish`` what whoever asked by hand wants kept above all.
        Raises SummaryError, and ProviderError where there is no model to ask.
        """
        conversations, models = self._ctx.services.need(CONVERSATIONS), self._ctx.services.need(MODELS)
        settings = self._ctx.section(CompactionSettings)
        record = await conversations.get(id)
        provider, model = await models.choose(record.provider, record.model)
        window = min(window or model.context_window, model.context_window)
        path = await conversations.path(id)
        prefix = await self._prefix(record)
        guess = Sizes()
        sizes = Sizes.measured(counted, guess.text(prefix) + guess.messages(path))
        plan = Plan.of(settings, window, sizes.text(prefix))
        before = plan.prefix + sizes.messages(path)
        whole = await self._since_cleared(id)
        said = spoken(whole)
        kept = held(whole, self._ctx.services.need(TOOLS).find, await self._skills())

        firm = await _carried(said, sizes=sizes, tokens=plan.share(ESSENTIAL_SHARE))
        words_tokens = max(plan.share(WORDS_SHARE), firm.essential(sizes))
        summary_tokens = min(SUMMARY_TOKENS, plan.share(SUMMARY_SHARE))
        held_tokens = max(plan.share(HELD_SHARE), plan.room - words_tokens - summary_tokens - HELD_TAIL_TOKENS)
        results_tokens = _size(within(kept, tail=(), sizes=sizes, tokens=held_tokens), sizes)
        tail_tokens = max(plan.room - words_tokens - results_tokens - summary_tokens, plan.share(TAIL_SHARE))
        most = settings.max_conversation_history
        crowded = 0 < most < len(path)  # then it is to have fewer messages, whatever they take
        tail_tokens = min(tail_tokens, int(before * MANUAL_TAIL_SHARE)) if manual else tail_tokens
        at = cut(path, sizes, tail_tokens, most=most // 2 if crowded else None)
        if at < 0 or all(is_summary(message) for message in path[: at + 1]):
            raise NothingToCompactError
        gone = sizes.messages(message for message in path[: at + 1] if not is_summary(message))
        if manual and gone < WORTH_TOKENS:
            raise NotWorthItError(gone)
        tail = {message.id for message in path[at + 1 :]}
        results = within(kept, tail=tail, sizes=sizes, tokens=held_tokens)
        least = plan.prefix + _size(results, sizes) + sizes.messages(path[at + 1 :])
        if not (manual or crowded) and least > before * SHRINKS_TO:
            raise NothingToCompactError
        asked = Asked(id, provider.id, model.id, window, settings.reasoning_effort, wish)
        made = await summed_up(self._ctx, asked, entries(path[: at + 1]), sizes, summary_tokens)

        quotes = (*_quoted_before(path[0]), *made.quotes)
        words = await _carried(said, tail=tail, quotes=quotes, sizes=sizes, tokens=words_tokens)
        parts = _parts(made, words, results, outside=_from_outside(path[: at + 1]))
        after = plan.prefix + sum(map(sizes.part, parts)) + sizes.messages(path[at + 1 :])
        if not (manual or crowded) and after > before * SHRINKS_TO:
            raise NothingToCompactError
        await conversations.compact(id, last=path[at].id, summary=parts)
        archived = sum(not is_summary(message) for message in path[: at + 1])
        return Outcome(archived, max(before, counted), after, window)

    async def clear(self, id: str) -> int:
        """Archive all of a conversation behind a short note, and return how many messages that were."""
        conversations = self._ctx.services.need(CONVERSATIONS)
        path = await conversations.path(id)
        last = max(at for at, whole in enumerate(whole_cuts(path)) if whole)
        note = TextPart(text=CLEAR, trust="agent", source=CLEARED)
        await conversations.compact(id, last=path[last].id, summary=[note])
        return sum(not is_summary(message) for message in path[: last + 1])

    async def _prefix(self, record: Conversation) -> str:
        store = self._ctx.services.need(STORE)
        kept = [await store.get(Content, hash) for hash in (record.instructions, record.tools) if hash]
        return "".join(one.text for one in kept if one is not None)

    async def _since_cleared(self, id: str) -> tuple[Message, ...]:
        """Return all that was said since the conversation was last cleared, as it was said."""
        store = self._ctx.services.need(STORE)
        whole = await self._ctx.services.need(CONVERSATIONS).path(id, whole=True)
        places = {message.id: at for at, message in enumerate(whole)}
        since = 0
        for checkpoint in await store.find(Checkpoint, conversation=id):
            if checkpoint.last in places:
                said = await store.get(Message, checkpoint.summary)
                if said is not None and any(isinstance(p, TextPart) and p.source == CLEARED for p in said.parts):
                    since = max(since, places[checkpoint.last] + 1)
        return whole[since:]

    async def _skills(self) -> frozenset[str]:
        skills = self._ctx.services.get(SKILLS)
        return frozenset(row.name for row in await skills.list()) if skills is not None else frozenset()


async def _carried(
    said: Sequence[Said], *, sizes: Sizes, tokens: int, tail: Collection[str] = (), quotes: Sequence[Quote] = ()
) -> Words:
    """Choose words in a thread: thousands of messages take the patterns longer than anybody else may wait."""
    choose = partial(carried, said, tail=tail, quotes=quotes, sizes=sizes, tokens=tokens)
    return await anyio.to_thread.run_sync(choose)


def _size(results: Sequence[Held], sizes: Sizes) -> int:
    return sum(sizes.part(part) for one in results for part in one.parts)


def _quoted_before(first: Message) -> tuple[Quote, ...]:
    """Return what earlier summarising models took for a task or a rule. It is looked up again, like any quote."""
    if not is_summary(first):
        return ()
    kinds: dict[str, Kind] = {TASK + QUOTED: "task", RULE + QUOTED: "rule"}
    texts = [part for part in first.parts if isinstance(part, TextPart)]
    return tuple(Quote(kinds[part.source], part.text) for part in texts if part.source in kinds)


def _from_outside(messages: Sequence[Message]) -> bool:
    """Say whether a summary of these may hold what others than the owner and the agent said."""
    for message in messages:
        for part in message.parts:
            if part.type == "tool_result" or (isinstance(part, TextPart) and part.trust in ("guest", "outside")):
                return True
    return False


def _parts(made: Summary, words: Words, results: Sequence[Held], *, outside: bool) -> list[Part]:
    """Return the message that stands for what is archived; the last instruction comes last, where a model looks."""
    parts: list[Part] = [TextPart(text=SUMMED + made.text, trust="outside" if outside else "agent", source=SUMMARY)]

    def say(text: str) -> None:
        parts.append(TextPart(text=text, trust="agent", source=SUMMARY + ":heading"))

    def carry(source: str, kept: Sequence[Kept]) -> None:
        if kept:
            say(HEADINGS[source])
        for one in kept:
            named = source + QUOTED if one.quoted else source
            parts.append(TextPart(text=one.text, trust="owner", source=named))

    for one in results:
        what = f"/{one.name}" if one.tool == "/" else f"{one.tool} {one.name}".strip()
        say(HELD.format(what=what))
        parts.extend(one.parts)
    if words.others:
        say(HEADINGS[WORDS])
        said = "\n\n".join(one.text for one in words.others)
        parts.append(TextPart(text=said, trust="owner", source=WORDS))
    if words.left_out:
        say(f"[{words.left_out} more of the user's messages are archived and can be searched for.]")
    carry(TASK, words.tasks)
    carry(RULE, words.rules)
    carry(INSTRUCTION, words.instruction)
    return parts
