"""JSON-RPC as terminal commands speak it: answers matched, notifications kept, errors as they were raised."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import pytest

from atlas_sdk import errors
from atlas_sdk.client import JsonRpcClient, Notification
from atlas_sdk.errors import AtlasError, ExitCode, MisuseError, NeedsConsentError, RefusedError, ServerError


class ScriptedClient(JsonRpcClient):
    """A client whose server says what the test wrote down. None in the script is a silence."""

    def __init__(self, *frames: Any) -> None:
        super().__init__()
        self.sent: list[Any] = []
        self.waited: list[float | None] = []
        self.closed = 0
        self._frames = deque(frames)

    def send_frame(self, frame: str) -> None:
        self.sent.append(json.loads(frame))

    def receive_frame(self, timeout: float | None) -> str | None:
        self.waited.append(timeout)
        if not self._frames:
            raise ServerError("The server has closed the connection.")
        frame = self._frames.popleft()
        return None if frame is None else json.dumps(frame)

    def close(self) -> None:
        self.closed += 1


def answer(id: int, result: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def failure(id: int, message: str = "No.", **data: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message, "data": data}}


def told(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def test_a_request_is_a_frame_with_an_id_of_its_own() -> None:
    client = ScriptedClient(answer(1), answer(2))
    client.request("home.show")
    client.request("note.add", {"text": "Grüße"})

    assert client.sent == [
        {"jsonrpc": "2.0", "id": 1, "method": "home.show", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "note.add", "params": {"text": "Grüße"}},
    ]


def test_a_result_comes_back() -> None:
    assert ScriptedClient(answer(1, {"a": [1, None]})).request("m") == {"a": [1, None]}
    assert ScriptedClient({"jsonrpc": "2.0", "id": 1}).request("m") is None


def test_an_answer_to_another_request_is_passed_over() -> None:
    """It is of a request that was given up."""
    client = ScriptedClient(None, answer(1, "late"), answer(2, "mine"))
    with pytest.raises(ServerError):
        client.request("slow", timeout=1.0)

    assert client.request("quick") == "mine"


def test_notifications_that_come_before_the_answer_are_kept_in_order() -> None:
    client = ScriptedClient(told("a.said", n=1), told("b.said", n=2), answer(1), told("c.said", n=3))
    client.request("m")

    assert [client.next_notification() for _ in range(3)] == [
        Notification("a.said", {"n": 1}),
        Notification("b.said", {"n": 2}),
        Notification("c.said", {"n": 3}),
    ]


def test_no_notification_in_time_is_none() -> None:
    client = ScriptedClient(None)

    assert client.next_notification(timeout=2.0) is None
    assert client.waited[0] == pytest.approx(2.0, abs=0.1)


def test_a_late_answer_is_no_notification() -> None:
    client = ScriptedClient(answer(1, "late"), told("a.said"))

    assert client.next_notification() == Notification("a.said", {})


def test_a_request_nobody_answers_says_so() -> None:
    with pytest.raises(ServerError, match=r"note\.list was not answered in 3\.0 seconds"):
        ScriptedClient(None).request("note.list", timeout=3.0)


def test_notifications_do_not_lengthen_the_wait() -> None:
    client = ScriptedClient(*(told("a.said") for _ in range(50)), answer(1))
    client.request("m", timeout=5.0)
    waits = [wait for wait in client.waited if wait is not None]

    assert waits == sorted(waits, reverse=True)
    assert waits[0] <= 5.0


def test_without_a_time_it_waits_as_long_as_it_takes() -> None:
    client = ScriptedClient(answer(1))
    client.request("m", timeout=None)

    assert client.waited == [None]


def test_a_connection_that_is_gone_is_said() -> None:
    client = ScriptedClient()

    with pytest.raises(ServerError):
        client.request("m")
    with pytest.raises(ServerError):
        client.next_notification()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ExitCode.FAILED, AtlasError),
        (ExitCode.MISUSE, MisuseError),
        (ExitCode.NEEDS_CONSENT, NeedsConsentError),
        (ExitCode.SERVER, ServerError),
        (ExitCode.REFUSED, RefusedError),
    ],
)
def test_an_error_is_raised_as_the_kind_the_server_raised(code: ExitCode, kind: type[AtlasError]) -> None:
    client = ScriptedClient(failure(1, "No.", code="odd", hint="Do this.", exit_code=int(code)))

    with pytest.raises(AtlasError) as raised:
        client.request("m")

    assert type(raised.value) is kind
    assert (raised.value.message, raised.value.hint, raised.value.code) == ("No.", "Do this.", "odd")
    assert raised.value.exit_code == code


@pytest.mark.parametrize("data", [{}, {"exit_code": 77}, {"exit_code": None}])
def test_an_error_nobody_knows_is_still_one(data: dict[str, Any]) -> None:
    with pytest.raises(AtlasError, match="No"):
        ScriptedClient(failure(1, **data)).request("m")


def test_an_error_without_data_is_still_one() -> None:
    with pytest.raises(AtlasError, match="Parse error"):
        ScriptedClient({"id": 1, "error": {"code": -32700, "message": "Parse error."}}).request("m")


def test_leaving_the_block_closes_it() -> None:
    with ScriptedClient() as client:
        pass

    assert client.closed == 1


def test_every_exit_code_of_a_failure_has_a_kind() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AtlasError)]

    assert {kind.exit_code for kind in kinds} == set(ExitCode) - {ExitCode.DONE, ExitCode.INTERRUPTED}
