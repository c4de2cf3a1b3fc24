"""The plugin's table."""

from __future__ import annotations

from atlas_sdk.schema import Migration, Schema

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                # A row for each time a skill was loaded. ``state`` is open, success, failure, corrected or read.
                "CREATE TABLE skills_use (id TEXT PRIMARY KEY, bot TEXT NOT NULL, name TEXT NOT NULL, "
                "conversation TEXT NOT NULL, turn TEXT NOT NULL, state TEXT NOT NULL, at TEXT NOT NULL)",
                "CREATE INDEX skills_use_of_skill ON skills_use (bot, name)",
            ),
        ),
    )
)
