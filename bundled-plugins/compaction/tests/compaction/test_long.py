"""A conversation of two thousand messages: after each compaction the model still reads what it must not lose."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from atlas_sdk.providers import ModelReply, ModelRequest
from atlas_sdk.records import Checkpoint
from atlas_sdk.services.store import STORE

from .conftest import WINDOW, Brain, Open, calls, prompt, says, tokens

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # 100 turns of twenty messages against a real database
TASK = "The task for this whole week: move the kettle catalogue to the new shop, one kettle after the other."
RULES = {
    0: "Rule 1: never delete a kettle, only retire it.",
    3: "From now on answer me in two sentences at most.",
    15: "A partir de agora escreve os preços sempre em euros.",
    24: "Immer zuerst das Lager prüfen, bevor du einen Preis änderst.",
    38: "Rule 2: prices end in ,90.",
    39: "请始终保留原来的编号。",
    66: "Rule 2 is revoked: prices may end in anything from now on.",
    83: "Jamais de point d'exclamation dans les descriptions.",
}
TURNS, LOOKS = 100, 17


def sent(request: ModelRequest) -> list[str]:
    return [
        request.instructions,
        json.dumps([t.name for t in request.tools]),
        *(m.model_dump_json() for m in request.messages),
    ]


async def test_task_instruction_and_rules_are_read_after_each_compaction(open_talk: Open, brain: Brain) -> None:
    number = 0

    def turn(request: ModelRequest) -> ModelReply:
        if request.messages[-1].role == "tool":
            return says(f"Kettle {number} is moved.")
        look: Any = json.dumps({"text": f"Kettle {number}: steel, 1.7 litres, made in {request.messages[-1].id[-4:]}."})
        return calls(*[("look", look)] * LOOKS)

    brain.turn = turn
    asked: list[tuple[int, str, ModelRequest]] = []
    async with open_talk() as talk:
        for number in range(TURNS):
            said = f"Now kettle {number}, the one with the lid of type {number * 7}."
            if number in RULES:
                said = RULES[number] + "\n" + said
            before = len(brain.requests)
            await talk.say(TASK + "\n" + said if number == 0 else said)
            asked += [(number, said, request) for request in brain.requests[before:]]
        await talk.settled()
        whole = await talk.path(whole=True)
        made = await talk.app.services.need(STORE).find(Checkpoint, conversation=talk.id)

    assert len(whole) == TURNS * (LOOKS + 3) == 2000
    after = 0
    for (_, _, earlier), (at, said, request) in pairwise(asked):
        if sent(request)[: len(sent(earlier))] == sent(earlier):
            continue  # between compactions nothing moves
        after += 1
        assert request.messages[0].sender.name == "compaction"
        assert tokens(request) <= WINDOW * 0.7
        read = prompt(request)
        places = [read.rindex(rule) for number, rule in RULES.items() if number <= at]
        assert TASK in read
        assert said in read
        assert places == sorted(places)
    assert len(made) - 1 <= after <= len(made)  # the last may come after the last turn
    assert after > 20
