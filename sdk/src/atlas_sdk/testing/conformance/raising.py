"""What must be raised, with a sentence when it was not."""

from __future__ import annotations

from types import TracebackType


class raises:  # noqa: N801  # it reads as the sentence it makes, like pytest's own
    """Demand that the block raises an error of this kind; it is kept in ``error``."""

    def __init__(self, kind: type[Exception]) -> None:
        self._kind = kind
        self.error: Exception | None = None

    def __enter__(self) -> raises:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if error is None:
            raise AssertionError(f"It raised nothing, and {self._kind.__name__} is due.")
        if isinstance(error, self._kind):
            self.error = error
            return True
        return False
