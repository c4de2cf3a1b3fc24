"""Facts in the terminal: switched to, reviewed, read in the next conversation, and put back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from atlas_sdk.testing.model_script import say
from atlas_sdk.testing.model_server import ModelServer

from .conftest import AtlasHome


def test_a_fact_is_learned_by_a_review_and_read_in_the_next_conversation(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    add = {"op": "add", "category": "interest", "key": "kettlefish", "value": "Collects kettlefish."}
    server = model([say("Nice."), say(json.dumps({"operations": [add]})), say("Hello again.")])
    atlas.more_environ["ATLAS_MEMORY_FACTS_REVIEW_INTERVAL_HOURS"] = "0"
    switched = json.loads(atlas.run("memory", "use", "facts", "--json").stdout)
    atlas.run("chat", "-p", "I collect kettlefish.")
    (review,) = json.loads(atlas.run("memory", "review", "--now", "--json").stdout)
    atlas.run("chat", "-p", "Hi.")
    system = next(one["content"] for one in server.calls[-1].body["messages"] if one["role"] == "system")
    (listed,) = json.loads(atlas.run("resource", "list", "--json").stdout)

    assert (switched["system"], review["how"], review["added"]) == ("facts", "reviewed", 1)
    assert listed["file"] == "memory/main/USER.md"
    assert "- Collects kettlefish." in (atlas.folder / "memory" / "main" / "USER.md").read_text()
    assert "- Collects kettlefish." in system
