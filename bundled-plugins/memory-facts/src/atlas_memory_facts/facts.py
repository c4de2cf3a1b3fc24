"""Facts as rows: how they are read, kept once, archived and brought back, inside a transaction of the caller's."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from atlas_sdk.ids import new_id
from atlas_sdk.phrase import evened
from atlas_sdk.services.store import Reading, Row, Transaction

from .scopes import Scope, Whose

KEY_CHARS = 64
_COLUMNS = (
    "id, agent_id, owner_id, scope_type, scope_id, category, key, value, said, confidence, promote_target, source_id, "
    "source_type, source_name, source_description, session_id, run_id, source_message_id, created_at, updated_at, as_of"
)
_WORD = re.compile(r"\w+")
_KEY_WORD = re.compile(r"[^\W_]+[+#]*")
"""What names a thing in a key: C, C++ and C# are three."""


@dataclass(frozen=True)
class Source:
    """Where a fact comes from. ``session`` is the conversation, ``run`` a job's run, ``message`` who said it where."""

    id: str
    type: str
    name: str
    description: str = ""
    session: str = ""
    run: str = ""
    message: str = ""


@dataclass(frozen=True)
class Draft:
    """A fact that was let in and is not kept yet. An empty ``target`` keeps it out of the prompt files."""

    whose: Whose
    category: str
    key: str
    value: str
    confidence: float
    target: str
    source: Source


@dataclass(frozen=True)
class Fact:
    """A fact as it is kept. ``as_of`` is when what it says was said, or when it was said that it holds no more."""

    id: str
    whose: Whose
    category: str
    key: str
    value: str
    confidence: float
    target: str
    source: Source
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = None
    archived_by: str = ""
    archive_reason: str = ""
    as_of: datetime | None = None

    @property
    def said_at(self) -> datetime:
        """Return when what it says was said last; what is older than that is older news."""
        return self.as_of or self.updated_at


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in one case and form. Signs are left out, so the same words may say two things."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def key_from(text: str) -> str:
    """Return the key that a text makes: its words, joined, so that spelling and case make no second fact.

    A long one keeps its beginning and a hash of the whole.
    """
    key = "_".join(_KEY_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return key if len(key) <= KEY_CHARS else f"{key[: KEY_CHARS - 9]}_{digest(key)[:8]}"


def said(value: str) -> str:
    """Return a digest of a value's words: two spellings of one fact have the same, and others may have it, too."""
    return digest(" ".join(words_of(value)))


def digest(text: str) -> str:
    """Return the digest of a text, as receipts have it."""
    return hashlib.sha256(text.encode()).hexdigest()


def stamp(at: datetime) -> str:
    """Return a time as a column holds it: text that sorts."""
    return at.isoformat(timespec="microseconds")


# --- reading --------------------------------------------------------------------------------------


def live(reading: Reading) -> list[Fact]:
    """Return the facts that are not archived, the most recently changed first."""
    return _facts(reading, "archived_at IS NULL")


def archived(reading: Reading) -> list[Fact]:
    """Return the facts that are archived."""
    return _facts(reading, "archived_at IS NOT NULL")


def by_ids(reading: Reading, ids: Iterable[str]) -> list[Fact]:
    """Return the facts with these ids, archived or not."""
    wanted = set(ids)
    return [one for id in sorted(wanted) for one in _facts(reading, "id = :id", id=id)]


def found(reading: Reading, query: str) -> list[Fact]:
    """Return the live facts that match a query of FTS5, the best first."""
    rows = reading.rows(
        "SELECT memory.* FROM memory_facts_words JOIN memory_facts_memory AS memory "
        "ON memory.number = memory_facts_words.rowid "
        "WHERE memory_facts_words MATCH :query AND memory.archived_at IS NULL "
        "ORDER BY bm25(memory_facts_words), memory.updated_at DESC, memory.number DESC",
        query=query,
    )
    return [_fact(row) for row in rows]


def changes(reading: Reading) -> int:
    """Return how often facts were changed."""
    return int(reading.rows("SELECT count FROM memory_facts_changes WHERE id = 1")[0]["count"])


def _facts(reading: Reading, where: str, **values: str) -> list[Fact]:
    rows = reading.rows(
        f"SELECT * FROM memory_facts_memory WHERE {where} ORDER BY updated_at DESC, number DESC", **values
    )
    return [_fact(row) for row in rows]


def _fact(row: Row) -> Fact:
    return Fact(
        id=row["id"],
        whose=Whose(row["agent_id"], row["owner_id"], Scope(row["scope_type"], row["scope_id"])),
        category=row["category"],
        key=row["key"],
        value=row["value"],
        confidence=row["confidence"],
        target=row["promote_target"] or "",
        source=Source(
            id=row["source_id"],
            type=row["source_type"],
            name=row["source_name"],
            description=row["source_description"],
            session=row["session_id"],
            run=row["run_id"],
            message=row["source_message_id"],
        ),
        created_at=datetime.fromisoformat(row["created_at"]),
        updated_at=datetime.fromisoformat(row["updated_at"]),
        archived_at=datetime.fromisoformat(row["archived_at"]) if row["archived_at"] else None,
        archived_by=row["archived_by"] or "",
        archive_reason=row["archive_reason"] or "",
        as_of=datetime.fromisoformat(row["as_of"]) if row["as_of"] else None,
    )


# --- writing --------------------------------------------------------------------------------------


def standing(reading: Reading, draft: Draft) -> Fact | None:
    """Return the fact of its scope that a draft would stay, bring back or write over: what says the same or its key."""
    same = _saying(reading, draft.whose, draft.value)
    same.sort(key=lambda one: (one.archived_at is not None, one.key != draft.key))
    keyed = _of_scope(reading, draft.whose, "key = :text", draft.key)
    if same and (same[0].archived_at is None or same[0].key == draft.key or not keyed):
        return same[0]
    return keyed[0] if keyed else None


def of_scope(reading: Reading, whose: Whose) -> list[Fact]:
    """Return the live facts of a scope, the most recently changed first."""
    return [one for one in live(reading) if one.whose == whose]


def put(transaction: Transaction, draft: Draft, now: datetime, *, as_of: datetime | None = None) -> str:
    """Keep a fact once, and return its id: what has its key is written over, and what says the same stays.

    An archived one that it is the same as comes back. ``as_of`` is when it was said, where that is not now.
    """
    there = standing(transaction, draft)
    if there is not None:
        if evened(there.value) != evened(draft.value):
            _write_over(transaction, there.id, draft, now, as_of or now)
        elif there.archived_at is not None:
            bring_back(transaction, there.id, now, as_of=as_of)
        elif (as_of or now) > there.said_at:
            _say_again(transaction, there.id, as_of or now)
        return there.id
    id = f"fact-{new_id()[-12:]}"
    whose, source = draft.whose, draft.source
    names = _COLUMNS.split(", ")
    values = (
        id, whose.agent, whose.owner, whose.scope.type, whose.scope.id, draft.category, draft.key, draft.value,
        said(draft.value), draft.confidence, draft.target or None, source.id, source.type, source.name,
        source.description, source.session, source.run, source.message, stamp(now), stamp(now), stamp(as_of or now),
    )  # fmt: skip
    marks = ", ".join(f":{name}" for name in names)
    transaction.run(
        f"INSERT INTO memory_facts_memory ({_COLUMNS}) VALUES ({marks})", **dict(zip(names, values, strict=True))
    )
    _keep_source(transaction, draft, now)
    _count(transaction)
    return id


def replace(
    transaction: Transaction, id: str, value: str, source: Source, now: datetime, *, as_of: datetime | None = None
) -> list[str]:
    """Put a newer value in a fact's place, and return what that changed.

    Another fact of its scope that says so already is archived.
    """
    (before,) = by_ids(transaction, [id])
    changed = [id]
    for other in _saying(transaction, before.whose, value):
        if other.id != id and other.archived_at is None:
            archive(transaction, other.id, by=source.type, reason="said twice", now=now)
            changed.append(other.id)
    draft = Draft(before.whose, before.category, before.key, value, before.confidence, before.target, source)
    _write_over(transaction, id, draft, now, as_of or now)
    return changed


def archive(
    transaction: Transaction, id: str, *, by: str, reason: str, now: datetime, as_of: datetime | None = None
) -> None:
    """Take a fact out of use; it can be brought back."""
    transaction.run(
        "UPDATE memory_facts_memory SET archived_at = :at, archived_by = :by, archive_reason = :reason, as_of = :as_of "
        "WHERE id = :id AND archived_at IS NULL",
        at=stamp(now),
        by=by,
        reason=reason,
        as_of=stamp(as_of or now),
        id=id,
    )
    _count(transaction)


def bring_back(transaction: Transaction, id: str, now: datetime, *, as_of: datetime | None = None) -> None:
    """Put an archived fact in use again, as the newest."""
    transaction.run(
        "UPDATE memory_facts_memory SET archived_at = NULL, archived_by = NULL, archive_reason = NULL, "
        "updated_at = :at, as_of = :as_of WHERE id = :id",
        at=stamp(now),
        as_of=stamp(as_of or now),
        id=id,
    )
    _count(transaction)


def erase(transaction: Transaction, ids: Sequence[str]) -> None:
    """Erase facts, and make the mirror of their words anew so that it keeps none of them."""
    for id in ids:
        transaction.run("DELETE FROM memory_facts_memory WHERE id = :id", id=id)
    transaction.run("INSERT INTO memory_facts_words(memory_facts_words) VALUES ('rebuild')")
    transaction.run("DELETE FROM memory_facts_source WHERE id NOT IN (SELECT source_id FROM memory_facts_memory)")
    _count(transaction)


def _saying(reading: Reading, whose: Whose, value: str) -> list[Fact]:
    """Return the facts of a scope that say the same, signs included."""
    return [one for one in _of_scope(reading, whose, "said = :text", said(value)) if evened(one.value) == evened(value)]


def _of_scope(reading: Reading, whose: Whose, where: str, text: str) -> list[Fact]:
    return _facts(
        reading,
        f"agent_id = :agent AND owner_id = :owner AND scope_type = :type AND scope_id = :scope AND {where}",
        text=text,
        agent=whose.agent,
        owner=whose.owner,
        type=whose.scope.type,
        scope=whose.scope.id,
    )


def _say_again(transaction: Transaction, id: str, as_of: datetime) -> None:
    """Note that what a fact says was said again. That changes no file, so it counts as no change."""
    transaction.run("UPDATE memory_facts_memory SET as_of = :as_of WHERE id = :id", as_of=stamp(as_of), id=id)


def _write_over(transaction: Transaction, id: str, draft: Draft, now: datetime, as_of: datetime) -> None:
    source = draft.source
    transaction.run(
        "UPDATE memory_facts_memory SET category = :category, value = :value, said = :said, confidence = :confidence, "
        "promote_target = :target, source_id = :source, source_type = :type, source_name = :name, "
        "source_description = :description, session_id = :session, run_id = :run, source_message_id = :message, "
        "archived_at = NULL, archived_by = NULL, archive_reason = NULL, updated_at = :at, as_of = :as_of "
        "WHERE id = :id",
        category=draft.category,
        value=draft.value,
        said=said(draft.value),
        confidence=draft.confidence,
        target=draft.target or None,
        source=source.id,
        type=source.type,
        name=source.name,
        description=source.description,
        session=source.session,
        run=source.run,
        message=source.message,
        at=stamp(now),
        as_of=stamp(as_of),
        id=id,
    )
    _keep_source(transaction, draft, now)
    _count(transaction)


def _keep_source(transaction: Transaction, draft: Draft, now: datetime) -> None:
    source, whose = draft.source, draft.whose
    transaction.run(
        "INSERT INTO memory_facts_source (id, type, name, description, agent_id, owner_id, scope_type, scope_id, "
        "created_at, updated_at) VALUES (:id, :type, :name, :description, :agent, :owner, :scope_type, :scope_id, "
        ":at, :at) ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at",
        id=source.id,
        type=source.type,
        name=source.name,
        description=source.description,
        agent=whose.agent,
        owner=whose.owner,
        scope_type=whose.scope.type,
        scope_id=whose.scope.id,
        at=stamp(now),
    )


def _count(transaction: Transaction) -> None:
    transaction.run("UPDATE memory_facts_changes SET count = count + 1 WHERE id = 1")
