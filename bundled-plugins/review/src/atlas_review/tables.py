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
        Migration(
            3,
            # The copy that a review was begun in, that of one before it that is still to be told of, and how often
            # it could not be done.
            (
                "ALTER TABLE review_owed ADD COLUMN copy TEXT NOT NULL DEFAULT ''",
                "ALTER TABLE review_owed ADD COLUMN earlier TEXT NOT NULL DEFAULT ''",
                "ALTER TABLE review_owed ADD COLUMN failures INTEGER NOT NULL DEFAULT 0",
            ),
        ),
    )
)
