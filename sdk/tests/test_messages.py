"""Messages and events come back from JSON as they went, and refuse what they do not know."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from atlas_sdk import events
from atlas_sdk.events import EVENT, Event, NumberedEvent
from atlas_sdk.messages import (
    FilePart,
    ImagePart,
    Message,
    ProviderItems,
    ReasoningPart,
    Sender,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from atlas_sdk.records import Call, Checkpoint, Content, Conversation, Turn

NOW = datetime(2026, 3, 2, 9, 30, 0, 123456, tzinfo=UTC)
PARTS = (
    TextPart(text="Grüße\u202e\x00", trust="outside", source="https://example.com"),
    ImagePart(attachment="ab" * 32, media_type="image/png", name="a.png"),
    FilePart(attachment="cd" * 32, media_type="audio/ogg", name="a.ogg", text="said"),
    ReasoningPart(text="Hm."),
    ToolCallPart(call="c1", name="read_file", arguments='{"path" :\t"a" , "n":1.0}'),
    ToolResultPart(call="c1", name="read_file", content=(TextPart(text="x"),), is_error=True),
)


def message(*parts: Any, **more: Any) -> Message:
    values: dict[str, Any] = {"id": "m1", "conversation": "c1", "parent": None, "role": "user", "created_at": NOW}
    return Message(sender=Sender(kind="person"), parts=parts, **{**values, **more})


def test_every_part_comes_back_from_json() -> None:
    items = ProviderItems(provider="p", items=({"z": 1, "a": [None, "\u2028"]}, "text"))
    sent = message(*PARTS, provider_items=items, client_id="k", cause="m0")

    assert Message.model_validate_json(sent.model_dump_json()) == sent


def test_a_calls_arguments_stay_as_the_model_wrote_them() -> None:
    (call,) = Message.model_validate_json(message(PARTS[4]).model_dump_json()).calls()

    assert call.arguments == '{"path" :\t"a" , "n":1.0}'


def test_a_providers_items_keep_the_order_of_their_keys() -> None:
    items = ProviderItems(provider="p", items=({"z": 1, "a": 2},))

    assert '{"z":1,"a":2}' in items.model_dump_json()


def test_the_text_of_a_message_is_its_text_parts() -> None:
    assert message(TextPart(text="a"), PARTS[3], TextPart(text="b")).text() == "a\n\nb"
    assert message(PARTS[4]).text() == ""


def test_calls_come_in_the_order_of_the_message() -> None:
    calls = [ToolCallPart(call=str(number), name="f", arguments="{}") for number in range(3)]

    assert message(calls[2], PARTS[0], calls[0], calls[1]).calls() == (calls[2], calls[0], calls[1])


@pytest.mark.parametrize(
    "change",
    [
        {"type": "video", "text": "x"},
        {"type": "text"},
        {"type": "text", "text": "x", "trust": "stranger"},
        {"type": "text", "text": "x", "colour": "red"},
        {"type": "tool_result", "call": "c", "name": "n", "content": [{"type": "tool_call"}]},
    ],
)
def test_a_part_nobody_knows_is_refused(change: dict[str, Any]) -> None:
    sent = message().model_dump(mode="json")
    sent["parts"] = [change]

    with pytest.raises(ValidationError):
        Message.model_validate(sent)


def test_a_message_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        message().id = "other"  # type: ignore[misc]  # that is the point


EVENT_TYPES = get_args(get_args(events.AnyEvent)[0])
STATES: dict[str, Any] = {
    "state": Conversation(id="c1", created_at=NOW, updated_at=NOW),
    "message": message(PARTS[0]),
    "turn": Turn(id="t1", conversation="c1", cause="m1", started_at=NOW),
    "checkpoint": Checkpoint(id="k1", conversation="c1", first="m1", last="m1", summary="m2", created_at=NOW),
    "arguments": {"a": [1, None]},
    "question": {"id": "q"},
    "outcome": "ok",
    "how": "answered",
    "size": 3,
    "value": ["x"],
}


def made(kind: type[Event]) -> Event:
    """Make an event of a kind, with a value for each field it must have."""
    values = {
        name: "t1" if name == "turn" and field.annotation is str else STATES.get(name, "text")
        for name, field in kind.model_fields.items()
        if field.is_required()
    }
    if "state" in values and kind.model_fields["state"].annotation is str:
        values["state"] = "on"
    return kind(conversation="c1", **values)


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_by_its_type(kind: type[Event]) -> None:
    event = made(kind)
    numbered = NumberedEvent(number=7, conversation_number=2, event=event)  # type: ignore[arg-type]

    assert EVENT.validate_json(event.model_dump_json()) == event
    assert NumberedEvent.model_validate_json(numbered.model_dump_json()) == numbered


def test_every_event_is_known_to_the_wire() -> None:
    kinds = {kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)}

    assert kinds - {Event} == set(EVENT_TYPES)


@pytest.mark.parametrize("kind", EVENT_TYPES, ids=lambda kind: kind.__name__)
def test_an_events_type_is_a_noun_and_a_past_verb(kind: type[Event]) -> None:
    noun, verb = kind.model_fields["type"].default.split(".")

    assert noun.isalpha()
    assert verb.endswith(("ed", "sent", "given", "taken")) or (noun, verb) == ("review", "summary"), verb


def test_an_event_of_no_known_type_is_refused() -> None:
    with pytest.raises(ValidationError):
        EVENT.validate_python({"type": "kettle.boiled"})


def test_only_what_streams_is_ephemeral() -> None:
    assert {kind.__name__ for kind in EVENT_TYPES if not kind.durable} == {
        "TextStreamed",
        "ModelRestarted",
        "ToolProgressed",
    }


def test_a_record_is_stored_and_sent_whatever_a_text_in_it_holds() -> None:
    half = "\ud800"
    call = Call(
        id="1", conversation="c", turn="t", message="m", call="x", tool=half, arguments={half: [half, "\ud83d\ude00"]},
        started_at=NOW,
    )  # fmt: skip

    read = Call.model_validate_json(call.model_dump_json())

    assert (read.tool, read.arguments) == ("\ufffd", {"\ufffd": ["\ufffd", "\U0001f600"]})
    assert read.started_at == NOW
    assert Content.of(half).text == "\ufffd"
