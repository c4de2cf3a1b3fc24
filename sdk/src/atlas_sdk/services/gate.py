"""The approval gate: what may run, what must be asked, what never runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from ..values import Json
from . import ServiceKey

Scope: TypeAlias = Literal["once", "conversation", "always"]


@dataclass(frozen=True)
class GateRequest:
    """A call on its final arguments. ``command``, ``paths`` and ``reads`` are what the tool says they hold.

    ``attended`` is false where nobody can answer. ``asks`` is a reason an interceptor gave for asking.
    """

    conversation: str
    turn: str
    call: str
    tool: str
    plugin: str
    arguments: Json
    folder: Path
    read_only: bool = False
    command: str | None = None
    paths: tuple[Path, ...] = ()
    reads: tuple[Path, ...] = ()
    untrusted: bool = False
    auto_mode: bool = False
    attended: bool = True
    asks: str = ""


@dataclass(frozen=True)
class Card:
    """What a person is shown before they answer. ``exact`` is what would run, invisible characters made visible.

    ``always`` is the rule that "always" would save, empty where that is not on offer. ``expires_in`` is in seconds.
    """

    title: str
    exact: str
    why: str
    parts: tuple[str, ...] = ()
    always: str = ""
    expires_in: float | None = None


@dataclass(frozen=True)
class Verdict:
    """The gate's answer. ``rule`` is the id of what decided and ``by`` who: ``rule``, ``reviewer`` or ``settings``.

    ``why`` is one sentence: written for the person on an ask, for the model on a deny. ``card`` comes with an ask.
    """

    decision: Literal["allow", "ask", "deny"]
    rule: str
    why: str
    by: str = "rule"
    card: Card | None = None
    detail: Json = field(default=None, compare=False)


class GateService(Protocol):
    """Judges calls. Missing, slow or broken, it counts as a refusal: the kernel sees to that."""

    async def judge(self, request: GateRequest) -> Verdict:
        """Decide on one call. It may ask a reviewer, and is cancelled with the turn."""

    async def allow(self, request: GateRequest, verdict: Verdict, scope: Scope) -> Verdict:
        """A person answered an ask with yes, for ``scope``: keep it, and give the final verdict.

        It looks again at what it judged: where a script has changed meanwhile the answer is another ask.
        """


GATE: ServiceKey[GateService] = ServiceKey("gate", 1)
