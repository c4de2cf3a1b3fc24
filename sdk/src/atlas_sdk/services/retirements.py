"""What the marketplace took off and stopped in this home. Provided by the marketplace plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from . import ServiceKey


class RetirementsService(Protocol):
    """Says why something that was here is here no more, to whoever is asked for it."""

    def sentences(self, kind: Literal["skill", "mcp", "plugin"]) -> Mapping[str, str]:
        """Return by its name what was stopped, each with a sentence that says so and why.

        It waits for nothing: it is asked while an error is being written. What cannot be read is left out.
        """


RETIREMENTS: ServiceKey[RetirementsService] = ServiceKey("retirements", 1)
