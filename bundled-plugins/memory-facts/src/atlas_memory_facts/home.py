"""The facts of a home, as this plugin's own hooks reach them."""

from __future__ import annotations

from atlas_sdk.context import PluginContext
from atlas_sdk.services import ServiceKey

from .system import Facts
from .watch import Watch


class FactsOfHome:
    """The memory system, and who watches turns for its reviewer."""

    def __init__(self, ctx: PluginContext) -> None:
        self.system = Facts(ctx)
        self.watch = Watch(self.system)


FACTS: ServiceKey[FactsOfHome] = ServiceKey("memory_facts", 1)
