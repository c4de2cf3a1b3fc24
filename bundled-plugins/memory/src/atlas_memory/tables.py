"""The plugin's tables."""

from __future__ import annotations

from atlas_sdk.schema import Migration, Schema

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                "CREATE TABLE memory_receipt (id TEXT PRIMARY KEY, system TEXT NOT NULL, place TEXT NOT NULL, "
                "digest TEXT NOT NULL, conversation TEXT NOT NULL, call_id TEXT NOT NULL, at TEXT NOT NULL)",
                "CREATE INDEX memory_receipt_of_place ON memory_receipt (system, place)",
                "CREATE INDEX memory_receipt_of_conversation ON memory_receipt (conversation, at)",
                # A proposal keeps the entries it would change as they were when it was made, and is gone once settled.
                "CREATE TABLE memory_proposals (id TEXT PRIMARY KEY, place TEXT NOT NULL, conversation TEXT NOT NULL, "
                "operations TEXT NOT NULL, at TEXT NOT NULL)",
                # What was carried to another system: on the way home, what changed there replaces it.
                "CREATE TABLE memory_carried (system TEXT NOT NULL, known TEXT NOT NULL, digest TEXT NOT NULL, "
                "PRIMARY KEY (system, known))",
                # What was forgotten, as keyed hashes of its words, and where it had been said.
                "CREATE TABLE memory_tombstone (hash TEXT NOT NULL, words INTEGER NOT NULL, "
                "conversation TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (hash, conversation))",
            ),
        ),
        Migration(
            2,
            (
                # Their digests had no key, so that a short text could be guessed from one.
                "DELETE FROM memory_receipt",
                "UPDATE memory_carried SET digest = ''",
                # The conversations that had taught what was forgotten, and when.
                "CREATE TABLE memory_forgotten_source (conversation TEXT PRIMARY KEY, at TEXT NOT NULL)",
                # Why a proposal was not applied at once.
                "ALTER TABLE memory_proposals ADD COLUMN note TEXT NOT NULL DEFAULT ''",
            ),
        ),
        Migration(
            3,
            (
                # 1 where it had not been said, but been among what the agent knew.
                "ALTER TABLE memory_forgotten_source ADD COLUMN told INTEGER NOT NULL DEFAULT 0",
            ),
        ),
    )
)
