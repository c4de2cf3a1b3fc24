"""Versions of the prompt files, in the database: what each said, since when, and why it changed."""

from __future__ import annotations

from datetime import datetime

from atlas_sdk.errors import NotFoundError
from atlas_sdk.messages import Frozen
from atlas_sdk.services.store import Reading, Row, Transaction

from . import facts
from .categories import SHEETS
from .facts import digest, stamp

KEPT = 100
"""The versions kept of one file. A review a day makes at most a few."""


class Revision(Frozen):
    """A version of a prompt file of an agent, numbered from 1."""

    agent: str
    resource: str
    revision: int
    content: str
    cause: str
    at: datetime


class Resource(Frozen):
    """A prompt file and its newest version."""

    agent: str
    resource: str
    file: str
    revision: int
    at: datetime


def is_current(reading: Reading, agent: str) -> bool:
    """Whether the files of an agent are of the facts as they are."""
    rows = reading.rows("SELECT changes FROM memory_facts_rendered WHERE agent_id = :agent", agent=agent)
    now = facts.changes(reading)
    return len(rows) == len(SHEETS) and all(row["changes"] == now for row in rows)


def keep(
    transaction: Transaction, agent: str, resource: str, content: str, changes: int, cause: str, now: datetime
) -> None:
    """Keep what a file says, as a new version where it says something else, and what it was rendered from."""
    last = history(transaction, agent, resource, limit=1)
    if (last[0].content if last else "") != content:
        number = last[0].revision + 1 if last else 1
        transaction.run(
            "INSERT INTO memory_facts_revision (agent_id, resource, revision, content, digest, cause, at) "
            "VALUES (:agent, :resource, :revision, :content, :digest, :cause, :at)",
            agent=agent,
            resource=resource,
            revision=number,
            content=content,
            digest=digest(content),
            cause=cause,
            at=stamp(now),
        )
        transaction.run(
            "DELETE FROM memory_facts_revision WHERE agent_id = :agent AND resource = :resource AND revision <= :old",
            agent=agent,
            resource=resource,
            old=number - KEPT,
        )
    transaction.run(
        "INSERT INTO memory_facts_rendered (agent_id, resource, changes) VALUES (:agent, :resource, :changes) "
        "ON CONFLICT (agent_id, resource) DO UPDATE SET changes = excluded.changes",
        agent=agent,
        resource=resource,
        changes=changes,
    )


def resources(reading: Reading) -> tuple[Resource, ...]:
    """Return the prompt files there are versions of."""
    rows = reading.rows(
        "SELECT agent_id, resource, max(revision) AS revision, max(at) AS at FROM memory_facts_revision "
        "GROUP BY agent_id, resource ORDER BY agent_id, resource DESC"
    )
    files = {sheet.target: sheet.file for sheet in SHEETS}
    return tuple(
        Resource(
            agent=row["agent_id"],
            resource=row["resource"],
            file=f"memory/{row['agent_id']}/{files[row['resource']]}",
            revision=row["revision"],
            at=datetime.fromisoformat(row["at"]),
        )
        for row in rows
    )


def history(reading: Reading, agent: str, resource: str, *, limit: int) -> tuple[Revision, ...]:
    """Return the versions of a file, the newest first."""
    rows = reading.rows(
        "SELECT * FROM memory_facts_revision WHERE agent_id = :agent AND resource = :resource "
        "ORDER BY revision DESC LIMIT :limit",
        agent=agent,
        resource=resource,
        limit=limit,
    )
    return tuple(_revision(row) for row in rows)


def one(reading: Reading, agent: str, resource: str, revision: int) -> Revision:
    """Return a version. Raises NotFoundError, which names those there are."""
    rows = reading.rows(
        "SELECT * FROM memory_facts_revision WHERE agent_id = :agent AND resource = :resource AND revision = :number",
        agent=agent,
        resource=resource,
        number=revision,
    )
    if rows:
        return _revision(rows[0])
    there = [known.revision for known in history(reading, agent, resource, limit=KEPT)]
    said = f"Those there are: {there[-1]} to {there[0]}." if there else "It has none yet."
    raise NotFoundError(f"{resource} of the agent {agent} has no version {revision}. {said}")


def holding(reading: Reading, text: str) -> tuple[Revision, ...]:
    """Return the versions that hold a text, in any case and spacing."""
    wanted = folded(text)
    rows = reading.rows("SELECT * FROM memory_facts_revision ORDER BY agent_id, resource, revision")
    return tuple(_revision(row) for row in rows if wanted and wanted in folded(row["content"]))


def erase(transaction: Transaction, revision: Revision) -> None:
    """Erase a version whole. Its file is made anew, as it may have been rolled back to that one."""
    transaction.run(
        "DELETE FROM memory_facts_revision WHERE agent_id = :agent AND resource = :resource AND revision = :number",
        agent=revision.agent,
        resource=revision.resource,
        number=revision.revision,
    )
    transaction.run("DELETE FROM memory_facts_rendered WHERE agent_id = :agent", agent=revision.agent)


def folded(text: str) -> str:
    """Return a text in one case, with one space between words."""
    return " ".join(text.casefold().split())


def _revision(row: Row) -> Revision:
    return Revision(
        agent=row["agent_id"],
        resource=row["resource"],
        revision=row["revision"],
        content=row["content"],
        cause=row["cause"],
        at=datetime.fromisoformat(row["at"]),
    )
