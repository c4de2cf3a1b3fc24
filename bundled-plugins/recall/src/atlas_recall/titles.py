"""Conversations found by their titles."""

from __future__ import annotations

from atlas_sdk.records import Conversation
from atlas_sdk.services.store import Reading

from .index import title_key
from .query import Query
from .search import Scope

MOST = 5


def titled(reading: Reading, query: Query, text: str, scope: Scope) -> tuple[tuple[Conversation, ...], bool]:
    """Return the conversations whose title is the query, else those whose title has all its words, and which it was."""
    exact = _read(reading, scope, "r.title = :key AND r.title != ''", key=title_key(text.strip().strip('"')))
    if exact:
        return exact, True
    if not query.alternatives:
        return (), False
    match = " OR ".join(f"({one.match()})" for one in query.alternatives)
    inside = "r.no IN (SELECT rowid FROM recall_title WHERE recall_title MATCH :match)"
    return _read(reading, scope, inside, match=match), False


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
