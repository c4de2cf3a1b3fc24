"""The formats behind one face, so that the HTTP side of the stand-in need not know which it serves."""

from __future__ import annotations

from collections.abc import Iterator

from atlas_sdk.testing.model_formats import chat_completions, messages, responses
from atlas_sdk.testing.model_formats.requests import RecordedRequest, flavour_of
from atlas_sdk.testing.model_formats.shapes import BadRequestError, Event, Json, Refused
from atlas_sdk.testing.model_script import Failure, Reply


class Format:
    """One wire format, bound to one request. `signatures` are those handed out so far."""

    def __init__(self, request: RecordedRequest, signatures: dict[str, str], served: tuple[str, ...] | None) -> None:
        self.signatures = signatures
        self.served = served
        self.request = request
        self.body: Json = request.body

    def validate(self) -> None:
        """Refuse a model that is not served, then whatever the format refuses."""
        model = self.body.get("model")
        if self.served is not None and model is not None and model not in self.served:
            raise BadRequestError(self.unknown_model(model), "model", "model_not_found", 404)
        self.check()

    def unknown_model(self, model: str) -> str:
        return f"The model `{model}` does not exist or you do not have access to it."

    def check(self) -> None:
        raise NotImplementedError

    def signed(self, reply: Reply, stamp: str) -> dict[str, str]:
        raise NotImplementedError

    def whole(self, reply: Reply, stamp: str) -> Json:
        raise NotImplementedError

    def events(self, reply: Reply, stamp: str) -> Iterator[Event]:
        raise NotImplementedError

    def failed(self, failure: Failure, stamp: str) -> Event:
        raise NotImplementedError

    def error(self, failure: Failure) -> Refused:
        raise NotImplementedError

    def refusal(self, wrong: BadRequestError) -> Refused:
        raise NotImplementedError


class ChatCompletions(Format):
    @property
    def flavour(self) -> str:
        return flavour_of(self.request)

    def check(self) -> None:
        chat_completions.validate(self.body, self.signatures)

    def signed(self, reply: Reply, stamp: str) -> dict[str, str]:
        ids = chat_completions.call_ids(reply, stamp)
        pairs = zip(ids, reply.calls, strict=True)
        return {found: one.signature for found, one in pairs if one.signature is not None}

    def whole(self, reply: Reply, stamp: str) -> Json:
        return chat_completions.whole(reply, self.body, stamp, self.flavour)

    def events(self, reply: Reply, stamp: str) -> Iterator[Event]:
        return chat_completions.events(reply, self.body, stamp, self.flavour)

    def failed(self, failure: Failure, stamp: str) -> Event:
        return chat_completions.failed(failure, self.flavour)

    def error(self, failure: Failure) -> Refused:
        return chat_completions.error(failure, self.flavour)

    def refusal(self, wrong: BadRequestError) -> Refused:
        return chat_completions.refusal(wrong, self.flavour)


class Responses(Format):
    def check(self) -> None:
        responses.validate(self.body, self.signatures)

    def signed(self, reply: Reply, stamp: str) -> dict[str, str]:
        return responses.signed(reply, stamp)

    def whole(self, reply: Reply, stamp: str) -> Json:
        return responses.whole(reply, self.body, stamp)

    def events(self, reply: Reply, stamp: str) -> Iterator[Event]:
        return responses.events(reply, self.body, stamp)

    def failed(self, failure: Failure, stamp: str) -> Event:
        return responses.failed(failure, self.body, stamp)

    def error(self, failure: Failure) -> Refused:
        return chat_completions.error(failure)

    def refusal(self, wrong: BadRequestError) -> Refused:
        return chat_completions.refusal(wrong)


class Messages(Format):
    def unknown_model(self, model: str) -> str:
        return f"model: {model}"

    def check(self) -> None:
        if "anthropic-version" not in self.request.headers:
            raise BadRequestError("anthropic-version: header is required")
        messages.validate(self.body, self.signatures)

    def signed(self, reply: Reply, stamp: str) -> dict[str, str]:
        return messages.signed(reply, stamp)

    def whole(self, reply: Reply, stamp: str) -> Json:
        return messages.whole(reply, self.body, stamp)

    def events(self, reply: Reply, stamp: str) -> Iterator[Event]:
        return messages.events(reply, self.body, stamp)

    def failed(self, failure: Failure, stamp: str) -> Event:
        return messages.failed(failure)

    def error(self, failure: Failure) -> Refused:
        return messages.error(failure)

    def refusal(self, wrong: BadRequestError) -> Refused:
        return messages.refusal(wrong)


def format_of(path: str) -> type[Format] | None:
    """Return the format a path is asked in."""
    if path.endswith("/chat/completions"):
        return ChatCompletions
    if path.endswith("/responses"):
        return Responses
    return Messages if path == "/v1/messages" else None
