"""Names that models take: ``mcp__<server>__<tool>`` made to fit, each one once. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container

MOST_CHARS = 64
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_CHARS = 8


def fitting(server: str, tool: str, *, taken: Container[str] = ()) -> str:
    """Return the name of a server's tool. The same pair has the same name always, whatever its neighbours are called,
    except where two would have one name: then the later one ends in digits of its own."""
    name = f"mcp__{_OTHER.sub('_', server)}__{_OTHER.sub('_', tool)}"
    if len(name) <= MOST_CHARS and name not in taken:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_DIGEST_CHARS]
    return f"{name[: MOST_CHARS - _DIGEST_CHARS - 1]}_{digest}"
