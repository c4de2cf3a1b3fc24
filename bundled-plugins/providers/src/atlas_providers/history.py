"""A conversation's history as every provider is given it: the same history always makes the same bytes.

What only one provider understands rides in ``provider_items``, one of two shapes, each with the model it is bound to:
``{"model": m, "before": n, "item": {...}}`` stands before the n-th text or call of its message, and
``{"model": m, "on": n, "fields": {...}}`` belongs to it (n = -1: to the message as a whole).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from atlas_sdk.messages import FilePart, ImagePart, Message, TextPart, ToolCallPart, ToolResultPart
from atlas_sdk.providers import ModelRequest
from atlas_sdk.values import Json

WHOLE_MESSAGE = -1
CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The formats every provider takes."""


@dataclass(frozen=True)
class Image:
    """An image to send."""

    media_type: str
    base64: str

    @property
    def data_url(self) -> str:
        """The image inside a URL."""
        return f"data:{self.media_type};base64,{self.base64}"


@dataclass(frozen=True)
class Items:
    """A message's provider items that the model asked now may be given."""

    before: dict[int, tuple[dict[str, Any], ...]]
    fields: dict[int, dict[str, Any]]


def items_of(message: Message, request: ModelRequest) -> Items:
    """Return what goes back with this message: only what the same provider and model gave."""
    before: dict[int, tuple[dict[str, Any], ...]] = {}
    fields: dict[int, dict[str, Any]] = {}
    kept = message.provider_items
    if kept is not None and kept.provider == request.provider:
        for one in kept.items:
            if not isinstance(one, dict) or one.get("model") != request.model:
                continue
            if "item" in one:
                place = int(one["before"])
                before[place] = (*before.get(place, ()), one["item"])
            else:
                fields.setdefault(int(one["on"]), {}).update(one["fields"])
    return Items(before, fields)


def item_before(model: str, place: int, item: Json) -> Json:
    """An item that goes back before the message's text or call of that place."""
    return {"model": model, "before": place, "item": item}


def fields_on(model: str, place: int, fields: Json) -> Json:
    """Fields that go back on the message's text or call of that place, or on the whole message."""
    return {"model": model, "on": place, "fields": fields}


def shared_parts(message: Message) -> tuple[TextPart | ToolCallPart, ...]:
    """Return the texts and calls of an assistant's message, in order: the places that provider items count by."""
    return tuple(part for part in message.parts if isinstance(part, TextPart | ToolCallPart))


def user_content(message: Message, request: ModelRequest, *, sees_images: bool) -> Iterator[str | Image]:
    """Yield the texts and images of a user's message."""
    for part in message.parts:
        if isinstance(part, TextPart):
            if part.text.strip():
                yield part.text
        elif isinstance(part, ImagePart):
            yield image_of(part, request.attachments, sees_images=sees_images)
        elif isinstance(part, FilePart):
            text = part.text if part.text is not None else f"(its content, {part.media_type}, was not read)"
            yield f"File {part.name}:\n\n{text}"


def result_content(part: ToolResultPart, request: ModelRequest, *, sees_images: bool) -> tuple[str | Image, ...]:
    """Return the texts and images of a tool's result; an empty one says so, since providers refuse nothing at all."""
    found: list[str | Image] = []
    for one in part.content:
        if isinstance(one, ImagePart):
            found.append(image_of(one, request.attachments, sees_images=sees_images))
        elif one.text.strip():
            found.append(one.text)
    return tuple(found) or ("(no output)",)


def image_of(part: ImagePart, attachments: Callable[[str], bytes], *, sees_images: bool) -> str | Image:
    """Return the image, or a note in its place that says why it is not there."""
    name = part.name or "image"
    if not sees_images:
        return f"[{name}: an image, which this model cannot see]"
    if part.media_type not in IMAGE_TYPES:
        return f"[{name}: an image of a format ({part.media_type}) no model takes]"
    raw = attachments(part.attachment)
    if not raw:
        return f"[{name}: an image that is no longer kept]"
    return Image(part.media_type, base64.b64encode(raw).decode())


def result_runs(messages: tuple[Message, ...]) -> Iterator[tuple[Message, ...]]:
    """Yield the history message by message, with tool results that follow one another taken together."""
    run: list[Message] = []
    for message in messages:
        if message.role == "tool":
            run.append(message)
            continue
        if run:
            yield tuple(run)
            run = []
        yield (message,)
    if run:
        yield tuple(run)


def results_in(run: tuple[Message, ...]) -> tuple[ToolResultPart, ...]:
    """Return the tool results of a run."""
    return tuple(part for message in run for part in message.parts if isinstance(part, ToolResultPart))


def wire_call_id(call: str) -> str:
    """Return a call's id in the letters every provider takes, the same each time for a call and for its result."""
    if CALL_ID.fullmatch(call):
        return call
    return "call_" + hashlib.sha256(call.encode()).hexdigest()[:24]


def wire_tool_name(name: str) -> str:
    """Return a tool's name in the letters every provider takes; models sometimes write others."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def arguments_object(text: str) -> dict[str, Any]:
    """Return a call's arguments as an object. What is none goes back as text under one name, for the model to see."""
    try:
        value = json.loads(text) if text.strip() else {}
    except ValueError:
        return {"unreadable": text}
    return value if isinstance(value, dict) else {"unreadable": text}


def arguments_text(text: str) -> str:
    """Return a call's arguments exactly as the model wrote them where they are an object, which servers insist on."""
    value = arguments_object(text)
    if not text.strip() or "unreadable" in value:
        return json.dumps(value, ensure_ascii=False)
    return text
