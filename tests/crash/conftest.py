"""The homes of the journeys and of the kernel's tests: what is broken here is a server's process or its disk."""

from __future__ import annotations

from ..journeys.conftest import atlas, model
from ..kernel.conftest import bundled, open_home, probe
from .faults import faults

__all__ = ["atlas", "bundled", "faults", "model", "open_home", "probe"]
