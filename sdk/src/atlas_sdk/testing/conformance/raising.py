"""What must be raised, with a sentence when it was not."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, TypeVar

E = TypeVar("E", bound=Exception)


class raises(Generic[E]):  # noqa: N801  # it reads as the sentence it makes, like pytest's own
    """Demand that the block raises an error of this kind, and keep it."""

    def __init__(self, kind: type[E]) -> None:
        self._kind = kind
        self._error: E | None = None

    @property
    def error(self) -> E:
        """What was raised."""
        assert self._error is not None
        return self._error

    def __enter__(self) -> raises[E]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if error is None:
            raise AssertionError(f"It raised nothing, and {self._kind.__name__} is due.")
        if isinstance(error, self._kind):
            self._error = error
        return isinstance(error, self._kind)
