"""The bill by purpose is the stand-in's own count: every request that reached it, under what it was for."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.hooks import ModelGo, Stage
from atlas_sdk.providers import Emit, ModelReply, ModelRequest
from atlas_sdk.records import ModelCall, Origin
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, ScriptedUsage, call, say
from atlas_sdk.testing.model_server import ModelServer
from atlas_usage.report import UsageReport

from .conftest import OpenHome, Probe, start, turn

pytestmark = pytest.mark.anyio
SIGNS = {
    "You review one shell command": "approval_review",
    "You sum up the older part": "compaction",
    "its title": "title",
    "What is it?": "background_review",
}


class StandIn:
    """Answers as each kind of request wants it, each with tokens of its own, and counts them."""

    match = None
    keep = True

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> Reply:
        text = json.dumps(body["messages"])
        purpose = next((purpose for sign, purpose in SIGNS.items() if sign in text), "turn")
        self.calls[purpose] += 1
        used = ScriptedUsage(input=100 + sum(self.calls.values()), output=7)
        self.tokens[purpose] += used.input
        if purpose == "approval_review":
            return say('{"verdict": "approve", "reason": "It is a cache."}', usage=used)
        if purpose == "turn" and body["messages"][-1]["role"] == "user" and "Tidy" in text.rpartition('"user"')[2]:
            return Reply(calls=(call("run_command", {"command": "rm -rf ./gone"}),), usage=used)
        return say("They tidied up.", usage=used)


class Reviews:
    """Marks what a review's copy asks, as the plugin that reviews does."""

    stage = Stage.POLICY

    def __init__(self) -> None:
        self.copies: set[str | None] = set()

    async def around_model_call(self, request: ModelRequest, emit: Emit, go: ModelGo) -> ModelReply:
        purpose = "background_review" if request.conversation in self.copies else request.purpose
        return await go(replace(request, purpose=purpose), emit)


async def test_the_bill_by_purpose_is_what_the_model_server_counted(
    open_home: OpenHome, probe: Probe, tmp_path: Path
) -> None:
    stand_in, reviews = StandIn(), Reviews()
    probe.hooks = [reviews]
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    (work / "gone").mkdir(parents=True)
    with ModelServer([stand_in]) as server:
        (home / "models.toml").write_text(
            f'[providers.standin]\nbase_url = "{server.url}/v1"\n'
            '[[models]]\nprovider = "standin"\nid = "stand-in-1"\ndefault = true\n'
        )
        async with open_home() as app:
            id = await start(app, provider="standin", folder=str(work), auto_mode=False)
            for said in ("Hello there." + " kettle" * 700, "Tidy up.", "And now?", "/compact", "Thank you."):
                await turn(app, id, said)
            copy = await start(app, provider="standin", origin=Origin(kind="review"))
            reviews.copies.add(copy)
            await turn(app, copy, "What is it?")
            store = app.services.need(STORE)
            with anyio.fail_after(5):
                while not all(row.ended_at for row in await store.find(ModelCall)) or not stand_in.calls["title"]:
                    await anyio.sleep(0.01)
            bill = await app.methods()["usage.report"].run(UsageReport(), None)
        asked = len(server.calls)

    assert stand_in.calls == {"turn": 5, "approval_review": 1, "compaction": 1, "title": 1, "background_review": 1}
    assert {row.name: row.calls for row in bill.by_purpose} == stand_in.calls
    assert {row.name: row.input_tokens for row in bill.by_purpose} == stand_in.tokens
    assert bill.total.calls == asked == 9
    assert not (work / "gone").exists()
