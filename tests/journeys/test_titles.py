"""Titles of conversations that a command begins: none is paid for and lost, and what stays open gives them."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from atlas_sdk.testing.model_script import say
from atlas_sdk.testing.model_server import ModelServer

from .conftest import AtlasHome

GIVEN_SECONDS = 20.0
TITLE = say("Choosing a kettle", match="You give a conversation between a person and an agent its title", keep=True)
ANSWER = say("The steel one.", keep=True)


def rows(atlas: AtlasHome, sql: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(atlas.folder / "atlas.db")) as database:
        return [value for (value,) in database.execute(sql)]


def purposes(atlas: AtlasHome, server: ModelServer) -> Counter[str]:
    """Return how many calls each purpose has in the books, which are as many as the model's server had."""
    found = Counter(rows(atlas, "SELECT purpose FROM model_call"))
    assert found.total() == len(server.calls)
    return found


def titles(atlas: AtlasHome) -> list[str]:
    return rows(atlas, "SELECT json_extract(data, '$.title') FROM conversation ORDER BY id")


def with_titles(atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]) -> ModelServer:
    server = model([TITLE, ANSWER])
    (atlas.folder / "config.toml").write_text('[model]\nprovider = "standin"\n')
    return server


def test_one_shot_commands_begin_no_title_and_a_server_gives_it_once(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    server = with_titles(atlas, model)
    for question in ("Which kettle?", "Which pot?"):
        assert atlas.run("chat", "-p", question).stdout == "The steel one.\n"
    after_commands = purposes(atlas, server), titles(atlas)
    for _ in range(2):
        atlas.start()
        end = time.monotonic() + GIVEN_SECONDS
        while titles(atlas) != ["Choosing a kettle"] * 2 and time.monotonic() < end:
            time.sleep(0.05)
        atlas.stop()

    assert after_commands == (Counter(turn=2), ["Which kettle?", "Which pot?"])
    assert titles(atlas) == ["Choosing a kettle"] * 2
    assert purposes(atlas, server) == Counter(turn=2, title=2)


def test_a_chat_that_stays_open_gives_its_title_and_those_that_waited(
    atlas: AtlasHome, model: Callable[[list[Any]], ModelServer]
) -> None:
    server = with_titles(atlas, model)
    atlas.run("chat", "-p", "Which kettle?")
    left = atlas.run("chat", stdin="Which pot?\nAnd the cheapest?\n")

    assert left.returncode == 0
    assert titles(atlas) == ["Choosing a kettle"] * 2
    assert purposes(atlas, server) == Counter(turn=3, title=2)
