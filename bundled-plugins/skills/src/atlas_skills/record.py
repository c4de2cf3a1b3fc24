"""What Atlas keeps of a skill in its folder: who made it and when. The model cannot write it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from atlas_sdk.regular_file import read_regular
from atlas_sdk.whole_file import write_inside

FILE = ".atlas.json"
MOST_BYTES = 100_000
ORIGINS = frozenset({"user", "agent", "review", "marketplace", "atlas"})


@dataclass(frozen=True)
class Record:
    """Who made a skill, when, and when Atlas last changed it. It goes wherever the folder goes."""

    origin: str
    made_at: datetime
    changed_at: datetime


def read(folder: Path) -> Record | None:
    """Return what is kept of a skill, or None where nothing is, as of one a person put there."""
    try:
        told = json.loads(read_regular(folder / FILE, most_bytes=MOST_BYTES))
        made, changed = (datetime.fromisoformat(told[key]) for key in ("made_at", "changed_at"))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if told.get("origin") not in ORIGINS or made.tzinfo is None or changed.tzinfo is None:
        return None
    return Record(told["origin"], made, changed)


def write(folder: Path, record: Record) -> None:
    """Keep it."""
    told = {"origin": record.origin, "made_at": f"{record.made_at:%Y-%m-%dT%H:%M:%S%z}"}
    told["changed_at"] = f"{record.changed_at:%Y-%m-%dT%H:%M:%S%z}"
    write_inside(folder, folder / FILE, json.dumps(told))
