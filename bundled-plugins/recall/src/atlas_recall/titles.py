"""Conversations found by their titles."""

from __future__ import annotations

from atlas_sdk.records import Conversation
from atlas_sdk.services.store import Reading

from .index import PLACE_BITS, title_key
from .query import Query
from .search import Scope

MOST = 5
_OF_IT = f"rowid BETWEEN r.no << {PLACE_BITS} AND ((r.no + 1) << {PLACE_BITS}) - 1"
"""Which rows of the index are messages of the conversation ``r``."""


def titled(reading: Reading, query: Query, text: str, scope: Scope) -> tuple[tuple[Conversation, ...], bool]:
    """Return the conversations whose title is the query, else those whose title has all its words, and which it was.

    One that holds what the query rules out, in its title or in a message, is none of the second.
    """
    exact = _read(reading, scope, "r.title = :key AND r.title != ''", key=title_key(text.strip().strip('"')))
    if exact:
        return exact, True
    if not query.alternatives:
        return (), False
    found: dict[str, Conversation] = {}
    for one in query.alternatives:
        inside = "r.no IN (SELECT rowid FROM recall_title WHERE recall_title MATCH :match)"
        values = {"match": one.match()}
        if one.without:
            inside += f" AND NOT EXISTS (SELECT 1 FROM recall_text WHERE recall_text MATCH :barred AND {_OF_IT})"
            values["barred"] = " OR ".join(term.match for term in one.without)
        found.update((record.id, record) for record in _read(reading, scope, inside, **values))
    newest = sorted(found.values(), key=lambda record: record.id, reverse=True)
    return tuple(newest[:MOST]), False


def _read(reading: Reading, scope: Scope, where: str, **values: str) -> tuple[Conversation, ...]:
    rows = reading.rows(
        f"""SELECT c.data FROM recall_conversation r JOIN conversation c ON c.id = r.id
        WHERE {where} AND r.id != :current AND (:agent = '' OR r.agent = :agent)
        AND (:only = '' OR r.id = :only)
        AND (:after < 0 OR r.last_at >= :after) AND (:before < 0 OR r.first_at < :before)
        ORDER BY r.no DESC LIMIT 50""",
        current=scope.current,
        agent=scope.agent or "",
        only=scope.only,
        after=-1.0 if scope.after is None else scope.after,
        before=-1.0 if scope.before is None else scope.before,
        **values,
    )
    found = [Conversation.model_validate_json(row["data"]) for row in rows]
    return tuple(record for record in found if record.id not in scope.exclude)[:MOST]
