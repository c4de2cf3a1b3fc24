"""Killed in the middle of a compaction: what is on disk is the old history or the new one, and never half."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_sdk.homes import Home
from atlas_sdk.records import Checkpoint
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE

from .conftest import World
from .dying_home import CONVERSATION

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # each death is a process of its own
SAID = ["One." + " kettle" * 700, "Done.", "Rule 1: never stop.", "Done.", "Three.", "Done.", "/compact"]


@pytest.mark.parametrize(("write", "is_new"), [(1, False), (2, False), (3, False), (4, True)])
async def test_a_killed_compaction_leaves_the_old_history_or_the_new(
    atlas_app: Callable[..., AbstractAsyncContextManager[Any]], atlas_home: Home, world: World, write: int, is_new: bool
) -> None:
    command = [sys.executable, str(Path(__file__).with_name("dying_home.py")), str(atlas_home.folder), str(write)]
    died = await anyio.run_process(command, check=False)
    async with atlas_app("store", "compaction", objects={"world": world}) as app:
        conversations = app.services.need(CONVERSATIONS)
        path = await conversations.path(CONVERSATION)
        whole = await conversations.path(CONVERSATION, whole=True)
        made = await app.services.need(STORE).find(Checkpoint)
        damage = await app.services.need(STORE).check()

    assert died.returncode == -signal.SIGKILL, died.stderr
    assert damage == ()
    assert [message.parts[-1].text for message in whole][: len(SAID)] == SAID  # type: ignore[union-attr]  # all text
    assert len(made) == is_new
    assert (path[0].sender.name == "compaction") == is_new
    assert is_new or path == whole
