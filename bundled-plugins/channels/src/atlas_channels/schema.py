"""The tables ``channels_…``."""

from __future__ import annotations

from atlas_sdk.schema import Migration, Schema

SCHEMA = Schema(
    (
        Migration(
            1,
            (
                "CREATE TABLE channels_person (channel TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL, "
                "since TEXT NOT NULL, PRIMARY KEY (channel, person))",
                "CREATE TABLE channels_code (channel TEXT NOT NULL, person TEXT NOT NULL, chat TEXT NOT NULL, "
                "name TEXT NOT NULL, code TEXT NOT NULL, since TEXT NOT NULL, answers INTEGER NOT NULL, "
                "PRIMARY KEY (channel, person))",
                "CREATE TABLE channels_guess (at TEXT NOT NULL)",
                # The conversation is empty until the next message begins one.
                "CREATE TABLE channels_chat (channel TEXT NOT NULL, chat TEXT NOT NULL, person TEXT NOT NULL, "
                "conversation TEXT NOT NULL, PRIMARY KEY (channel, chat))",
                "CREATE TABLE channels_conversation (conversation TEXT PRIMARY KEY, channel TEXT NOT NULL, "
                "chat TEXT NOT NULL)",
                "CREATE TABLE channels_inbound (channel TEXT NOT NULL, chat TEXT NOT NULL, message TEXT NOT NULL, "
                "conversation TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (channel, chat, message))",
                "CREATE TABLE channels_outbox (number INTEGER PRIMARY KEY, channel TEXT NOT NULL, "
                "chat TEXT NOT NULL, kind TEXT NOT NULL, source TEXT NOT NULL UNIQUE, subject TEXT NOT NULL, "
                "data TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER NOT NULL, failing_since TEXT, "
                "at TEXT NOT NULL, ended_at TEXT)",
                "CREATE INDEX channels_outbox_waiting ON channels_outbox (channel, state, chat, number)",
                "CREATE INDEX channels_outbox_subject ON channels_outbox (subject)",
                "CREATE TABLE channels_cursor (name TEXT PRIMARY KEY, number INTEGER NOT NULL)",
            ),
        ),
        Migration(2, ("ALTER TABLE channels_person ADD COLUMN guest INTEGER NOT NULL DEFAULT 0",)),
    )
)
