"""The record of what was asked and who answered what."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from atlas_sdk.context import PluginContext
from atlas_sdk.events import QuestionAsked, QuestionSettled
from atlas_sdk.schema import Migration, Schema
from atlas_sdk.services.questions import Answer, Question
from atlas_sdk.services.store import STORE, Transaction

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                "CREATE TABLE questions_question (id TEXT PRIMARY KEY, conversation TEXT NOT NULL, "
                "kind TEXT NOT NULL, asked_at TEXT NOT NULL, data TEXT NOT NULL, settled_at TEXT, answer TEXT)",
                "CREATE INDEX questions_open ON questions_question (settled_at)",
            ),
        ),
    )
)


def keep_question(transaction: Transaction, question: Question, now: datetime) -> None:
    """Keep that a question was asked, and tell of it."""
    transaction.run(
        "INSERT INTO questions_question (id, conversation, kind, asked_at, data) "
        "VALUES (:id, :conversation, :kind, :now, :data)",
        id=question.id,
        conversation=question.conversation,
        kind=question.kind,
        now=now.isoformat(),
        data=question.model_dump_json(),
    )
    asked = question.model_dump(mode="json")
    transaction.publish(QuestionAsked(conversation=question.conversation, question=asked))


def keep_answer(transaction: Transaction, question: Question, answer: Answer, now: datetime) -> None:
    """Keep how a question ended, and tell of it. What was typed for a secret is not kept."""
    kept = answer.model_copy(update={"text": ""}) if question.kind == "secret" else answer
    transaction.run(
        "UPDATE questions_question SET settled_at = :now, answer = :answer WHERE id = :id AND settled_at IS NULL",
        id=question.id,
        now=now.isoformat(),
        answer=kept.model_dump_json(),
    )
    choice = ", ".join(answer.choices)
    transaction.publish(
        QuestionSettled(conversation=question.conversation, id=question.id, how=answer.how, choice=choice, by=answer.by)
    )


async def withdraw_left_open(ctx: PluginContext) -> None:
    """Close what a crash left open: the call that waited is gone, so no answer may reach it."""
    store = ctx.services.need(STORE)
    rows = await store.read(
        lambda reading: reading.rows("SELECT data FROM questions_question WHERE settled_at IS NULL")
    )
    for row in rows:
        question = Question.model_validate_json(row["data"])
        gone = Answer(how="withdrawn", by="atlas")
        await store.write(partial(keep_answer, question=question, answer=gone, now=ctx.clock.now()))
