"""Forgetting a word that Atlas uses itself: whatever it is, every record still loads and a conversation goes on."""

from __future__ import annotations

import json
import re
from datetime import datetime
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from atlas_memory.redaction import _MODELS, _is_whole
from atlas_sdk import events, messages, records
from atlas_sdk.events import EVENT
from atlas_sdk.homes import Home
from atlas_sdk.phrase import Phrase
from atlas_sdk.providers import ToolSpec, tool_list
from atlas_sdk.records import Content
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Reply, call

from .conftest import Model, OpenApp, ask, start, turn

pytestmark = pytest.mark.anyio
LATER = ("unknown", "object", "memory", "string", "client", "main", "main agent", "text", "list", "true")
TOOLS = tool_list(
    [
        ToolSpec(
            "look_up",
            "Look up an object of Noor's.",
            {
                "type": "object",
                "properties": {"description": {"type": "string", "description": "of Noor"}, "who": {"enum": ["Noor"]}},
                "required": ["description"],
            },
        )
    ]
)


def closed(annotation: Any) -> bool:
    """Whether a field has a closed set of words, or a time."""
    if get_origin(annotation) is Literal or annotation is datetime:
        return True
    return get_origin(annotation) in (Union, UnionType) and any(closed(one) for one in get_args(annotation))


MODELS = {
    found
    for module in (records, messages, events)
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, BaseModel)
}


@pytest.mark.parametrize("model", sorted(MODELS, key=lambda one: one.__name__), ids=lambda one: one.__name__)
def test_no_closed_word_of_a_record_is_rewritten(model: type[BaseModel]) -> None:
    words = [name for name, field in model.model_fields.items() if closed(field.annotation)]
    record = {**dict.fromkeys(words, "kettlefish"), **({"dollars": None} if model is records.Cost else {})}

    assert Phrase("kettlefish").redacted(record) == record


async def rows_of(app: Any) -> list[tuple[str, Any]]:
    def work(reading: Any) -> list[tuple[str, Any]]:
        tables = (*_MODELS, "event", "content", "checkpoint")
        return [
            (table, json.loads(row["data"])) for table in tables for row in reading.rows(f"SELECT data FROM {table}")
        ]

    found: list[tuple[str, Any]] = await app.services.need(STORE).read(work)
    return found


async def talked(app: Any, model: Model, home: Home) -> str:
    id = await start(app)
    file = home.folder / "notes.txt"
    file.write_text("A list of objects.\n")
    model.provider.add(
        Reply(calls=(call("memory", {"target": "user", "action": "add", "content": "Collects stamps."}),)),
        Reply(calls=(call("read_file", {"path": str(file)}),), reasoning=("An unknown object.",)),
        "It is a list of the unknown.",
    )
    await turn(app, id, "Remember that I collect stamps, and read the notes.")
    return id


async def test_every_record_loads_whatever_word_of_its_is_forgotten(
    opened: OpenApp, model: Model, atlas_home: Home
) -> None:
    async with opened() as app:
        await talked(app, model, atlas_home)
        rows = await rows_of(app)
    words = {word for _, data in rows for word in re.findall(r"[^\W\d]{3,}", json.dumps(data, ensure_ascii=False))}
    broken = []
    for word in sorted(words):
        phrase = Phrase(word)
        for table, data in rows:
            if table in (*_MODELS, "event") and phrase.texts(data) and not _is_whole(table, phrase.redacted(data)):
                broken.append((word, table))
            if table == "content":
                try:
                    json.loads(data["text"])
                except ValueError:
                    continue
                json.loads(phrase.without(data["text"]))

    assert len(words) > 100
    assert broken == []


async def test_a_conversation_goes_on_after_any_of_them(opened: OpenApp, model: Model, atlas_home: Home) -> None:
    async with opened() as app:
        id = await talked(app, model, atlas_home)
        tools = model.provider.requests[-1].tools
        for word in LATER:
            await ask(app, "memory.forget", text=word, conversations=True)
        for table, data in await rows_of(app):
            if table == "event":
                EVENT.validate_json(json.dumps(data))
            elif table in _MODELS:
                _MODELS[table].model_validate_json(json.dumps(data))
        listed = await app.services.need(CONVERSATIONS).list()
    async with opened() as app:
        model.provider.add("I do.")
        path = await turn(app, id, "Do you go on?")
        after = model.provider.requests[-1].tools
        found = await app.services.need(STORE).find(Content)

    assert [one.id for one in listed] == [id]
    assert path[-1].text() == "I do."
    assert [(one.name, one.parameters.keys()) for one in after] == [(one.name, one.parameters.keys()) for one in tools]
    assert [one.parameters["type"] for one in after] == ["object"] * len(tools)
    assert found


def test_of_a_list_of_tools_only_what_it_says_of_itself_is_redacted() -> None:
    (tool,) = json.loads(Phrase("Noor").without(TOOLS))
    (typed,) = json.loads(Phrase("object").without(TOOLS))

    assert tool["description"] == "Look up an object of [forgotten]'s."
    assert tool["parameters"]["properties"] == {
        "description": {"type": "string", "description": "of [forgotten]"},
        "who": {"enum": ["Noor"]},
    }
    assert typed["parameters"]["type"] == "object"
    assert Phrase("Noor").held_in(Phrase("Noor").without(TOOLS)) == "Noor"
    assert Phrase("string").held_in(TOOLS) == ""


def test_what_a_provider_signed_goes_whole() -> None:
    items = {"provider": "anthropic", "items": [{"type": "thinking", "thinking": "Of Noor.", "signature": "x"}]}

    assert Phrase("Noor").redacted({"provider_items": items}) == {"provider_items": None}
    assert Phrase("Ann").redacted({"provider_items": items}) == {"provider_items": items}


def test_a_request_that_was_kept_stays_readable() -> None:
    one = {"role": "user", "sender": {"kind": "notice", "name": "user"}, "parts": [{"type": "text", "text": "A user."}]}
    said = json.dumps(one) * 2

    assert (
        Phrase("user").without(said) == json.dumps({**one, "parts": [{"type": "text", "text": "A [forgotten]."}]}) * 2
    )
