"""A gate that decides as the test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Literal, TypeAlias

from anyio.lowlevel import checkpoint

from ..services.gate import Card, GateRequest, Scope, Verdict

Decision: TypeAlias = Literal["allow", "ask", "deny"]


class FakeGate:
    """A GateService. ``decide`` is what it says to every call, or a function of the call.

    It keeps what a person allowed for the conversation or for always, and asks whatever it would have said
    when an interceptor wants the person asked.
    """

    def __init__(self, decide: Decision | Callable[[GateRequest], Decision | Verdict] = "allow") -> None:
        self.judged: list[GateRequest] = []
        """Every call it was shown."""
        self.allowed: list[tuple[GateRequest, Scope]] = []
        """What persons allowed, and for how long."""
        self._decide = decide

    async def judge(self, request: GateRequest) -> Verdict:
        """Decide on one call."""
        await checkpoint()
        self.judged.append(request)
        said = self._decide if isinstance(self._decide, str) else self._decide(request)
        if isinstance(said, Verdict):
            return said
        if request.asks and said == "allow":
            return _asked(request, request.asks)
        if said == "ask":
            held = any(_covers(scope, allowed, request) for allowed, scope in self.allowed)
            return Verdict("allow", "fake", "It was allowed before.", by="grant") if held else _asked(request, "Is it?")
        return Verdict(said, "fake", "The test lets it." if said == "allow" else "Not run: the test refuses it.")

    async def allow(self, request: GateRequest, verdict: Verdict, scope: Scope) -> Verdict:
        """A person said yes."""
        await checkpoint()
        if scope != "always" or (verdict.card is not None and verdict.card.always):
            self.allowed.append((request, scope))
        return Verdict("allow", verdict.rule, "The user allowed it.", by="person")


def _asked(request: GateRequest, why: str) -> Verdict:
    exact = request.command or f"{request.tool} {json.dumps(request.arguments, ensure_ascii=False, sort_keys=True)}"
    exact = "".join(one if one.isprintable() or one == "\n" else f"\\u{ord(one):04x}" for one in exact)
    card = Card("Allow this call?", exact, why, always="" if request.asks else exact)
    return Verdict("ask", "fake", why, card=card)


def _covers(scope: Scope, allowed: GateRequest, request: GateRequest) -> bool:
    same = (allowed.tool, allowed.arguments, allowed.folder) == (request.tool, request.arguments, request.folder)
    return same and (scope == "always" or (scope == "conversation" and allowed.conversation == request.conversation))
