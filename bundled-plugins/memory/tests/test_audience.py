"""No fact of another's scope ever enters a prompt, whoever saved it and in whatever order."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_memory.entries import Operation
from atlas_memory.notes import Notes
from atlas_memory.places import USER, has_memory, place_of
from atlas_sdk.memory import Known
from atlas_sdk.records import Conversation, Origin
from atlas_sdk.testing.fake_context import START, FakeClock

AGENTS = ("main", "finance", "travel", "Main", "../main", "bots/finance", "")
KINDS = ("client", "channel", "routine", "subagent", "review", "agent", "plugin")
ACTS = st.lists(
    st.tuples(st.sampled_from(AGENTS), st.sampled_from(KINDS), st.sampled_from(("user", "work")), st.booleans()),
    max_size=12,
)


class Books:
    async def book(self, receipts: Any) -> None:
        pass

    async def drop_proposals(self, texts: Any) -> None:
        pass

    async def guests_read(self, conversation: Any) -> bool:
        return False

    def digest(self, text: str) -> str:
        return text.encode().hex()


def conversation(agent: str, kind: Any) -> Conversation:
    return Conversation(id="c", agent=agent, origin=Origin(kind=kind), created_at=START, updated_at=START)


@settings(max_examples=60, deadline=None)
@given(ACTS, st.sampled_from(AGENTS), st.sampled_from(KINDS))
def test_a_prompt_holds_the_profile_and_its_own_agents_notes_only(
    acts: list[tuple[str, Any, Any, bool]], agent: str, kind: Any
) -> None:
    async def run(home: Path) -> str:
        notes = Notes(home, Books(), FakeClock(), logging.getLogger("atlas.plugin.memory"))
        for number, (who, how, about, carried) in enumerate(acts):
            said = conversation(who, how)
            place = place_of(about, who)
            text = f"fact-{number}."
            if carried:
                await notes.take([Known(id=text, text=text, about=about, agent=who if about == "work" else "")])
            elif has_memory(said) and place is not None:
                await notes.write(place, [Operation("add", text)])
        return await notes.snapshot(conversation(agent, kind))

    with tempfile.TemporaryDirectory() as folder:
        prompt = anyio.run(run, Path(folder), backend="trio")
    allowed = set()
    for number, (who, how, about, carried) in enumerate(acts):
        written = carried or how != "subagent"
        owner = (who or "main") if carried else who
        if kind != "subagent" and written and (about == "user" or owner == agent):
            allowed.add(f"fact-{number}.")
    seen = {word for word in prompt.split() if word.startswith("fact-")}

    assert seen <= allowed


def test_no_name_of_an_agent_leads_out_of_its_folder(tmp_path: Path) -> None:
    for name in ("..", ".", "a/b", "a\\b", "", "a" * 65, "é", "a\n", "~"):
        assert place_of("work", name) is None
    assert place_of("user", "..") is USER
