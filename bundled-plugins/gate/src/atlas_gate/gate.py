"""The service: every call on its final arguments, judged by the rules, the reviewer and what was allowed before."""

from __future__ import annotations

import os
from pathlib import Path

import anyio.to_thread

from atlas_gate.cards import command_card, tool_card
from atlas_gate.file_rules import FileFinding, judge_guest_path, judge_path
from atlas_gate.grants import Grants, Mark
from atlas_gate.ground import other_homes, real_world
from atlas_gate.judgement import Judgement
from atlas_gate.reviewer import DENIALS_TO_STOP, review
from atlas_gate.rules import Verdict as Strictness
from atlas_gate.settings import TrustSettings
from atlas_sdk.context import PluginContext
from atlas_sdk.guests import guest_spoke
from atlas_sdk.records import Conversation
from atlas_sdk.sections import WorkspaceSettings
from atlas_sdk.services.gate import GateRequest, Scope, Verdict
from atlas_sdk.services.store import STORE, Reading
from atlas_sdk.services.tools import TOOLS

STOP_TRYING = (
    " That is the third refusal of the reviewer in a row: stop trying variations of this, "
    "and tell the user what you wanted to do and why."
)


class Gate:
    """The gate of one home."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._grants = Grants(ctx)
        self._denials: dict[str, int] = {}

    async def judge(self, request: GateRequest) -> Verdict:
        """Decide on a call: the files it names, then the command, then what an interceptor wants asked."""
        guests = await self._guests_read(request.conversation)
        asked: Verdict | None = None
        for path, writes in (
            *((path, True) for path in request.paths),
            *((path, False) for path in self._reads(request)),
        ):
            found = self._path(path, writes=writes, guests=guests)
            if found is not None and found.verdict is Strictness.BLOCK:
                return Verdict("deny", found.rule, f"Not done: {found.why}")
            if found is not None:
                title = "Change this file?" if writes else "Read this?"
                card = tool_card(request, title, found.why, expires_in=self._wait())
                ask = Verdict("ask", found.rule, found.why, card=card)
                asked = await self._unless_granted(request, None, ask, guests=guests)
        if request.command is not None:
            verdict = await self._command(request, guests=guests)
        elif request.untrusted and not request.read_only:
            why = f"{request.tool} belongs to a server you do not trust."
            card = tool_card(request, "Allow this call?", why, expires_in=self._wait())
            ask = Verdict("ask", "tool.untrusted", why, card=card)
            verdict = await self._unless_granted(request, None, ask, guests=guests)
        else:
            verdict = Verdict("allow", "tool", "No rule applies to it.")
        if verdict.decision == "deny" or asked is None:
            asked = verdict
        if request.asks and asked.decision == "allow":
            return self._asked_by_hook(request)
        return asked

    async def allow(self, request: GateRequest, verdict: Verdict, scope: Scope) -> Verdict:
        """A person said yes: judge once more, for what it would run may have changed under the question."""
        mark_then, guests = verdict.detail, await self._guests_read(request.conversation)
        judgement = await self._judged(request, guests=guests) if request.command is not None else None
        if judgement is not None and judgement.verdict is Strictness.BLOCK:
            return Verdict("deny", judgement.rule, _never(judgement))
        mark = Mark.of(request, judgement, guests=guests)
        if isinstance(mark_then, str) and mark_then != mark.digest:
            return await self.judge(request)
        if scope == "conversation":
            await self._grants.add(mark, verdict.rule, conversation=request.conversation)
        elif scope == "always" and verdict.card is not None and verdict.card.always:
            await self._grants.add(mark, verdict.rule, conversation=None)
        self._denials.pop(request.conversation, None)
        return Verdict("allow", verdict.rule, "The user allowed it.", by="person")

    async def _guests_read(self, id: str) -> bool:
        """Whether a guest spoke where a call comes from, or who it works for: what comes of it is told there."""

        def work(reading: Reading) -> bool:
            rows = reading.rows("SELECT data FROM conversation WHERE id = :id", id=id)
            found = [Conversation.model_validate_json(row["data"]) for row in rows]
            return any(guest_spoke(reading, one) for one in found)

        store = self._ctx.services.get(STORE)
        return store is not None and await store.read(work)

    def _reads(self, request: GateRequest) -> tuple[Path, ...]:
        """Return what a call reads; a tool that is given no path reads the folder it works in."""
        tools = self._ctx.services.get(TOOLS)
        tool = tools.find(request.tool) if tools is not None and not request.reads else None
        return (request.folder,) if tool is not None and tool.reads else request.reads

    def _path(self, path: Path, *, writes: bool, guests: bool) -> FileFinding | None:
        home, own = Path.home(), self._ctx.home
        others = other_homes(home, own)
        found = judge_path(path, writes=writes, home=home, atlas_home=own, others=others)
        if not guests or (found is not None and found.verdict is Strictness.BLOCK):
            return found
        return judge_guest_path(path, atlas_home=own, others=others, workspace=self._workspace()) or found

    def _workspace(self) -> str:
        folder = self._ctx.section(WorkspaceSettings).folder
        return str(Path(folder).expanduser()) if folder else ""

    async def _command(self, request: GateRequest, *, guests: bool) -> Verdict:
        judgement = await self._judged(request, guests=guests)
        if judgement.verdict is Strictness.BLOCK:
            by = "settings" if judgement.rule == "trust.deny" else "rule"
            return Verdict("deny", judgement.rule, _never(judgement), by=by)
        if judgement.verdict is Strictness.RUN:
            return Verdict("allow", judgement.rule, judgement.why)
        if judgement.verdict is Strictness.ASK:
            ask = self._ask(request, judgement, judgement.why, guests=guests)
            return await self._unless_granted(request, judgement, ask, guests=guests)
        ask = self._ask(request, judgement, judgement.why, guests=guests)
        held = await self._unless_granted(request, judgement, ask, guests=guests)
        return held if held.decision == "allow" else await self._reviewed(request, judgement, guests=guests)

    async def _reviewed(self, request: GateRequest, judgement: Judgement, *, guests: bool) -> Verdict:
        said = await review(self._ctx, request, judgement)
        if said.verdict == "approve":
            self._denials.pop(request.conversation, None)
            return Verdict("allow", judgement.rule, said.reason, by="reviewer")
        if said.verdict == "deny":
            count = self._denials[request.conversation] = self._denials.get(request.conversation, 0) + 1
            why = f"Not run: {judgement.why} The reviewer refused it: {said.reason}"
            return Verdict(
                "deny", judgement.rule, why + (STOP_TRYING if count >= DENIALS_TO_STOP else ""), by="reviewer"
            )
        why = f"{judgement.why} The reviewer is unsure: {said.reason}."
        return self._ask(request, judgement, why, guests=guests)

    def _ask(self, request: GateRequest, judgement: Judgement, why: str, *, guests: bool) -> Verdict:
        card = command_card(request, judgement, why, expires_in=self._wait())
        return Verdict("ask", judgement.rule, why, card=card, detail=Mark.of(request, judgement, guests=guests).digest)

    def _asked_by_hook(self, request: GateRequest) -> Verdict:
        if request.command is not None:
            unread = Judgement(Strictness.ASK, "hook", request.asks, (), (), None)
            card = command_card(request, unread, request.asks, expires_in=self._wait())
        else:
            card = tool_card(request, "Allow this call?", request.asks, expires_in=self._wait())
        return Verdict("ask", "hook", request.asks, by="hook", card=card)

    async def _unless_granted(
        self, request: GateRequest, judgement: Judgement | None, ask: Verdict, *, guests: bool
    ) -> Verdict:
        mark = Mark.of(request, judgement, guests=guests)
        if await self._grants.holds(mark, request.conversation):
            return Verdict("allow", ask.rule, "The user allowed it before.", by="grant")
        return ask

    async def _judged(self, request: GateRequest, *, guests: bool) -> Judgement:
        world = real_world(
            home=Path.home(),
            atlas_home=self._ctx.home,
            cwd=request.folder,
            auto_mode=request.auto_mode,
            trust=self._ctx.section(TrustSettings),
            environment={**os.environ, "ATLAS_HOME": str(self._ctx.home)},
            guests=guests,
            workspace=self._workspace(),
        )

        def judged() -> Judgement:
            from atlas_gate.judge import judge

            return judge(request.command or "", world)

        return await anyio.to_thread.run_sync(judged)

    def _wait(self) -> float:
        return float(self._ctx.section(TrustSettings).approval_timeout)


def _never(judgement: Judgement) -> str:
    """Write a refusal for the model: which rule, and that no other spelling is welcome."""
    return f"Not run: {judgement.why} It is refused in every mode; do not try it another way. (rule {judgement.rule})"
