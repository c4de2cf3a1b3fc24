"""The vectors, a row a message: 384 numbers of one byte each behind a scale of four, and how far they go."""

from __future__ import annotations

from atlas_sdk.schema import Migration, Schema

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                """CREATE TABLE recall_vectors_vector (
                    message TEXT PRIMARY KEY, conversation TEXT NOT NULL, number INTEGER NOT NULL UNIQUE,
                    vector BLOB NOT NULL)""",
                "CREATE TABLE recall_vectors_state (model TEXT NOT NULL, after INTEGER NOT NULL)",
                "INSERT INTO recall_vectors_state VALUES ('', 0)",
            ),
        ),
    )
)
