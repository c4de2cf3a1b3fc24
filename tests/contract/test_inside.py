"""Which methods a program that Atlas itself runs may ask, and why: a new one has to be put here on purpose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+\.\w+)` \|.*\| ([a-z ]+) \|$", re.MULTILINE)

TABLE = {
    # It decides what Atlas keeps of its owner, answers what the owner is asked, or speaks in their name.
    "no": """
        memory.acknowledge memory.approve memory.discard memory.forget memory.restore memory.review memory.take memory.use question.answer
        resource.rollback skills.reset skills.restore skills.revert skills.share transcript.keep
    """,
    # It tells of the owner or acts for them. For the agent alone the gate asks where that matters; a guest is told
    # nothing and has nothing done.
    "without guests": """
        conversation.change conversation.create conversation.get conversation.history conversation.list
        conversation.search event.list gate.explain gate.log home.doctor marketplace.install marketplace.remove
        marketplace.update mcp.login mcp.logout mcp.reload memory.archived memory.find memory.list memory.proposals
        memory.unreviewed message.send pairing.approve pairing.forget pairing.list plugin.disable plugin.enable
        plugin.install plugin.log plugin.remove plugin.set plugin.update question.list resource.history resource.list
        resource.show review.wait secret.check secret.delete secret.list secret.set server.token setting.change setting.list
        skills.list skills.versions title.leave title.stay turn.stop usage.report
    """,
    # It tells what is installed, and nothing of anybody.
    "yes": """
        channel.list home.show marketplace.check marketplace.list marketplace.show mcp.list model.check model.list
        plugin.contents plugin.list wire.schema
    """,
}


@pytest.fixture(scope="module")
def listed() -> dict[str, str]:
    """Every method of the bundled plugins, as the reference page has it; that the page is true is tested there."""
    return dict(ROW.findall((ROOT / "docs/reference/methods.md").read_text("utf-8")))


def test_each_method_says_whether_a_program_inside_may_ask_it(listed: dict[str, str]) -> None:
    wanted = {name: said for said, names in TABLE.items() for name in names.split()}

    assert listed == wanted


def test_what_writes_memory_or_skills_is_closed_to_a_program_inside(listed: dict[str, str]) -> None:
    reads = {"archived", "find", "history", "list", "proposals", "show", "unreviewed", "versions"}
    groups = ("memory.", "resource.", "skills.")
    writes = {name for name in listed if name.startswith(groups) and name.partition(".")[2] not in reads}

    assert {listed[name] for name in writes} == {"no"}
