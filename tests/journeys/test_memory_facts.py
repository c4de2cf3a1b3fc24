"""Facts in the terminal: switched to, reviewed, read in the next conversation, and put back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atlas_sdk.testing.model_script import Reply, call, say
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


def test_a_home_that_is_cloned_takes_the_facts_with_it(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    store = call("memory_store", {"key": "kettlefish", "value": "Kettlefish are kept on shelf four."})
    model([Reply(calls=[store]), say("Kept.")])
    atlas.run("memory", "use", "facts", "--json")
    atlas.run("chat", "-p", "Kettlefish are kept on shelf four.")
    before = json.loads(atlas.run("memory", "list", "--json").stdout)["known"]
    made = atlas.run("home", "create", "copy", "--clone")
    after = json.loads(atlas.run("--home", "copy", "memory", "list", "--json").stdout)["known"]

    assert made.returncode == 0, made.stderr
    assert [one["text"] for one in before] == ["Kettlefish are kept on shelf four."]
    assert [(one["text"], one["details"]["key"]) for one in after] == [(before[0]["text"], "kettlefish")]


def test_a_cloned_home_holds_no_locks_of_the_other(atlas: AtlasHome) -> None:
    (atlas.folder / "memory").mkdir(parents=True)
    (atlas.folder / "memory" / "MEMORY.md").write_text("Tea is at four.\n")
    (atlas.folder / "memory" / "MEMORY.md.lock").touch()
    skill = atlas.folder / "skills" / "brew"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: brew\ndescription: Tea.\n---\nBoil.\n")
    (skill / "uv.lock").write_text("version = 1\n")
    made = atlas.run("home", "create", "copy", "--clone")
    folder = Path(json.loads(atlas.run("home", "show", "copy", "--json").stdout)["folder"])

    assert made.returncode == 0, made.stderr
    assert sorted(one.name for one in (folder / "memory").iterdir()) == ["MEMORY.md"]
    assert (folder / "skills" / "brew" / "uv.lock").read_text() == "version = 1\n"
