"""Questions in a chat: how they are shown, and what a press or typed words answer."""

from __future__ import annotations

import re
from typing import Any

from atlas_sdk.channels import Prompt
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError
from atlas_sdk.events import QuestionSettled
from atlas_sdk.services.questions import QUESTIONS, Answer, Question
from atlas_sdk.services.store import STORE

from .outbox import Item, Kept, asked

SHOWN = ("sending", "sent", "unsure")
"""In which states of its item a question may be in the chat already: it is seen before that is kept."""
SETTLED = {"answered": "Answered", "timed_out": "Not answered in time", "withdrawn": "No longer asked"}


def items_for(question: Question, channel: str, chat: str, limit_chars: int) -> list[Item]:
    """Return what shows a question in a chat. What would run is shown whole, before the buttons where it is long."""
    source = f"ask:{question.id}:{channel}:{chat}"
    if question.kind == "secret":
        said = f"{question.title}\n\nA key is not for a chat. Give it in the app, or with: "
        return [Item(channel, chat, "text", source, {"text": f"{said}`atlas secrets set {question.secret}`"})]
    text = _text(question)
    items = []
    if len(text) > limit_chars:
        items.append(Item(channel, chat, "text", f"{source}:whole", {"text": text}))
        text = f"{question.title[: limit_chars // 2]}\n\nThe whole of it stands above."
    data = {"text": text, "choices": [choice.label for choice in question.choices]}
    data["ids"] = [choice.id for choice in question.choices]
    return [*items, Item(channel, chat, "ask", source, data, subject=question.id)]


def prompt_of(kept: Kept) -> Prompt:
    """Return what the channel is to show."""
    data = kept.item.data
    return Prompt(kept.item.subject, data["text"], tuple(data["choices"]))


def items_settled(shown: list[Kept], settled: QuestionSettled) -> list[Item]:
    """Return what replaces a question's buttons, in every chat that has them."""
    items = []
    for kept in shown:
        channel, chat = kept.item.channel, kept.item.chat
        said = said_of(settled, kept.item.data)
        items.append(Item(channel, chat, "settle", f"settle:{settled.id}:{channel}:{chat}", {"said": said}, settled.id))
    return items


def said_of(settled: QuestionSettled, data: dict[str, Any]) -> str:
    """Return what came of a question, in words."""
    labels = dict(zip(data["ids"], data["choices"], strict=True))
    picked = [labels[id] for id in settled.choice.split(", ") if id in labels]
    said = ", ".join(picked) if settled.how == "answered" and picked else SETTLED[settled.how]
    return f"{said} ({settled.by})" if settled.how == "answered" and settled.by else f"{said}."


class Prompts:
    """Takes answers from chats. Who answers was let in: the caller sees to that."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def waits(self, question: str) -> bool:
        """Whether a question still waits for its answer."""
        return await self._pending(question) is not None

    async def is_for_owner(self, id: str) -> bool:
        """Whether a question is the owner's alone to answer, as an approval is, or not there any more."""
        question = await self._pending(id)
        return question is None or question.kind != "question"

    async def press(self, channel: str, id: str, index: int, by: str) -> str | None:
        """Answer by a button; return what is said in the buttons' place, or None when that answered nothing."""
        shown = await self._shown(id, channel)
        question = await self._pending(id)
        if not shown or question is None or not 0 <= index < len(question.choices):
            return None
        choice = question.choices[index]
        if not await self._answer(question, Answer(how="answered", choices=(choice.id,), by=by)):
            return None
        return said_of(QuestionSettled(id=id, how="answered", choice=choice.id, by=by), shown[0].item.data)

    async def find(self, channel: str, chat: str, conversation: str, text: str) -> tuple[Question, Answer] | None:
        """Return the question that words typed in a chat answer, the oldest first, and the answer.

        Only a question that stands in the chat already is answered: what was typed before it came is a message.
        """
        questions = self._ctx.services.get(QUESTIONS)
        for question in await questions.pending(conversation) if questions is not None and conversation else ():
            if any(kept.item.chat == chat for kept in await self._shown(question.id, channel, arrived=True)):
                answer = answer_of(question, text)
                if answer is not None:
                    return question, answer
        return None

    async def answer(self, question: Question, answer: Answer) -> bool:
        """Give an answer; False when another was first."""
        return await self._answer(question, answer)

    async def _answer(self, question: Question, answer: Answer) -> bool:
        questions = self._ctx.services.get(QUESTIONS)
        if questions is None:
            return False
        try:
            return await questions.answer(question.id, answer)
        except MisuseError:
            return False

    async def _pending(self, id: str) -> Question | None:
        questions = self._ctx.services.get(QUESTIONS)
        pending = await questions.pending() if questions is not None else ()
        return next((question for question in pending if question.id == id), None)

    async def _shown(self, question: str, channel: str, *, arrived: bool = False) -> list[Kept]:
        store = self._ctx.services.need(STORE)
        shown = await store.read(lambda reading: asked(reading, question))
        return [kept for kept in shown if kept.item.channel == channel and (kept.state in SHOWN or not arrived)]


def answer_of(question: Question, text: str) -> Answer | None:
    """Return what typed words answer: a choice by its number or its label, else the words where words are welcome.

    A denial may carry its reason: ``Deny not before the release``. An approval takes nothing else.
    """
    words = text.strip()
    picked = _picked(question, words)
    if picked:
        return Answer(how="answered", choices=picked)
    if question.kind == "approval":
        first, _, reason = words.partition(" ")
        deny = next((choice for choice in question.choices if choice.id == "deny"), None)
        number = str(question.choices.index(deny) + 1) if deny is not None else ""
        if deny is not None and first.strip(".,:;").casefold() in (deny.label.casefold(), number):
            return Answer(how="answered", choices=("deny",), text=reason.strip())
        return None
    return Answer(how="answered", text=words) if question.kind == "question" and words else None


def _picked(question: Question, words: str) -> tuple[str, ...]:
    by_word = {choice.label.casefold(): choice.id for choice in question.choices}
    by_word |= {str(number): choice.id for number, choice in enumerate(question.choices, 1)}
    if words.casefold() in by_word:
        return (by_word[words.casefold()],)
    if question.multiple:
        ids = [by_word.get(word.strip().casefold()) for word in words.split(",")]
        if all(ids):
            return tuple(dict.fromkeys(id for id in ids if id))
    return ()


def _text(question: Question) -> str:
    said = [question.title]
    if question.exact:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", question.exact)), default=0))
        said.append(f"{fence}\n{question.exact}\n{fence}")
    if question.why:
        said.append(question.why)
    if question.always:
        said.append(f"“Always” would allow: `{question.always}`")
    said += [f"{choice.label}: {choice.description}" for choice in question.choices if choice.description]
    if question.multiple:
        said.append("Press one, or type the numbers of several: 1, 3.")
    if question.expires_in is not None:
        minutes = max(1, round(question.expires_in / 60))
        said.append(f"No answer within {minutes} minute{'s' if minutes > 1 else ''} is a no.")
    return "\n\n".join(said)
