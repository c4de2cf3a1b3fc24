"""What plugins and commands start: it cannot look up what Atlas was started with, and it ends when Atlas does."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.consent import digest
from atlas_sdk.manifest_file import read_manifest
from atlas_sdk.testing.model_server import Reply, call, say

from .conftest import AtlasHome

pytestmark = [
    pytest.mark.slow,  # a server of its own, and a process of every kind
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process holds"),
]
SERVER = Path(__file__).parents[2] / "bundled-plugins/mcp/tests/standins/plain_server.py"
KEY = "planted-4f1c-value"


def looks(name: str) -> str:
    """Return a line that writes down what its parent was started with, and leaves a process with no ties to it."""
    return (
        f'cat "/proc/$PPID/environ" > "{name}.found"; '
        f"(env -i setsid sleep 61.75 >/dev/null 2>&1 &) ; touch '{name}.ran'"
    )


def sleepers() -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes() == b"sleep\0" + b"61.75\0":
                found.append(process.name)
        except OSError:
            continue
    return found


def test_no_program_of_a_plugin_reads_the_servers_environment_or_outlives_it(atlas: AtlasHome, model: Any) -> None:
    model([Reply(calls=(call("run_command", {"command": looks(str(atlas.work / "command"))}),)), say("Done.")])
    plugin = atlas.folder / "plugins" / "looker"
    for name, content in {
        ".claude-plugin/plugin.json": {"name": "looker"},
        "hooks/hooks.json": {
            "hooks": {
                "SessionStart": [
                    {"hooks": [{"type": "command", "command": looks(str(atlas.work / "hook"))}]},
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": "bash",
                                "args": ["-c", looks(str(atlas.work / "slow")) + "; sleep 60"],
                                "timeout": 0.5,
                            }
                        ]
                    },
                ]
            }
        },
        "monitors/monitors.json": [
            {
                "name": "looks",
                "command": looks(str(atlas.work / "monitor")) + "; sleep 60",
                "description": "d",
                "when": "always",
            }
        ],
    }.items():
        (plugin / name).parent.mkdir(parents=True, exist_ok=True)
        (plugin / name).write_text(json.dumps(content))
    data = atlas.folder / "plugin-data"
    data.mkdir()
    agreed = {"on": True, "consent": digest(read_manifest(plugin, source="folder")), "settings": {}}
    (data / "plugins.json").write_text(json.dumps({"looker": agreed}))
    line = looks(str(atlas.work / "mcp")) + f"; exec '{sys.executable}' '{SERVER}'"
    (atlas.folder / "mcp.json").write_text(
        json.dumps({"mcpServers": {"it": {"command": "bash", "args": ["-c", line]}}})
    )
    atlas.more_environ = {"MY_OWN_KEY": KEY}
    before = set(sleepers())
    atlas.start()
    with atlas.client() as client:
        draft = {"folder": str(atlas.work), "auto_mode": True}
        id = client.request("conversation.create", draft)["conversation"]["id"]
        client.request("message.send", {"conversation": id, "text": "Look."})
        client.request("mcp.reload", {"name": "it"})
        answer_questions(client)
        end = time.monotonic() + 10
        wanted = {"command", "hook", "slow", "monitor", "mcp"}
        while {one.stem for one in atlas.work.glob("*.ran")} != wanted and time.monotonic() < end:
            time.sleep(0.05)

        assert {one.stem for one in atlas.work.glob("*.ran")} == wanted
        assert [one.stem for one in atlas.work.glob("*.found") if KEY.encode() in one.read_bytes()] == []
    assert atlas.stop() == 0
    left = set(sleepers()) - before
    # What the command detached may stay, as it would in a terminal.
    assert len(left) <= 1
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)


def answer_questions(client: Any) -> None:
    while True:
        event = client.next_notification(timeout=10)
        if event is None or event.method == "turn.ended":
            return
        if event.method.startswith("question."):
            for question in client.request("question.list", {})["questions"]:
                client.request("question.answer", {"id": question["id"], "choices": ["once"]})
