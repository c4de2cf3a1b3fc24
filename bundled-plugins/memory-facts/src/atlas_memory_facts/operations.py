"""What a reviewer may answer: operations, or that there is nothing to save. One that is none is refused alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atlas_sdk.errors import AtlasError
from atlas_sdk.refusals import refusal

from .facts import Fact

NOTHING = "Nothing to save."
MOST = 20
"""A day of messages teaches a handful; what a reply has beyond these is not done."""
MOST_REASON_CHARS = 120
"""A reason may quote a key that the reply made up."""
_FENCE = re.compile(r"\A```(?:json)?\s*\n(.*)\n\s*```\Z", re.DOTALL)
_DEFAULT_CONFIDENCE = 0.8


class RefusedReplyError(AtlasError):
    """The reviewer's reply, or one operation of it, is not what it may say, so it was not done."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Taught(_Strict):
    """What a message taught: its number, where the reviewer names it."""

    message: int | None = None


class Add(_Taught):
    """Keep a new fact. Its category and the length of its value are for admission to judge."""

    op: Literal["add"]
    category: str
    key: str
    value: str
    confidence: float = Field(default=_DEFAULT_CONFIDENCE, ge=0, le=1)


class Replace(_Taught):
    """Put a newer value in a fact's place."""

    op: Literal["replace"]
    id: str
    value: str


class Archive(_Taught):
    """Take a fact out of use."""

    op: Literal["archive"]
    id: str


Operation: TypeAlias = Add | Replace | Archive
_KINDS: dict[str, type[Operation]] = {"add": Add, "replace": Replace, "archive": Archive}


@dataclass(frozen=True)
class Plan:
    """The operations of a reply, in their order, and a sentence for each that is not to be done."""

    operations: tuple[Operation, ...] = ()
    refused: tuple[str, ...] = ()


def parse(reply: str, known: Mapping[str, Fact]) -> Plan:
    """Read a reply. Raises RefusedReplyError for one that is neither operations nor that there is nothing to save.

    One fact is touched once: two orders for it could be meant in either order, so none of them is done.
    """
    operations, refused = list[tuple[int, Operation]](), dict[int, str]()
    given = _given(reply)
    for number, one in enumerate(given, 1):
        try:
            operations.append((number, _operation(one)))
        except RefusedReplyError as error:
            refused[number] = str(error)
    if given and not operations:
        raise _refused(f"none of it is an operation: {refused[1]}")
    touched = Counter(one.id for _, one in operations if not isinstance(one, Add))
    for number, one in operations:
        if number > MOST:
            refused[number] = f"it is one too many, since at most {MOST} are done at once."
        elif not isinstance(one, Add) and one.id not in known:
            refused[number] = f"there is no fact {one.id[:40]!r} among those that it was shown."
        elif not isinstance(one, Add) and touched[one.id] > 1:
            refused[number] = "it is not the only one for its fact, and which is meant cannot be told."
    done = tuple(one for number, one in operations if number not in refused)
    return Plan(done, tuple(f"Operation {number}: {why}" for number, why in sorted(refused.items())))


class _Twice(dict[str, Any]):
    """An object that names a key twice: which one is meant depends on who reads it."""


def _given(reply: str) -> list[Any]:
    text = reply.strip()
    if text.strip("\"'`").rstrip(".").casefold() == NOTHING.rstrip(".").casefold():
        return []
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    try:
        given: Any = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise _refused("it is no JSON and no 'Nothing to save.'") from error
    if isinstance(given, dict) and not isinstance(given, _Twice) and set(given) == {"operations"}:
        given = given["operations"]
    if not isinstance(given, list):
        raise _refused("it is no list of operations")
    return given


def _operation(given: Any) -> Operation:
    """Return an operation. Raises RefusedReplyError with a reason that goes on a sentence."""
    if not isinstance(given, dict):
        raise RefusedReplyError("it is no object.")
    if isinstance(given, _Twice):
        raise RefusedReplyError("a key stands twice in it.")
    kind = _KINDS.get(str(given.get("op")))
    if kind is None:
        raise RefusedReplyError(f"it has no op of {', '.join(_KINDS)}.")
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise RefusedReplyError(refusal(error, kind)[1][:MOST_REASON_CHARS]) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Twice(found)


def _refused(why: str) -> RefusedReplyError:
    why = why.rstrip(".")
    return RefusedReplyError(f"The memory reviewer's reply was refused whole: {why}.", code="review_refused")
