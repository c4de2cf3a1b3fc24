"""The methods ``question.…``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from atlas_sdk.context import PluginContext
from atlas_sdk.methods import Caller, Method
from atlas_sdk.services.questions import QUESTIONS, Answer, Question


class QuestionList(BaseModel):
    """Questions that wait, of one conversation or all."""

    model_config = ConfigDict(extra="forbid")
    conversation: str | None = None


class Questions(BaseModel):
    """Questions that wait, the oldest first."""

    questions: tuple[Question, ...]


class QuestionAnswer(BaseModel):
    """An answer: ids of choices, and words (a denial's reason, an answer of one's own)."""

    model_config = ConfigDict(extra="forbid")
    id: str
    choices: tuple[str, ...] = ()
    text: str = Field(default="", max_length=20_000)


class Taken(BaseModel):
    """Whether this answer took the question; false when another was first, or it is gone."""

    taken: bool


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""

    async def list_(params: QuestionList, caller: Caller) -> BaseModel:
        return Questions(questions=await ctx.services.need(QUESTIONS).pending(params.conversation))

    async def answer(params: QuestionAnswer, caller: Caller) -> BaseModel:
        given = Answer(how="answered", choices=params.choices, text=params.text, by=caller.name)
        return Taken(taken=await ctx.services.need(QUESTIONS).answer(params.id, given))

    return [
        Method("question.list", QuestionList, Questions, list_, "List the questions that wait."),
        Method("question.answer", QuestionAnswer, Taken, answer, "Answer a question.", inside="closed"),
    ]
