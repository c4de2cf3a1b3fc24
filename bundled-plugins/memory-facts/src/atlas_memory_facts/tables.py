"""The plugin's tables."""

from __future__ import annotations

from atlas_sdk.schema import Migration, Schema

_MEMORY = """CREATE TABLE memory_facts_memory (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL, owner_id TEXT NOT NULL, scope_type TEXT NOT NULL, scope_id TEXT NOT NULL,
    category TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, said TEXT NOT NULL,
    confidence REAL NOT NULL, promote_target TEXT,
    source_id TEXT NOT NULL, source_type TEXT NOT NULL, source_name TEXT NOT NULL, source_description TEXT NOT NULL,
    session_id TEXT NOT NULL, run_id TEXT NOT NULL, source_message_id TEXT NOT NULL,
    archived_at TEXT, archived_by TEXT, archive_reason TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
    UNIQUE (agent_id, owner_id, scope_type, scope_id, key))"""

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                # The number is named because VACUUM may change rowids that are not, and the mirror goes by it.
                _MEMORY,
                # What a value says, whatever its case and spacing: a digest of its words finds it again.
                "CREATE INDEX memory_facts_memory_of_said ON memory_facts_memory (said)",
                "CREATE VIRTUAL TABLE memory_facts_words USING fts5(key, value, content='memory_facts_memory', "
                "content_rowid='number', tokenize='unicode61 remove_diacritics 2')",
                "CREATE TRIGGER memory_facts_added AFTER INSERT ON memory_facts_memory BEGIN "
                "INSERT INTO memory_facts_words(rowid, key, value) VALUES (new.number, new.key, new.value); END",
                "CREATE TRIGGER memory_facts_erased AFTER DELETE ON memory_facts_memory BEGIN "
                "INSERT INTO memory_facts_words(memory_facts_words, rowid, key, value) "
                "VALUES ('delete', old.number, old.key, old.value); END",
                "CREATE TRIGGER memory_facts_changed AFTER UPDATE OF key, value ON memory_facts_memory BEGIN "
                "INSERT INTO memory_facts_words(memory_facts_words, rowid, key, value) "
                "VALUES ('delete', old.number, old.key, old.value); "
                "INSERT INTO memory_facts_words(rowid, key, value) VALUES (new.number, new.key, new.value); END",
                # Where facts come from: a conversation, a job, another memory system.
                "CREATE TABLE memory_facts_source (id TEXT PRIMARY KEY, type TEXT NOT NULL, name TEXT NOT NULL, "
                "description TEXT NOT NULL, agent_id TEXT NOT NULL, owner_id TEXT NOT NULL, "
                "scope_type TEXT NOT NULL, scope_id TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL)",
                # The prompt files as they were: ``changes`` counts the changes of facts a text was rendered from.
                "CREATE TABLE memory_facts_revision (agent_id TEXT NOT NULL, resource TEXT NOT NULL, "
                "revision INTEGER NOT NULL, content TEXT NOT NULL, digest TEXT NOT NULL, cause TEXT NOT NULL, "
                "at TEXT NOT NULL, PRIMARY KEY (agent_id, resource, revision))",
                "CREATE TABLE memory_facts_rendered (agent_id TEXT NOT NULL, resource TEXT NOT NULL, "
                "changes INTEGER NOT NULL, PRIMARY KEY (agent_id, resource))",
                "CREATE TABLE memory_facts_changes (id INTEGER PRIMARY KEY, count INTEGER NOT NULL)",
                "INSERT INTO memory_facts_changes (id, count) VALUES (1, 0)",
                # What was written and not booked yet: a crash in between leaves it here for the next start.
                "CREATE TABLE memory_facts_unbooked (id TEXT NOT NULL, conversation TEXT NOT NULL, "
                "call_id TEXT NOT NULL, PRIMARY KEY (id, conversation))",
                # How far a conversation was reviewed, and who reviews it at the moment.
                "CREATE TABLE memory_facts_review (agent_id TEXT NOT NULL, conversation TEXT NOT NULL, "
                "last_message TEXT NOT NULL, reviewed_at TEXT, claim TEXT, claimed_at TEXT, failed_at TEXT, "
                "failures INTEGER NOT NULL, behind INTEGER NOT NULL, PRIMARY KEY (agent_id, conversation))",
            ),
        ),
        Migration(
            2,
            (
                # When what a row says was said, which may be long before a review wrote it down.
                "ALTER TABLE memory_facts_memory ADD COLUMN as_of TEXT NOT NULL DEFAULT ''",
                "UPDATE memory_facts_memory SET as_of = coalesce(archived_at, updated_at)",
            ),
        ),
        # The process that reviews, so that a claim ends with it also where it was killed.
        Migration(3, ("ALTER TABLE memory_facts_review ADD COLUMN claimed_by TEXT NOT NULL DEFAULT ''",)),
    )
)
