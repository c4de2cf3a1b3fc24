"""A home in a temporary folder, a stand-in for its model in a process of its own, and a real server on it.

The stand-in does what each message says, and says when it was asked and when it spoke, so that its own time is no
part of a figure.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from bench_figure import milliseconds

from atlas_gateway.client import WebSocketClient
from atlas_sdk.client import PROTOCOL
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Conversation

TURN_SECONDS = 120.0
PLAIN = [{"text": ["<{received} {now}>"]}]
"""A turn of one answer, whose text says how long the stand-in took over it."""

_TOOK = re.compile(r"<(\d+\.\d+) (\d+\.\d+)>")


def calling(count: int) -> list[dict[str, Any]]:
    """Return the script of a turn that reads a file so many times at once, and then answers."""
    read = {"name": "read_file", "arguments": {"path": "notes.txt"}}
    return [{"text": ["<{received} {now}>"], "calls": [read] * count}, *PLAIN]


class Home:
    """The home, and the commands run in it."""

    def __init__(self, folder: Path, model_url: str) -> None:
        self.folder = folder / "home"
        self.work = folder / "work"
        self.folder.mkdir()
        self.work.mkdir()
        (self.work / "notes.txt").write_text("milk\nbread\n")
        (self.folder / "config.toml").write_text(
            '[model]\nprovider = "standin"\n[titles]\nenabled = false\n[log]\nlevel = "WARNING"\n'
        )
        (self.folder / "models.toml").write_text(
            f'[providers.standin]\nbase_url = "{model_url}/v1"\n'
            '[[models]]\nprovider = "standin"\nid = "stand-in-1"\ndefault = true\n'
        )
        self.environ = {**os.environ, "ATLAS_HOME": str(self.folder)}

    def command(self, *arguments: str) -> float:
        """Run a command and return its milliseconds."""
        return milliseconds([sys.executable, "-m", "atlas_kernel", *arguments], cwd=self.work, env=self.environ)

    @contextmanager
    def server(self) -> Iterator[Server]:
        """Run a server until the block is left."""
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "atlas_kernel", "serve", "--port", "0"],
            cwd=self.work,
            env=self.environ,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().partition("=")[2])
            token = json.loads((self.folder / "run" / "server.json").read_text())["token"]
            with WebSocketClient("127.0.0.1", port) as client:
                client.request("initialize", {"client": "bench", "protocol": PROTOCOL, "token": token})
                client.request("conversation.list")
                up = (time.perf_counter() - began) * 1000
                yield Server(process.pid, port, token, client, str(self.work), up)
        finally:
            process.terminate()
            process.wait(timeout=20)

    def fill(self, count: int) -> str:
        """Put a conversation of so many messages into the database and return its id."""
        from atlas_store.store import SqliteStore

        record, messages = talk(count, str(self.work))

        async def work() -> None:
            store = SqliteStore(self.folder)
            await store.commit([record, *messages])
            await store.close()

        anyio.run(work, backend="trio")
        return record.id


@dataclass
class Server:
    """A running server with one client of it. ``up_ms`` is until the first two requests were answered."""

    pid: int
    port: int
    token: str
    client: WebSocketClient
    folder: str
    up_ms: float

    def conversation(self) -> str:
        """Make a conversation and return its id."""
        made = self.client.request("conversation.create", {"folder": self.folder})
        return str(made["conversation"]["id"])

    def turn(self, conversation: str, script: list[dict[str, Any]] | None = None) -> float:
        """Have the stand-in do as the script says, and return the turn's milliseconds without the stand-in's own."""
        began, taken = time.perf_counter(), 0.0
        text = json.dumps(PLAIN if script is None else script)
        self.client.request("message.send", {"conversation": conversation, "text": text})
        while True:
            event = self.client.next_notification(timeout=TURN_SECONDS)
            assert event is not None, "the turn did not end"
            if event.method == "message.added" and event.params["message"]["role"] == "assistant":
                said = json.dumps(event.params["message"]["parts"])
                taken += sum(float(sent) - float(received) for received, sent in _TOOK.findall(said))
            if event.method == "turn.ended":
                assert event.params["turn"]["state"] == "done", event.params
                return (time.perf_counter() - began - taken) * 1000


@contextmanager
def home() -> Iterator[Home]:
    """Start the stand-in and make a home that uses it."""
    command = [sys.executable, "-m", "atlas_sdk.testing.model_server", "--obey"]
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as model:
        try:
            assert model.stdout is not None
            made = Home(Path(folder), json.loads(model.stdout.readline())["url"])
            made.command("doctor")
            yield made
        finally:
            model.kill()


def talk(count: int, folder: str) -> tuple[Conversation, list[Message]]:
    """Return a conversation of so many short messages, in turn from a person and from the agent."""
    now, id = datetime.now(UTC), new_id()
    messages: list[Message] = []
    for number in range(count):
        person = number % 2 == 0
        messages.append(
            Message(
                id=new_id(),
                conversation=id,
                parent=messages[-1].id if messages else None,
                role="user" if person else "assistant",
                sender=Sender(kind="person" if person else "agent"),
                parts=(TextPart(text=f"message {number} of a long talk", trust="owner" if person else "agent"),),
                created_at=now,
                client_id=f"{id}-{number}" if person else None,
            )
        )
    head = messages[-1].id if messages else None
    return Conversation(id=id, head=head, folder=folder, created_at=now, updated_at=now), messages
