"""Fifty secrets are planted, a day of mixed work is done, and none of them is found where it does not belong."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from atlas_sdk.testing.model_server import Failure, Reply, call, say

from .conftest import AtlasHome, until

pytestmark = pytest.mark.slow  # a server of its own and a dozen turns
VAULT = 40
ENVIRONMENT = 10


def canary(number: int) -> str:
    return f"canary-{number:02d}-Zx9/q+{number * 7919 % 100_000:05d}-\"k'ey&tail"


def forms(secret: str) -> Iterator[bytes]:
    data = secret.encode()
    yield data
    yield data.hex().encode()
    yield quote(secret, safe="").encode()
    yield json.dumps(secret)[1:-1].encode()
    yield base64.b64encode(data).rstrip(b"=")[:-2]
    yield base64.urlsafe_b64encode(data).rstrip(b"=")[:-2]


def found_in(data: bytes, secrets: dict[str, str]) -> set[str]:
    return {name for name, secret in secrets.items() if any(form in data for form in forms(secret))}


def test_no_planted_secret_is_found_in_logs_database_events_requests_or_child_environments(
    atlas: AtlasHome, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {f"CANARY_{number}_TOKEN": canary(number) for number in range(VAULT)}
    around = {f"PLANTED_{number}_API_KEY": canary(VAULT + number) for number in range(ENVIRONMENT - 1)}
    token = {"ATLAS_SERVER_TOKEN": canary(99).replace("/", "_")}
    everything = {**kept, **around, **token}
    notes = atlas.work / "notes.txt"
    notes.write_text(
        "\n".join([*kept.values(), base64.b64encode(canary(3).encode()).decode(), canary(4).encode().hex()])
    )
    server = model(
        [
            Reply(calls=(call("read_file", {"path": "notes.txt"}),)),
            Reply(calls=(call("run_command", {"command": "cat notes.txt; env | sort; cat /proc/self/environ"}),)),
            Reply(
                calls=(
                    call("find_files", {"pattern": "canary"}),
                    call("run_command", {"command": "nosuch " + "x" * 50}),
                )
            ),
            Reply(calls=(call("run_command", {"command": "base64 notes.txt; xxd -p notes.txt | tr -d '\\n'; false"}),)),
            Reply(calls=(call("edit_file", {"path": "notes.txt", "old_string": "nothing", "new_string": "else"}),)),
            Reply(calls=(call("read_file", {"path": str(atlas.folder / "secrets" / "vault.json")}),)),
            Failure("key_refused"),
            say("Done."),
        ]
    )
    (atlas.folder / "config.toml").write_text(
        '[model]\nprovider = "standin"\n[titles]\nenabled = false\n[log]\nlevel = "DEBUG"\n'
    )
    (atlas.folder / "models.toml").write_text(
        f'[providers.standin]\nbase_url = "{server.url}/v1"\nkey = "CANARY_0_TOKEN"\n'
        '[[models]]\nprovider = "standin"\nid = "stand-in-1"\ndefault = true\n'
    )
    atlas.more_environ = {**around, **token}
    atlas.start()
    frames: list[str] = []
    with atlas.client() as client:
        for name, secret in kept.items():
            client.request("secret.set", {"name": name, "value": secret})
        real_receive = client.receive_frame

        def receive(timeout: float | None) -> str | None:
            frame = real_receive(timeout)
            frames.append(frame or "")
            return frame

        client.receive_frame = receive  # type: ignore[method-assign]
        draft = {"folder": str(atlas.work)}
        id = client.request("conversation.create", draft)["conversation"]["id"]
        for text in ("Look around", "And again"):
            client.request("message.send", {"conversation": id, "text": text})
            until(client, "turn.ended")
        client.request("conversation.history", {"conversation": id})
        client.request("setting.list")
        client.request("secret.list")
        client.request("plugin.list")
    assert atlas.stop() == 0

    assert len(everything) == VAULT + ENVIRONMENT
    searched = 0
    for path in sorted(Path(atlas.folder).rglob("*")):
        if path.is_file() and "secrets" not in path.relative_to(atlas.folder).parts:
            searched += 1
            assert found_in(path.read_bytes(), everything) == set(), path
    assert searched > 3
    assert found_in("\n".join(frames).encode(), everything) == set()
    bodies = b"\n".join(request.raw for request in server.requests)
    assert len(server.requests) >= 8
    assert found_in(bodies, everything) == set()
    assert "CANARY" not in os.environ
