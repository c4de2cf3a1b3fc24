"""The promises of a store: its records, its events, its tables."""

from __future__ import annotations

from . import store_events, store_records, store_tables  # they add their promises
from .store_bench import check_store

__all__ = ["check_store", "store_events", "store_records", "store_tables"]
