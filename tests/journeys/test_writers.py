"""All that writes memory at once on one file: a server's turns and reviews, other processes, and commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from atlas_gateway.client import WebSocketClient
from atlas_sdk.testing.model_server import ModelServer, Reply, call, say

from .conftest import AtlasHome, until

CLIENTS, TURNS = 4, 10
"""A review follows the tenth message of a conversation in which nothing was saved."""
REVIEW_SECONDS = 60.0
"""Reviews give way to turns, and follow one after the other."""
PROCESSES, WRITES = 2, 20
SEEDS = ("Seed one goes.", "Seed two goes.", "Seed three goes.")
TOLD = re.compile(r"Remember: ([^.]+\.)")
LIKED = re.compile(r"I like (tea of kind \d+)\.")
WRITER = """
import logging, sys
from pathlib import Path
import anyio
from atlas_memory.entries import Operation
from atlas_memory.notes import Notes
from atlas_memory.places import Place
from atlas_sdk.context import SystemClock

class Books:
    async def book(self, receipts): pass
    def digest(self, text): return text.encode().hex()

place = Place("memory/MEMORY.md", "work", 2_200, "", "main")
notes = Notes(Path(sys.argv[1]), Books(), SystemClock(), logging.getLogger())

async def main():
    for number in range(int(sys.argv[3])):
        await notes.write(place, [Operation("add", f"Box {sys.argv[2]} has {number}.")])

anyio.run(main, backend="trio")
"""


class Keeper:
    """A model that saves what it is told to, and in a review what a person said that they like."""

    match = None
    keep = True

    def __call__(self, body: dict[str, Any]) -> Reply:
        last = body["messages"][-1]
        said = last["content"] if isinstance(last["content"], str) else json.dumps(last["content"])
        if last["role"] == "tool":
            return say("Done.")
        if "You are the background review" in said:
            liked = LIKED.findall(json.dumps(body["messages"]))
            return Reply(
                calls=(call("memory", {"target": "user", "action": "add", "content": f"I like {liked[-1]}."}),)
            )
        told = TOLD.search(said)
        content = {"target": "memory", "action": "add", "content": told[1]} if told else None
        return Reply(calls=(call("memory", content),)) if content else say("Nothing to do.")


def say_in(client: WebSocketClient, conversation: str, text: str) -> None:
    client.request("message.send", {"conversation": conversation, "text": text})
    until(client, "turn.ended", conversation=conversation)


def talk(atlas: AtlasHome, who: int, failed: list[str]) -> None:
    try:
        with atlas.client(name=f"client-{who}") as client:
            saving, chatting = (
                client.request("conversation.create", {"folder": str(atlas.work)})["conversation"]["id"] for _ in "12"
            )
            for number in range(TURNS):
                say_in(client, saving, f"Remember: Shelf {who} has {number}.")
                say_in(client, chatting, f"I like tea of kind {who}.")
    except BaseException as error:  # noqa: BLE001  # whatever it is, the test says it
        failed.append(f"{who}: {error!r}")


@pytest.mark.slow  # a server, commands and processes, each with writes that are on disk before the next
@pytest.mark.timeout(180)
def test_turns_reviews_processes_and_commands_lose_nothing_to_each_other(atlas: AtlasHome) -> None:
    with ModelServer([Keeper()]) as model:
        atlas.use_model(model.url)
        (atlas.folder / "memory").mkdir()
        file = atlas.folder / "memory" / "MEMORY.md"
        file.write_text("\n§\n".join(SEEDS) + "\n")
        atlas.start()
        failed: list[str] = []
        threads = [threading.Thread(target=talk, args=(atlas, who, failed)) for who in range(CLIENTS)]
        for thread in threads:
            thread.start()
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, str(atlas.folder), str(who), str(WRITES)])
            for who in range(PROCESSES)
        ]
        forgot = [atlas.run("memory", "forget", seed, "--yes", "--json", timeout=120) for seed in SEEDS]
        codes = [writer.wait(120) for writer in writers]
        for thread in threads:
            thread.join(120)
        user_file = atlas.folder / "memory" / "USER.md"
        reviewed: list[str] = []
        end = time.monotonic() + REVIEW_SECONDS
        while len(reviewed) < CLIENTS and time.monotonic() < end:
            time.sleep(0.2)
            reviewed = user_file.read_text().strip().split("\n§\n") if user_file.exists() else []

    assert failed == []
    kept = file.read_text().strip().split("\n§\n")
    told = [f"Shelf {who} has {number}." for who in range(CLIENTS) for number in range(TURNS)]
    boxed = [f"Box {who} has {number}." for who in range(PROCESSES) for number in range(WRITES)]

    assert failed == []
    assert [one.returncode for one in forgot] == [0] * len(SEEDS)
    assert codes == [0] * PROCESSES
    assert sorted(kept) == sorted([*told, *boxed])
    assert sorted(reviewed) == [f"I like tea of kind {who}." for who in range(CLIENTS)]
