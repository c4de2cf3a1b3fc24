"""The index's tables. What is to be indexed is marked in the very transaction that writes a message.

The marks are made by triggers on the store's own tables, so nothing that is on disk can be missed: not after ``kill
-9``, not when the plugin was off for a while. A trigger only ever adds one short row; the work is done later, where an
error of the index can cost no message.
"""

from __future__ import annotations

from atlas_sdk.schema import Migration, Schema

TOKENS = "tokenize = 'porter unicode61 remove_diacritics 2'"
"""Accents are ignored and English endings taken off. Porter's rules touch little of other languages."""

_MARK = """
    CREATE TRIGGER recall_{name} AFTER {what} ON {table} {when}
    BEGIN
        INSERT INTO recall_pending SELECT '{kind}', {row}.id
        WHERE NOT EXISTS (SELECT 1 FROM recall_pending WHERE kind = '{kind}' AND id = {row}.id);
    END
"""
_RENAMED = "WHEN json_extract(NEW.data, '$.title') IS NOT json_extract(OLD.data, '$.title')"


def _mark(name: str, what: str, table: str, kind: str, row: str = "NEW", when: str = "") -> str:
    return _MARK.format(name=name, what=what, table=table, kind=kind, row=row, when=when)


SCHEMA = Schema(
    (
        Migration(
            1,
            (
                "CREATE TABLE recall_pending (kind TEXT, id TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID",
                # How far an older conversation is that is too long for one batch.
                "CREATE TABLE recall_progress (conversation TEXT PRIMARY KEY, after TEXT NOT NULL) WITHOUT ROWID",
                # A row is the conversation's number, 20 bits on, and the place in it: neighbours differ by 1.
                """CREATE TABLE recall_message (
                    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, number INTEGER NOT NULL UNIQUE,
                    role TEXT NOT NULL, who TEXT NOT NULL, at REAL NOT NULL)""",
                """CREATE TABLE recall_conversation (
                    no INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, agent TEXT NOT NULL, title TEXT NOT NULL,
                    next INTEGER NOT NULL, outputs INTEGER NOT NULL, first_at REAL NOT NULL, last_at REAL NOT NULL)""",
                "CREATE INDEX recall_conversation_of_agent ON recall_conversation (agent, no)",
                "CREATE INDEX recall_conversation_of_title ON recall_conversation (title)",
                "CREATE TABLE recall_name (name TEXT PRIMARY KEY) WITHOUT ROWID",
                "CREATE TABLE recall_count (number INTEGER NOT NULL, messages INTEGER NOT NULL)",
                "INSERT INTO recall_count VALUES (0, 0)",
                f"CREATE VIRTUAL TABLE recall_text USING fts5(body, {TOKENS})",
                f"CREATE VIRTUAL TABLE recall_output USING fts5(body, {TOKENS})",
                f"CREATE VIRTUAL TABLE recall_title USING fts5(body, {TOKENS})",
                _mark("added", "INSERT", "message", "message"),
                _mark("changed", "UPDATE OF data", "message", "message"),
                _mark("removed", "DELETE", "message", "message", row="OLD"),
                _mark("renamed", "UPDATE OF data", "conversation", "title", when=_RENAMED),
                # What an older home holds is indexed in the background, conversation by conversation.
                "INSERT INTO recall_pending SELECT 'conversation', id FROM conversation",
            ),
        ),
    )
)
