"""What a stand-in model server answers: replies, failures, and the list of them.

A script is a list. Each request takes the first entry that fits it: one whose `match` is in the request's text
before one without a `match`, in the order written. An entry serves one request unless `keep` is true.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

Stop: TypeAlias = Literal["end", "calls", "length", "refusal", "context"]

NOW, RECEIVED = "{now}", "{received}"
"""In a streamed text, these become the time at which it is sent, and that at which the request was there.

Seconds of `time.monotonic`, which the processes of one machine share: a client can say how long a chunk took to it.
"""

FailureKind: TypeAlias = Literal[
    "key_refused",
    "no_permission",
    "no_credit",
    "rate_limited",
    "context_too_long",
    "unknown_model",
    "bad_request",
    "server_error",
    "overloaded",
]


@dataclass(frozen=True)
class ScriptedUsage:
    """Tokens of one reply. `input` counts everything sent, cached or not; each format divides it as it does."""

    input: int = 20
    output: int = 5
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class ScriptedCall:
    """One tool call. Arguments are sent as several deltas; text instead of a mapping is sent as it is."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None
    signature: str | None = None

    @property
    def arguments_text(self) -> str:
        """The arguments as a model writes them: JSON text."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """One answer of the model. Text and reasoning are streamed chunk by chunk, calls in parallel after them.

    `signature` is what a reasoning model hands out to be given back: encrypted content, a thinking signature or an
    encrypted reasoning detail. `cost` is what OpenRouter reports. After `cut_after` events the connection breaks,
    after `idle_after` events nothing more is said, after `fail_after` events the stream carries `failure`.
    """

    text: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    calls: tuple[ScriptedCall, ...] = ()
    signature: str | None = None
    refusal: str | None = None
    stop: Stop | None = None
    usage: ScriptedUsage = field(default_factory=ScriptedUsage)
    cost: float | None = None
    delay_seconds: float = 0.0
    cut_after: int | None = None
    idle_after: int | None = None
    fail_after: int | None = None
    failure: Failure | None = None
    match: str | None = None
    keep: bool = False

    @property
    def why_stopped(self) -> Stop:
        """The stop reason: the one given, else what the content implies."""
        if self.stop is not None:
            return self.stop
        if self.refusal is not None:
            return "refusal"
        return "calls" if self.calls else "end"


@dataclass(frozen=True)
class Failure:
    """A request that is refused, in the shape the real server uses for it.

    `kind` picks status, code and wording. `status`, `message` and `body` replace those where given; `close` hangs up
    before any answer.
    """

    kind: FailureKind = "server_error"
    status: int | None = None
    message: str | None = None
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    close: bool = False
    match: str | None = None
    keep: bool = False


Step: TypeAlias = Reply | Failure | Callable[[dict[str, Any]], "Reply | Failure"]


def say(*chunks: str, **more: Any) -> Reply:
    """A reply of text, one chunk an argument."""
    return Reply(text=chunks, **more)


def call(name: str, arguments: Mapping[str, Any] | str | None = None, **more: Any) -> ScriptedCall:
    """A tool call for `Reply(calls=...)`."""
    return ScriptedCall(name, {} if arguments is None else arguments, **more)


def parse_script(entries: Iterable[Any]) -> list[Step]:
    """Read a script from JSON. A misspelt field is refused with the fields there are."""
    return [_parse_step(entry, f"[{number}]") for number, entry in enumerate(entries)]


def _parse_step(entry: Any, where: str) -> Step:
    if isinstance(entry, str):
        return say(entry)
    if not isinstance(entry, dict):
        raise ValueError(f"The script's {where} is neither text nor an object.")
    if set(entry) - {"match", "keep"} == {"failure"}:
        shared = {key: entry[key] for key in ("match", "keep") if key in entry}
        failure: Failure = _build(Failure, {**entry["failure"], **shared}, where)
        return failure
    values = dict(entry)
    for name in ("text", "reasoning"):
        if isinstance(values.get(name), str):
            values[name] = (values[name],)
        elif name in values:
            values[name] = tuple(values[name])
    if "calls" in values:
        values["calls"] = tuple(_build(ScriptedCall, one, f"{where}.calls") for one in values["calls"])
    if "usage" in values:
        values["usage"] = _build(ScriptedUsage, values["usage"], f"{where}.usage")
    if "failure" in values:
        values["failure"] = _build(Failure, values["failure"], f"{where}.failure")
    reply: Reply = _build(Reply, values, where)
    return reply


def _build(kind: Any, values: Any, where: str) -> Any:
    if not isinstance(values, dict):
        raise ValueError(f"The script's {where} is not an object.")
    known = {one.name for one in fields(kind)}
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(f"The script's {where} has no field {unknown[0]!r}. It knows {', '.join(sorted(known))}.")
    return kind(**values)


class Obedient:
    """A step that does as it is told: the last message of the user is a script, one entry a step of the turn.

    So a test, or a measurement, in one process says what a stand-in in another answers, conversation by conversation.
    A message that is no script is answered with "Done.", and so is what comes after a script's end.
    """

    match = None
    keep = True

    def __call__(self, body: dict[str, Any]) -> Reply | Failure:
        answered = 0
        for message in reversed(body.get("messages") or body.get("input") or []):
            if message.get("role") == "assistant":
                answered += 1
            elif message.get("role") == "user" and (text := _script_in(message.get("content"))):
                steps = parse_script(json.loads(text))
                return steps[answered] if answered < len(steps) else say("Done.")  # type: ignore[return-value]  # JSON holds no callable
        return say("Done.")


def _script_in(content: Any) -> str:
    """Return the text that is a script, which may stand beside a note of the day; "" where there is none."""
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [str(part.get("text", "")) for part in parts]
    return next((text for text in texts if text.startswith("[")), "")


class Script:
    """The entries not yet used. Not safe across threads by itself: the server holds its lock around `take`."""

    def __init__(self, steps: Iterable[Any]) -> None:
        self._steps: list[Any] = list(steps)

    def add(self, *steps: Any) -> None:
        """Put more at the end."""
        self._steps.extend(steps)

    def take(self, text: str, body: dict[str, Any]) -> Reply | Failure:
        """The answer to one request, whose raw text and parsed body these are."""
        index = self._index(text)
        if index is None:
            return Failure("server_error", message="The stand-in's script has no reply left for this request.")
        step = self._steps[index]
        if not getattr(step, "keep", False):
            del self._steps[index]
        if isinstance(step, Reply | Failure):
            return step
        answer: Reply | Failure = step(body)
        return answer

    def _index(self, text: str) -> int | None:
        marks = [getattr(step, "match", None) for step in self._steps]
        for index, mark in enumerate(marks):
            if mark is not None and mark in text:
                return index
        return next((index for index, mark in enumerate(marks) if mark is None), None)
