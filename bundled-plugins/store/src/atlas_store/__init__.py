"""SQLite store: conversations, messages, the ledger and the tables of plugins."""
