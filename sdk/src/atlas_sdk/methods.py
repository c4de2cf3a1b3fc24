"""Methods of the wire: what a client may ask, by JSON-RPC 2.0."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from pydantic import BaseModel

Inside: TypeAlias = Literal["open", "alone", "closed"]
"""Whether a program that Atlas itself runs may ask: always (``open``); while no guest reads along in a turn that runs,
since it tells what is the owner's or acts for them (``alone``); or never, since it decides for them (``closed``)."""


class Caller(Protocol):
    """The client that asks: its name and id, for "who answered" and for texts it sends."""

    @property
    def id(self) -> str:
        """The connection's id."""

    @property
    def name(self) -> str:
        """What the client called itself at ``initialize``."""

    async def is_inside(self) -> bool:
        """Whether a program that Atlas itself runs is asking: one that must not answer for the user."""


@dataclass(frozen=True)
class Method:
    """A method ``noun.verb``. ``params`` and ``result`` are its shapes, from which the schema is printed.

    ``run`` gets validated params and returns a result model; it may raise AtlasError, which the client reads
    as a code, a sentence and a way out. It is cancelled when the client goes away. ``inside`` is kept by the gateway.
    """

    name: str
    params: type[BaseModel]
    result: type[BaseModel]
    run: Callable[[Any, Caller], Awaitable[BaseModel]]
    description: str
    inside: Inside = "alone"
