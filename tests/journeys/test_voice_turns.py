"""What was said aloud is learned from and found again, as what was written is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from atlas_sdk.testing.model_script import say
from atlas_sdk.testing.model_server import ModelServer

from .conftest import AtlasHome

REVIEW_SECONDS = 30.0


def test_a_fact_said_aloud_is_reviewed_known_and_found(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    add = {"op": "add", "category": "interest", "key": "kettlefish", "value": "Collects kettlefish."}
    server = model([say(json.dumps({"operations": [add]})), say("You collect kettlefish.")])
    with (atlas.folder / "config.toml").open("a") as config:
        config.write("[realtime]\npersist_transcripts = true\n")
    atlas.run("memory", "use", "facts", "--json")
    atlas.start()
    client = atlas.client()
    said = {"device": "phone", "role": "user", "text": "I collect kettlefish, by the way.", "client_id": "s1-1"}
    kept = client.request("transcript.keep", said)
    client.request("transcript.keep", {**said, "role": "assistant", "text": "Lovely.", "client_id": "s1-2"})
    again = client.request("transcript.keep", said)
    learned = until_written(atlas)
    found = client.request("conversation.search", {"query": "kettlefish"})
    client.close()
    atlas.stop()
    atlas.run("chat", "-p", "What do I collect?")
    system = next(one["content"] for one in server.calls[-1].body["messages"] if one["role"] == "system")

    assert again == kept
    assert "- Collects kettlefish." in learned
    assert "I collect kettlefish, by the way." in json.dumps(server.calls[0].body)
    assert "Lovely." not in json.dumps(server.calls[0].body)
    assert "- Collects kettlefish." in system
    assert found["hits"][0]["conversation"]["id"] == kept["conversation"]


def until_written(atlas: AtlasHome) -> str:
    """Wait until a review has written what it learned of the user, and return it."""
    file, end = atlas.folder / "memory" / "main" / "USER.md", time.monotonic() + REVIEW_SECONDS
    while time.monotonic() < end:
        if file.exists() and "Collects" in (text := file.read_text("utf-8")):
            return text
        time.sleep(0.1)
    return ""
