"""What was saved is told by Atlas after a crash, too: the receipt outlives the turn."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

from atlas_sdk.testing.model_script import Reply, call, say
from atlas_sdk.testing.model_server import ModelServer

from .conftest import AtlasHome


def test_a_save_whose_turn_was_killed_is_told_at_the_next_start(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    save = call("memory", {"target": "user", "action": "add", "content": "Likes kettlefish."})
    model([Reply(calls=(save,)), Reply(text=("Noted",), delay_seconds=30.0), say("Hello.")])
    atlas.start()
    client = atlas.client()
    id = client.request("conversation.create", {})["conversation"]["id"]
    client.request("message.send", {"conversation": id, "text": "Remember that I like kettlefish."})
    profile, end = atlas.folder / "memory" / "USER.md", time.monotonic() + 20
    while not profile.exists() and time.monotonic() < end:
        time.sleep(0.02)
    while time.monotonic() < end:
        event = client.next_notification(timeout=5)
        if event is not None and event.method == "tool.finished":
            break
    client.close()
    atlas.stop(signal.SIGKILL)
    atlas.start()
    client = atlas.client()
    told, end = list[str](), time.monotonic() + 10
    while not told and time.monotonic() < end:
        events = client.request("event.list", {"after": 0})["events"]
        told = [one["event"]["text"] for one in events if one["event"]["type"] == "notice.given"]
        told = [text for text in told if "kettlefish" in text]
        time.sleep(0.1)
    client.close()

    assert told == ["Saved to memory: “Likes kettlefish.”"]
