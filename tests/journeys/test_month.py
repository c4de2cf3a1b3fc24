"""A month with the agent: thirty conversations, reviews, proposals, restarts, a switch of memory systems and back.

At its end the right things are known, each once, and the bill by purpose is what the stand-in counted itself.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from atlas_gateway.client import WebSocketClient
from atlas_sdk.testing.model_server import ModelServer, Reply, call, say

from .conftest import AtlasHome, until

CONVERSATIONS = 31
REVIEWED_MESSAGES = 10
REMEMBER = re.compile(r"Remember(?: of (work))?: ([^.]+\.)")
NOTES = {
    "user": ["Lives in Lisbon.", "Has a cat called Miso.", "Prefers metric units."],
    "work": ["The printer takes PDF alone."],
}
CHANGED = ("Lives in Lisbon.", "Lives in Porto.")
TAUGHT = "Drinks tea without sugar."
LATER = "Runs on Sundays."
SKILL = """---
name: weekly-report
description: Write the weekly report from the notes of the week. Use when the user asks for it.
---
List what was done, then what is open. Three lines at most.
"""


class Companion:
    """A model that saves what it is told to remember, and keeps in reviews what the conversation taught."""

    match = None
    keep = True

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, body: dict[str, Any]) -> Reply:
        system, said, since = _read(body)
        purpose = _purpose(system, said)
        self.asked[purpose] += 1
        if purpose == "title":
            return say("A day in the month")
        if purpose == "memory_review":
            return say(_operations(said))
        if purpose == "background_review":
            return say("Nothing to save.") if since else _review(body)
        wanted = REMEMBER.search(said)
        if wanted and not since and any(tool["function"]["name"] == "memory" for tool in body["tools"]):
            target = "memory" if wanted[1] else "user"
            return Reply(calls=(call("memory", {"target": target, "action": "add", "content": wanted[2]}),))
        return say("Noted." if since else "Yes.")


def _read(body: dict[str, Any]) -> tuple[str, str, int]:
    """Return the instructions, what was said last, and how often the model answered since."""
    system = "\n".join(str(one["content"]) for one in body["messages"] if one["role"] in ("system", "developer"))
    said, since = "", 0
    for message in body["messages"]:
        if message["role"] == "user":
            said, since = _text(message["content"]), 0
        elif message["role"] == "assistant":
            since += 1
    return system, said, since


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def _purpose(system: str, said: str) -> str:
    if "gives a conversation" in system or "You give a conversation" in system:
        return "title"
    if "long-term memory of a personal agent" in system:
        return "memory_review"
    return "background_review" if "You are the background review" in said else "turn"


def _review(body: dict[str, Any]) -> Reply:
    """Add what was taught, change what no longer holds, and keep how a report is written."""
    whole = json.dumps(body["messages"])
    calls = []
    if TAUGHT in whole and "Memory. Save what holds" in whole:
        calls.append(call("memory", {"target": "user", "action": "add", "content": TAUGHT}))
    if CHANGED[1] in whole and "Memory. Save what holds" in whole:
        replace = {"target": "user", "action": "replace", "old_text": CHANGED[0], "content": CHANGED[1]}
        calls.append(call("memory", replace))
    if "weekly report" in whole and "Skills. Be active" in whole:
        create = {"action": "create", "name": "weekly-report", "content": SKILL}
        calls.append(call("skill_manage", {"operations": [create]}))
    return Reply(calls=tuple(calls)) if calls else say("Nothing to save.")


def _operations(said: str) -> str:
    """Keep what a message asks to be remembered, as the reviewer of facts answers: each under a key of its own."""
    messages = said.partition("<messages>")[2]
    adds = [
        {"op": "add", "category": _category(text), "key": text, "value": text} for _, text in REMEMBER.findall(messages)
    ]
    return json.dumps({"operations": adds}) if adds else "Nothing to save."


def _category(text: str) -> str:
    if text in NOTES["work"]:
        return "context"
    return "identity" if text.startswith(("Lives", "Has")) else "preference"


@pytest.fixture
def companion() -> Companion:
    return Companion()


@pytest.fixture
def server(atlas: AtlasHome, companion: Companion) -> Iterator[ModelServer]:
    with ModelServer([companion]) as model:
        atlas.use_model(model.url)
        (atlas.folder / "config.toml").write_text('[model]\nprovider = "standin"\n')
        yield model


def talk(client: WebSocketClient, atlas: AtlasHome, *texts: str) -> str:
    """Hold a conversation, a turn a text, and return its id."""
    made = client.request("conversation.create", {"folder": str(atlas.work)})["conversation"]["id"]
    for text in texts:
        client.request("message.send", {"conversation": made, "text": text})
        until(client, "turn.ended", conversation=made)
    return str(made)


def known(atlas: AtlasHome) -> list[str]:
    return sorted(one["text"] for one in json.loads(atlas.run("memory", "list", "--json").stdout)["known"])


def settled(server: ModelServer) -> None:
    """Wait until nobody has asked the model for a second: titles and reviews come after a turn."""
    asked = -1
    while asked != len(server.calls):
        asked = len(server.calls)
        time.sleep(1.0)


@pytest.mark.slow  # a month in half a minute: a real server, started five times
@pytest.mark.timeout(240)
def test_a_month_ends_with_the_right_things_known_and_paid_for(
    atlas: AtlasHome, server: ModelServer, companion: Companion
) -> None:
    expected = [*NOTES["user"], *NOTES["work"]]
    atlas.start()
    with atlas.client() as client:
        for about, texts in NOTES.items():
            for text in texts:
                talk(client, atlas, f"Remember{' of work' if about == 'work' else ''}: {text}")
        for number in range(8):
            talk(client, atlas, f"What is {number} and {number}?")
        talk(client, atlas, f"Remember: {expected[0]}")  # said twice, known once
    settled(server)
    assert known(atlas) == sorted(expected)

    atlas.stop()
    atlas.start()
    with atlas.client() as client:
        chatter = [f"Chat {number}." for number in range(REVIEWED_MESSAGES - 2)]
        talk(client, atlas, f"I moved. {CHANGED[1]}", f"By the way: {TAUGHT}", *chatter)
        report = [f"Go on with the weekly report, part {number}." for number in range(REVIEWED_MESSAGES)]
        talk(client, atlas, *report)
        settled(server)
        proposals = json.loads(atlas.run("memory", "proposals", "--json").stdout)
        assert len(proposals) == 1
        assert known(atlas) == sorted([*expected, TAUGHT])
        assert atlas.run("memory", "approve", proposals[0]["id"]).returncode == 0
    expected = [CHANGED[1] if text == CHANGED[0] else text for text in [*expected, TAUGHT]]
    assert known(atlas) == sorted(expected)
    assert "weekly-report" in atlas.run("skills", "list").stdout

    switched = atlas.run("memory", "use", "facts")
    assert switched.returncode == 0, switched.stderr
    assert known(atlas) == sorted(expected)
    atlas.stop()
    atlas.start()
    with atlas.client() as client:
        for number in range(6):
            talk(client, atlas, f"Facts, day {number}.")
        talk(client, atlas, f"Remember: {LATER}")
    settled(server)
    atlas.run("memory", "review", "--now", "--yes")
    settled(server)
    expected.append(LATER)
    assert known(atlas) == sorted(expected)

    back = atlas.run("memory", "use", "notes")
    assert back.returncode == 0, back.stderr
    assert known(atlas) == sorted(expected)
    atlas.stop()
    atlas.start()
    with atlas.client() as client:
        for number in range(8):
            talk(client, atlas, f"Notes again, day {number}.")
        talk(client, atlas, f"Remember: {TAUGHT}")
        settled(server)
        held = client.request("conversation.list", {"limit": 100})["conversations"]

    assert len(held) == CONVERSATIONS
    assert known(atlas) == sorted(expected)
    bill = json.loads(atlas.run("usage", "--json").stdout)
    by_purpose = {row["name"]: row["calls"] for row in bill["by_purpose"]}
    assert by_purpose == dict(companion.asked)
    assert bill["total"]["calls"] == len(server.calls)
    assert bill["total"]["input_tokens"] == 20 * len(server.calls)
