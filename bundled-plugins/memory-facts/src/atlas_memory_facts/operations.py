"""What a reviewer may answer: strict operations, or that there is nothing to save. Anything else is refused whole."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from atlas_sdk.errors import AtlasError
from atlas_sdk.refusals import refusal

from .categories import Category
from .facts import Fact

NOTHING = "Nothing to save."
MOST = 20
"""A day of messages teaches a handful; a reply with more is no consolidation."""
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n\s*```\Z", re.DOTALL)
_DEFAULT_CONFIDENCE = 0.8


class RefusedReplyError(AtlasError):
    """The reviewer's reply is not what it may say, so none of it was done."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Taught(_Strict):
    """What a message taught: its number, where the reviewer names it."""

    message: int | None = None


class Add(_Taught):
    """Keep a new fact."""

    op: Literal["add"]
    category: Category
    key: str = Field(min_length=1, max_length=200)
    value: str = Field(min_length=1, max_length=1_000)
    confidence: float = Field(default=_DEFAULT_CONFIDENCE, ge=0, le=1)


class Replace(_Taught):
    """Put a newer value in a fact's place."""

    op: Literal["replace"]
    id: str
    value: str = Field(min_length=1, max_length=1_000)


class Archive(_Taught):
    """Take a fact out of use."""

    op: Literal["archive"]
    id: str


Operation: TypeAlias = Annotated[Add | Replace | Archive, Field(discriminator="op")]
_OPERATIONS: TypeAdapter[list[Add | Replace | Archive]] = TypeAdapter(list[Operation])


@dataclass(frozen=True)
class Plan:
    """The operations of a reply, in their order."""

    operations: tuple[Add | Replace | Archive, ...] = ()


def parse(reply: str, known: Mapping[str, Fact]) -> Plan:
    """Read a reply. Raises RefusedReplyError for anything but operations on known facts, or nothing to save.

    One fact is touched once: two orders for it could be meant in either order.
    """
    text = reply.strip()
    if text.strip("\"'`").rstrip(".").casefold() == NOTHING.rstrip(".").casefold():
        return Plan()
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    try:
        given: Any = json.loads(text, object_pairs_hook=_once)
    except ValueError as error:
        raise _refused("it is no JSON and no 'Nothing to save.'") from error
    if isinstance(given, dict) and set(given) == {"operations"}:
        given = given["operations"]
    try:
        operations = _OPERATIONS.validate_python(given)
    except ValidationError as error:
        raise _refused(refusal(error, Add)[1].rstrip(".")) from error
    if len(operations) > MOST:
        raise _refused(f"it has {len(operations)} operations, and at most {MOST} are done at once")
    ids = [one.id for one in operations if not isinstance(one, Add)]
    unknown = next((id for id in ids if id not in known), None)
    if unknown is not None:
        raise _refused(f"it names {unknown[:40]!r}, which it was not shown")
    if len(set(ids)) != len(ids):
        raise _refused("it changes one fact twice")
    return Plan(tuple(operations))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names a key twice: which one is meant depends on who reads it."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refused(why: str) -> RefusedReplyError:
    return RefusedReplyError(f"The memory reviewer's reply was refused whole: {why}.", code="review_refused")
