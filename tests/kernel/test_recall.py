"""Past conversations in a whole home: found by the agent's tool and by clients, also after a restart without the plugin."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_sdk.services.home import HOME

from .conftest import OpenHome, Probe, calls, says, start, turn

pytestmark = pytest.mark.anyio


async def search(app: Any, query: str) -> Any:
    method = app.services.need(HOME).methods()["conversation.search"]
    return await method.run(method.params(query=query), None)


async def test_the_agent_finds_what_was_said_in_another_conversation(open_home: OpenHome, probe: Probe) -> None:
    async with open_home() as app:
        probe.provider.script = [says("It whistles in A.")]
        await turn(app, await start(app), "Which note does the kettle whistle?")
        asking = {"name": "conversation_search", "arguments": {"query": "kettle note"}}
        probe.provider.script = [calls(("use_tool", asking)), says("A.")]
        await turn(app, await start(app), "Which note was it?")
        [answer] = [part for message in probe.provider.requests[-1].messages for part in message.parts][-1:]

    assert "It whistles in A." in answer.content[0].text  # type: ignore[union-attr]
    assert answer.content[0].trust == "outside"  # type: ignore[union-attr]


async def test_what_was_said_while_the_plugin_was_off_is_found_once_it_is_on(open_home: OpenHome, probe: Probe) -> None:
    async with open_home(without=("recall",)) as app:
        await turn(app, await start(app), "A kettle before the update.")
    async with open_home() as app:
        older = await search(app, "kettle")
        await turn(app, await start(app), "A pan.")
    async with open_home(without=("recall",)) as app:
        await turn(app, await start(app), "A lamp while it was off.")
    async with open_home() as app:
        newer = await search(app, "lamp")

    assert older.hits[0].message.text().endswith("A kettle before the update.")
    assert newer.hits[0].message.text().endswith("A lamp while it was off.")
