"""JSON values, for modules that must stay quick to import."""

from __future__ import annotations

from typing import Any, TypeAlias

Json: TypeAlias = Any
"""Any JSON value. JSON has no narrower type in Python that is pleasant to use."""
