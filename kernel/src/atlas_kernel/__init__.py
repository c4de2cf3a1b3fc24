"""The microkernel of Atlas: it loads plugins, runs turns and owns nothing else."""

from __future__ import annotations

__version__ = "0.1.0"
