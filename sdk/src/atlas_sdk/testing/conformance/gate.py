"""What a gate promises: a decision with its reason, cards that can be answered, a yes that holds as long as said."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import anyio

from ...services.gate import GateRequest, GateService, Scope, Verdict
from ..suite import made, suite
from .patience import CANCEL_SECONDS, cancelled_after

MakeGate: TypeAlias = Callable[[Path], GateService | Awaitable[GateService]]
MakeRequest: TypeAlias = Callable[[Path], GateRequest]


@dataclass
class GateBench:
    """A gate, a call that it lets through, and one that it asks about."""

    gate: GateService
    harmless: GateRequest
    asked: GateRequest

    async def ask(self) -> Verdict:
        """Judge the call that it asks about."""
        verdict = await self.gate.judge(self.asked)
        assert verdict.decision == "ask", f"It said {verdict.decision} to the call it is to ask about."
        return verdict

    async def allow(self, scope: Scope) -> Verdict:
        """Have a person say yes to it."""
        return await self.gate.allow(self.asked, await self.ask(), scope)


def read_call(folder: Path) -> GateRequest:
    """Return a call that only reads."""
    return GateRequest(
        conversation="c1",
        turn="t1",
        call="k1",
        tool="read_file",
        plugin="files",
        arguments={"path": "a.txt"},
        folder=folder,
        read_only=True,
        reads=(folder / "a.txt",),
    )


def untrusted_call(folder: Path) -> GateRequest:
    """Return a call to a server that the user does not trust."""
    call = replace(read_call(folder), tool="send_mail", plugin="mail", arguments={"to": "ada@example.com"})
    return replace(call, read_only=False, reads=(), untrusted=True)


@suite("gate")
@asynccontextmanager
async def check_gate(
    make_gate: MakeGate, *, harmless: MakeRequest = read_call, asked: MakeRequest = untrusted_call
) -> AsyncIterator[GateBench]:
    """Check a GateService.

    ``make_gate`` makes one that has allowed nothing yet, over a folder that stands for the home; it may be
    async. ``harmless`` is a call that the gate lets through and ``asked`` one that it asks about, in that folder.
    """
    with tempfile.TemporaryDirectory(prefix="atlas-", ignore_cleanup_errors=True) as home:
        folder = Path(home)
        yield GateBench(await made(make_gate(folder)), harmless(folder), asked(folder))


@check_gate.promise
async def a_verdict_says_what_decided_and_why(bench: GateBench) -> None:
    """``rule`` is an id and ``why`` a sentence, whatever the decision."""
    for request in (bench.harmless, bench.asked):
        verdict = await bench.gate.judge(request)
        assert verdict.decision in ("allow", "ask", "deny")
        assert verdict.rule
        assert verdict.why.strip()
        assert verdict.by


@check_gate.promise
async def a_harmless_call_is_let_through(bench: GateBench) -> None:
    """A gate that asks about everything is turned off by its owner within a day."""
    assert (await bench.gate.judge(bench.harmless)).decision == "allow"


@check_gate.promise
async def an_ask_comes_with_a_card(bench: GateBench) -> None:
    """With a title, exactly what would run, why it is asked, and a time that is not over already."""
    card = (await bench.ask()).card

    assert card is not None
    assert card.title.strip()
    assert card.exact.strip()
    assert card.why.strip()
    assert card.expires_in is None or card.expires_in > 0


@check_gate.promise
async def a_card_shows_what_cannot_be_seen(bench: GateBench) -> None:
    """Characters that are invisible, or that turn text around, do not stand in ``exact`` as they are."""
    request = replace(bench.asked, arguments={"to": "a\u202egpj.exe\u200b\x1b[2K"})
    card = (await bench.gate.judge(request)).card

    assert card is not None
    assert not set("\u202e\u200b\x1b") & set(card.exact)


@check_gate.promise
async def an_interceptors_reason_is_never_let_through(bench: GateBench) -> None:
    """A hook can raise a verdict: with ``asks`` a harmless call is asked about, for that reason."""
    verdict = await bench.gate.judge(replace(bench.harmless, asks="The house rule says so."))

    assert verdict.decision in ("ask", "deny")
    assert "house rule" in verdict.why
    assert verdict.decision == "deny" or (verdict.card is not None and "house rule" in verdict.card.why)


@check_gate.promise
async def judging_changes_nothing(bench: GateBench) -> None:
    """The same call gets the same verdict again, and nothing in the working folder is touched."""
    before = sorted(str(path) for path in bench.asked.folder.rglob("*.txt"))

    assert await bench.gate.judge(bench.asked) == await bench.gate.judge(bench.asked)
    assert await bench.gate.judge(bench.harmless) == await bench.gate.judge(bench.harmless)
    assert sorted(str(path) for path in bench.asked.folder.rglob("*.txt")) == before


@check_gate.promise
async def calls_at_once_are_judged_each(bench: GateBench) -> None:
    """Read-only calls run together, so they are judged together."""
    verdicts: list[str] = []

    async def judge(request: GateRequest) -> None:
        verdicts.append((await bench.gate.judge(request)).decision)

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(judge, replace(bench.asked if number % 2 else bench.harmless, call=f"k{number}"))

    assert sorted(verdicts) == ["allow"] * 10 + ["ask"] * 10


@check_gate.promise
async def a_yes_for_once_is_for_once(bench: GateBench) -> None:
    """The call goes through, and the next one is asked about again."""
    assert (await bench.allow("once")).decision == "allow"

    assert (await bench.gate.judge(bench.asked)).decision == "ask"


@check_gate.promise
async def a_yes_for_the_conversation_ends_with_it(bench: GateBench) -> None:
    """The same call is let through there, and asked about in another conversation."""
    assert (await bench.allow("conversation")).decision == "allow"

    assert (await bench.gate.judge(bench.asked)).decision == "allow"
    assert (await bench.gate.judge(replace(bench.asked, conversation="c2"))).decision == "ask"


@check_gate.promise
async def a_yes_is_for_that_tool(bench: GateBench) -> None:
    """What was allowed to one tool is asked of another."""
    await bench.allow("conversation")

    other = replace(bench.asked, tool="another_tool", plugin="another")
    assert (await bench.gate.judge(other)).decision == "ask"


@check_gate.promise
async def always_is_kept_only_where_offered(bench: GateBench) -> None:
    """A card without ``always`` keeps nothing for longer than this call; one with it holds everywhere."""
    card = (await bench.ask()).card
    await bench.allow("always")

    offered = card is not None and bool(card.always)
    verdict = await bench.gate.judge(replace(bench.asked, conversation="c2"))
    assert verdict.decision == ("allow" if offered else "ask")


@check_gate.promise
async def cancelling_it_returns_within_a_second(bench: GateBench) -> None:
    """It is cancelled with the turn."""
    took = await cancelled_after(lambda: bench.gate.judge(bench.asked))

    assert took < CANCEL_SECONDS, f"It took {took:.1f} seconds."
