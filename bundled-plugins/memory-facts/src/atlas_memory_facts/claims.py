"""How far each conversation was reviewed, and who reviews it: claimed by one at a time, also across processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from atlas_sdk.ids import new_id
from atlas_sdk.services.store import Reading, Transaction

from .claimant import is_gone, this_process
from .facts import stamp

Wait: TypeAlias = Literal["", "off", "under_interval", "backing_off"]
"""Why a conversation is not reviewed yet; nothing when it is due."""
CLAIM_SECONDS = 1_800
"""A claim outlives the call it is for: four attempts with five minutes of silence each. Then it ends by itself.
One whose process is no more ends at once, where that can be told."""


@dataclass(frozen=True)
class State:
    """What is known of the reviews of a conversation."""

    last_message: str = ""
    reviewed_at: datetime | None = None
    failed_at: datetime | None = None
    behind: bool = False


def state(reading: Reading, agent: str, conversation: str) -> State:
    """Return the state of a conversation."""
    rows = reading.rows(
        "SELECT * FROM memory_facts_review WHERE agent_id = :agent AND conversation = :c", agent=agent, c=conversation
    )
    if not rows:
        return State()
    row = rows[0]
    return State(
        last_message=row["last_message"],
        reviewed_at=_time(row["reviewed_at"]),
        failed_at=_time(row["failed_at"]),
        behind=bool(row["behind"]),
    )


def why_not(found: State, now: datetime, *, hours: float, back_off: timedelta) -> Wait:
    """Return why a conversation is not to be reviewed by itself, or nothing when it is due.

    What one review had no room for is due at the next turn: it would never catch up otherwise.
    """
    if not hours:
        return "off"
    # What is told of a time to come was written by a clock that was wrong.
    if found.failed_at is not None and found.failed_at <= now < found.failed_at + back_off:
        return "backing_off"
    interval = timedelta(hours=hours)
    if found.reviewed_at is not None and not found.behind and found.reviewed_at <= now < found.reviewed_at + interval:
        return "under_interval"
    return ""


def claim(transaction: Transaction, agent: str, conversation: str, now: datetime) -> str:
    """Claim a conversation for this process and return the claim, or nothing while somebody else has it."""
    transaction.run(
        "INSERT INTO memory_facts_review (agent_id, conversation, last_message, failures, behind) "
        "VALUES (:agent, :c, '', 0, 0) ON CONFLICT (agent_id, conversation) DO NOTHING",
        agent=agent,
        c=conversation,
    )
    (row,) = transaction.rows(
        "SELECT claim, claimed_at, claimed_by FROM memory_facts_review WHERE agent_id = :agent AND conversation = :c",
        agent=agent,
        c=conversation,
    )
    lasts = timedelta(seconds=CLAIM_SECONDS)
    is_fresh = row["claim"] is not None and stamp(now - lasts) < row["claimed_at"] < stamp(now + lasts)
    if is_fresh and not is_gone(row["claimed_by"]):
        return ""
    id = new_id()
    transaction.run(
        "UPDATE memory_facts_review SET claim = :claim, claimed_at = :now, claimed_by = :by "
        "WHERE agent_id = :agent AND conversation = :c",
        claim=id,
        now=stamp(now),
        by=this_process(),
        agent=agent,
        c=conversation,
    )
    return id


def holds(reading: Reading, claim: str) -> bool:
    """Whether a claim is still one: it may have ended, and another begun."""
    return bool(reading.rows("SELECT 1 FROM memory_facts_review WHERE claim = :claim", claim=claim))


def done(transaction: Transaction, claim: str, *, last_message: str, behind: bool, now: datetime) -> None:
    """End a claim with a review up to a message."""
    transaction.run(
        "UPDATE memory_facts_review SET claim = NULL, claimed_at = NULL, last_message = :last, reviewed_at = :now, "
        "failed_at = NULL, failures = 0, behind = :behind WHERE claim = :claim",
        last=last_message,
        behind=int(behind),
        now=stamp(now),
        claim=claim,
    )


def failed(transaction: Transaction, claim: str, now: datetime) -> None:
    """End a claim with a failure, counted for whoever looks into it. What was to be reviewed stays to be."""
    transaction.run(
        "UPDATE memory_facts_review SET claim = NULL, claimed_at = NULL, failed_at = :now, failures = failures + 1 "
        "WHERE claim = :claim",
        now=stamp(now),
        claim=claim,
    )


def let_go(transaction: Transaction, claim: str, *, last_message: str | None = None) -> None:
    """End a claim as if it had never been, past messages in which nobody said anything, where one is named."""
    transaction.run(
        "UPDATE memory_facts_review SET claim = NULL, claimed_at = NULL, last_message = coalesce(:last, last_message) "
        "WHERE claim = :claim",
        last=last_message,
        claim=claim,
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
