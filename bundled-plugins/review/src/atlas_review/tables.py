"""The plugin's tables."""

from __future__ import annotations

from atlas_sdk.schema import Migration, Schema

SCHEMA = Schema(
    (
        Migration(
            1,
            # When the curator passed last; the first pass of a home only records itself.
            ("CREATE TABLE review_state (key TEXT PRIMARY KEY, value TEXT NOT NULL)",),
        ),
        Migration(
            2,
            # A review that is due, until it ended: the process may end before.
            (
                "CREATE TABLE review_owed (conversation TEXT PRIMARY KEY, memory INTEGER NOT NULL, "
                "skills INTEGER NOT NULL)",
            ),
        ),
    )
)
