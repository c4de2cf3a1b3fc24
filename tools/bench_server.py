"""Measure the running server: how soon it answers, what a turn and a tool call cost, what it holds in memory.

Run by ``tools/bench`` with the environment's own Python; prints one JSON object a figure.
The model is a stand-in on loopback that answers at once, so what is measured is Atlas's own cost and the wire.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio

from atlas_gateway.client import WebSocketClient
from atlas_sdk.client import PROTOCOL
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Conversation
from atlas_sdk.testing.model_server import ModelServer, Reply, call, say

CALLS = 10
LENGTHS = (10, 100, 1_000, 10_000)


class Home:
    """A home in a temporary folder whose model is the stand-in."""

    def __init__(self, folder: Path, model: ModelServer) -> None:
        self.folder = folder / "home"
        self.work = folder / "work"
        self.folder.mkdir()
        self.work.mkdir()
        (self.work / "notes.txt").write_text("milk\nbread\n")
        (self.folder / "config.toml").write_text('[model]\nprovider = "standin"\n[log]\nlevel = "WARNING"\n')
        (self.folder / "models.toml").write_text(
            f'[providers.standin]\nbase_url = "{model.url}/v1"\n'
            '[[models]]\nprovider = "standin"\nid = "stand-in-1"\ndefault = true\n'
        )
        self.environ = {**os.environ, "ATLAS_HOME": str(self.folder)}

    def command(self, *arguments: str) -> float:
        """Run a command and return its seconds."""
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "atlas_kernel", *arguments],
            cwd=self.work,
            env=self.environ,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        return time.perf_counter() - began

    @contextmanager
    def server(self) -> Iterator[tuple[subprocess.Popen[str], WebSocketClient, float]]:
        """Run a server; also give the seconds until it had answered ``initialize`` and the conversations."""
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
                yield process, client, time.perf_counter() - began
        finally:
            process.terminate()
            process.wait(timeout=20)

    def fill(self, count: int) -> str:
        """Put a conversation of so many messages into the database and return its id."""
        from atlas_store.store import SqliteStore

        now, conversation = datetime.now(UTC), new_id()
        messages: list[Message] = []
        for number in range(count):
            person = number % 2 == 0
            messages.append(
                Message(
                    id=new_id(),
                    conversation=conversation,
                    parent=messages[-1].id if messages else None,
                    role="user" if person else "assistant",
                    sender=Sender(kind="person" if person else "agent"),
                    parts=(TextPart(text=f"message {number} of a long talk", trust="owner" if person else "agent"),),
                    created_at=now,
                )
            )
        head = messages[-1].id if messages else None
        record = Conversation(id=conversation, head=head, folder=str(self.work), created_at=now, updated_at=now)

        async def work() -> None:
            store = SqliteStore(self.folder)
            await store.commit([record, *messages])
            await store.close()

        anyio.run(work, backend="trio")
        return conversation


def turn(client: WebSocketClient, conversation: str) -> float:
    """Say something and return the seconds until the turn has ended."""
    began = time.perf_counter()
    client.request("message.send", {"conversation": conversation, "text": "go on"})
    while True:
        event = client.next_notification(timeout=60)
        if event is not None and event.method == "turn.ended":
            assert event.params["turn"]["state"] == "done", event.params
            return time.perf_counter() - began


def memory_mib(pid: int) -> float:
    """Return the resident memory of a process, on systems that tell."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_seconds(pid: int) -> float:
    """Return the processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(name: str, values: list[float], unit: str) -> None:
    """Print one figure."""
    figures: dict[str, Any] = {"name": name, "unit": unit, "runs": len(values)}
    figures |= {"median": statistics.median(values), "lowest": min(values), "highest": max(values)}
    print(json.dumps(figures), flush=True)


def main(runs: int) -> None:
    """Measure everything and print it."""
    with tempfile.TemporaryDirectory() as folder, ModelServer([Reply(text=("Done.",), keep=True)]) as model:
        home = Home(Path(folder), model)
        home.command("doctor")
        report("one turn, no server", [home.command("chat", "-p", "hi") * 1000 for _ in range(runs)], "ms")
        starts = []
        for _ in range(runs):
            with home.server() as (_, _, seconds):
                starts.append(seconds * 1000)
        report("server up", starts, "ms")
        ids = {count: home.fill(count) for count in LENGTHS}
        with home.server() as (process, client, _):
            if sys.platform == "linux":
                report("idle memory", [memory_mib(process.pid)], "MiB")
                before = cpu_seconds(process.pid)
                time.sleep(10)
                report("idle processor", [(cpu_seconds(process.pid) - before) * 10], "%")
            report("one turn, through it", [home.command("chat", "-p", "hi") * 1000 for _ in range(runs)], "ms")
            for count, id in ids.items():
                turn(client, id)
                report(f"turn at {count:,} messages", [turn(client, id) * 1000 for _ in range(runs)], "ms")
        _tool_calls(home, model, runs)


def _tool_calls(home: Home, model: ModelServer, runs: int) -> None:
    read = tuple(call("read_file", {"path": "notes.txt"}) for _ in range(CALLS))
    script: list[Any] = []
    for _ in range(runs + 1):
        script += [Reply(calls=read), say("Done.")]
    with ModelServer(script) as busy:
        text = (home.folder / "models.toml").read_text().replace(model.url, busy.url)
        (home.folder / "models.toml").write_text(text)
        with home.server() as (process, client, _):
            draft = {"folder": str(home.work)}
            id = client.request("conversation.create", draft)["conversation"]["id"]
            turn(client, id)
            report("tool call", [turn(client, id) * 1000 / CALLS for _ in range(runs)], "ms, its turn included")
            if sys.platform == "linux":
                report(
                    f"memory after {runs + 1} turns and {(runs + 1) * CALLS} calls", [memory_mib(process.pid)], "MiB"
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
