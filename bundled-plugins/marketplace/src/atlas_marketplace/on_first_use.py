"""A service that is made when it is first used: its libraries cost no start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class OnFirstUse:
    """Stands for what ``make`` returns, which is called once, by whoever uses it first."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = self._make()
        return getattr(self._made, name)
