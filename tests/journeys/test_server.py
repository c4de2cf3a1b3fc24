"""The running server as its clients meet it: turns, approvals, catching up, strangers, rubbish."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from atlas_gateway.client import WebSocketClient
from atlas_sdk.client import PROTOCOL
from atlas_sdk.errors import AtlasError, ServerError
from atlas_sdk.testing.model_server import Reply, call, say

from .conftest import AtlasHome, until

pytestmark = pytest.mark.slow  # each starts a server of its own, about a second


def begin(client: WebSocketClient, atlas: AtlasHome, text: str, **fields: Any) -> str:
    draft = {"folder": str(atlas.work), **fields}
    id = str(client.request("conversation.create", draft)["conversation"]["id"])
    client.request("message.send", {"conversation": id, "text": text})
    return id


def test_a_turn_streams_and_the_conversation_goes_on_after_a_restart(atlas: AtlasHome, model: Any) -> None:
    server = model([say("Hel", "lo."), say("Again.")])
    atlas.start()
    with atlas.client() as client:
        id = begin(client, atlas, "Hi")
        streamed = [until(client, "text.streamed").params["text"], until(client, "text.streamed").params["text"]]
        assert "".join(streamed) == "Hello."
        assert until(client, "turn.ended").params["turn"]["state"] == "done"
    assert atlas.stop() == 0
    atlas.start()
    with atlas.client() as client:
        client.request("message.send", {"conversation": id, "text": "And?"})
        until(client, "turn.ended")
        history = client.request("conversation.history", {"conversation": id})["messages"]

    assert [message["role"] for message in history] == ["user", "assistant", "user", "assistant"]
    first, second = (request.body["messages"] for request in server.requests)
    assert second[: len(first)] == first


def test_every_client_sees_a_question_and_the_first_answer_takes_it(atlas: AtlasHome, model: Any) -> None:
    model([Reply(calls=(call("run_command", {"command": "gh issue create --title x"}),)), say("Refused, then.")])
    atlas.start()
    with atlas.client(name="one") as one, atlas.client(name="two") as two:
        begin(one, atlas, "Open an issue")
        asked = until(one, "question.asked").params["question"]
        assert until(two, "question.asked").params["question"]["id"] == asked["id"]
        assert "gh issue create" in asked["exact"]
        assert [choice["id"] for choice in asked["choices"]][-1] == "deny"

        first = two.request("question.answer", {"id": asked["id"], "choices": ["deny"], "text": "not now"})
        second = one.request("question.answer", {"id": asked["id"], "choices": ["once"]})

        assert (first["taken"], second["taken"]) == (True, False)
        assert until(one, "question.settled").params["by"] == "two"
        finished = until(one, "tool.finished").params
        assert finished["outcome"] == "refused"
        assert "not now" in finished["summary"]


FORGER = """
import sys, time
from atlas_gateway.client import WebSocketClient
port, token = open("stolen.txt").read().split()
with WebSocketClient("127.0.0.1", int(port)) as client:
    client.request("initialize", {"client": "forger", "protocol": 1, "token": token})
    for _ in range(200):
        for question in client.request("question.list")["questions"]:
            try:
                said = client.request("question.answer", {"id": question["id"], "choices": ["once"]})
            except Exception as error:
                said = error
            open("said.txt", "w").write(str(said))
            sys.exit()
        time.sleep(0.05)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who is at the other end")
@pytest.mark.parametrize(
    "run",
    [
        {"command": f"{sys.executable} forger.py", "background": True},
        {"command": f"(setsid {sys.executable} forger.py >log.txt 2>&1 &)"},
    ],
    ids=["a child", "one that went its own way"],
)
def test_a_program_of_the_agents_cannot_answer_for_the_user(atlas: AtlasHome, model: Any, run: dict[str, Any]) -> None:
    """Whatever way it came by the token, and however it left the command that started it."""
    (atlas.work / "forger.py").write_text(FORGER)
    model(
        [
            Reply(calls=(call("run_command", run),)),
            Reply(calls=(call("run_command", {"command": "gh pr merge 12"}),)),
            say("Refused, then."),
        ]
    )
    atlas.start()
    (atlas.work / "stolen.txt").write_text(f"{atlas.port} {atlas.token}")
    with atlas.client(name="owner") as owner:
        begin(owner, atlas, "Merge it")
        first = until(owner, "question.asked").params["question"]  # the gate sees that the script is a client of Atlas
        assert "forger.py" in first["exact"]
        owner.request("question.answer", {"id": first["id"], "choices": ["once"]})
        asked = until(owner, "question.asked").params["question"]
        said = atlas.work / "said.txt"
        for _ in range(100):
            if said.exists() and said.read_text():
                break
            time.sleep(0.05)
        mine = owner.request("question.answer", {"id": asked["id"], "choices": ["deny"]})

        assert "gh pr merge" in asked["exact"]
        assert "cannot decide this for you" in said.read_text()
        assert mine["taken"]
        assert until(owner, "question.settled").params["by"] == "owner"


def test_a_client_that_comes_back_is_brought_up_to_date(atlas: AtlasHome, model: Any) -> None:
    model([say("Hello.")])
    atlas.start()
    with atlas.client() as client:
        last = client.hello["number"]  # type: ignore[attr-defined]
        begin(client, atlas, "Hi")
        until(client, "turn.ended")
    with atlas.client(after=last) as late:
        numbers = [until(late, method).params["number"] for method in ("conversation.created", "message.added")]
        assert until(late, "turn.ended").params["turn"]["state"] == "done"

    assert numbers == [last + 1, last + 2]


@pytest.mark.parametrize(
    "hello",
    [
        {"client": "x", "protocol": PROTOCOL},
        {"client": "x", "protocol": PROTOCOL, "token": "wrong"},
        {"client": "x", "protocol": PROTOCOL + 1, "token": "wrong"},
        {"protocol": PROTOCOL},
    ],
)
def test_a_stranger_is_told_why_and_let_go(atlas: AtlasHome, hello: dict[str, Any]) -> None:
    atlas.start()
    client = WebSocketClient("127.0.0.1", atlas.port)
    with pytest.raises(AtlasError):
        client.request("initialize", hello)
    with pytest.raises(ServerError):
        client.request("home.show", timeout=5)
    client.close()
    with atlas.client() as good:
        assert good.request("home.show")["name"]


def test_the_reason_that_came_with_the_end_is_read(atlas: AtlasHome) -> None:
    atlas.start()
    client = WebSocketClient("127.0.0.1", atlas.port)
    client.send_frame('{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"client": "x", "protocol": 1}}')
    time.sleep(1)  # let the answer and the end of the connection arrive together
    assert "The token is wrong" in str(client.receive_frame(5))
    with pytest.raises(ServerError):
        client.receive_frame(5)
    client.close()


def test_a_server_that_cannot_start_says_why_in_a_sentence(atlas: AtlasHome) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = atlas.run("serve", "--port", str(port))

    assert f"Port {port} on 127.0.0.1 cannot be listened on" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == int(ServerError("").exit_code)


def raw(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as stream:
        stream.sendall(data)
        stream.settimeout(5)
        answer = b""
        try:
            while chunk := stream.recv(65536):
                answer += chunk
        except (TimeoutError, ConnectionResetError):
            pass
        return answer


UPGRADE = (
    "GET {target} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
)


def test_pages_of_other_sites_and_odd_names_are_turned_away(atlas: AtlasHome) -> None:
    atlas.start()
    here = f"127.0.0.1:{atlas.port}"

    def upgrade(host: str, more: str = "", target: str = "/ws") -> bytes:
        return raw(atlas.port, UPGRADE.format(host=host, more=more, target=target).encode())[:12]

    assert upgrade(here, "Origin: https://evil.example\r\n") == b"HTTP/1.1 403"
    assert upgrade("rebound.example") == b"HTTP/1.1 403"
    assert upgrade(here, target="/other") == b"HTTP/1.1 404"
    for request, status in (
        (f"GET /healthz HTTP/1.1\r\nHost: {here}\r\nConnection: close\r\n\r\n", b"200"),
        ("GET /healthz HTTP/1.1\r\nHost: rebound.example\r\n\r\n", b"403"),
        (f"GET /files/aa HTTP/1.1\r\nHost: {here}\r\n\r\n", b"401"),
        (f"POST /files HTTP/1.1\r\nHost: {here}\r\nContent-Length: 1\r\n\r\nx", b"401"),
    ):
        assert raw(atlas.port, request.encode())[9:12] == status


def test_addresses_that_are_none_are_answered(atlas: AtlasHome) -> None:
    atlas.start()
    here = f"Host: 127.0.0.1:{atlas.port}\r\n"
    head = f"{here}Authorization: Bearer {atlas.token}\r\nConnection: close\r\n"

    assert b" 403 " in raw(atlas.port, f"GET /healthz HTTP/1.1\r\n{head}Origin: http://[\r\n\r\n".encode())
    assert b" 404 " in raw(atlas.port, f"GET //[ HTTP/1.1\r\n{head}\r\n".encode())
    upgrade = UPGRADE.format(host=f"127.0.0.1:{atlas.port}", more="Origin: http://[\r\n", target="/ws")
    assert raw(atlas.port, upgrade.encode())[:12] == b"HTTP/1.1 403"
    assert "Traceback" not in atlas.errors()


def test_a_file_goes_up_and_comes_down_as_it_was(atlas: AtlasHome) -> None:
    atlas.start()
    data = bytes(range(256)) * 100
    head = f"Host: 127.0.0.1:{atlas.port}\r\nAuthorization: Bearer {atlas.token}\r\nConnection: close\r\n"
    up = f"POST /files HTTP/1.1\r\n{head}Content-Type: image/png\r\nContent-Length: {len(data)}\r\n\r\n"
    answer = raw(atlas.port, up.encode() + data)
    assert b" 201 " in answer
    id = answer.rpartition(b'"id": "')[2][:64].decode()

    down = raw(atlas.port, f"GET /files/{id} HTTP/1.1\r\n{head}\r\n".encode())

    assert down.partition(b"\r\n\r\n")[2] == data


def test_a_body_nobody_asked_for_is_not_read(atlas: AtlasHome) -> None:
    atlas.start()
    head = f"Host: 127.0.0.1:{atlas.port}\r\nContent-Length: 4000000\r\n"

    for target, status in (("/healthz", b" 413 "), ("/files/aa", b" 413 ")):
        request = f"GET {target} HTTP/1.1\r\n{head}Authorization: Bearer {atlas.token}\r\n\r\n"
        assert status in raw(atlas.port, request.encode() + b"x" * 100_000)


def test_a_file_with_a_type_that_is_none_comes_down_too(atlas: AtlasHome) -> None:
    atlas.start()
    head = f"Host: 127.0.0.1:{atlas.port}\r\nAuthorization: Bearer {atlas.token}\r\nConnection: close\r\n"
    for media_type in ("a\tb\xff", "", "text", "x/y z"):
        up = f"POST /files HTTP/1.1\r\n{head}Content-Type: {media_type}\r\nContent-Length: 4\r\n\r\nabcd"
        id = raw(atlas.port, up.encode("latin-1")).rpartition(b'"id": "')[2][:64].decode()

        down = raw(atlas.port, f"GET /files/{id} HTTP/1.1\r\n{head}\r\n".encode())

        assert b" 200 " in down
        assert b"content-type: application/octet-stream" in down.lower()


def until_refused(client: WebSocketClient) -> None:
    while True:
        client.request("home.show", timeout=5)


RUBBISH = [
    b"\x00\x01\x02",
    b"GET",
    b"GET / HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"A" * 100_000,
    UPGRADE.format(host="127.0.0.1", more="", target="/ws").encode() + b"\xff\xff\xff\xff",
    UPGRADE.format(host="127.0.0.1", more="", target="/ws").encode() + b"\x81\x05hello",
]


def test_rubbish_ends_its_own_connection_and_touches_nobody_else(atlas: AtlasHome) -> None:
    atlas.start()
    with atlas.client() as good:
        for data in RUBBISH:
            with socket.create_connection(("127.0.0.1", atlas.port), timeout=5) as stream:
                stream.sendall(data)
        for frame in ("[]", "5", "{", '{"method": 5}', '{"id": [], "method": "home.show"}'):
            with pytest.raises(AtlasError), atlas.client() as bad:
                bad.send_frame(frame)
                while True:
                    bad.request("home.show", timeout=5)

        began = time.monotonic()
        assert good.request("home.show")["version"]
        assert time.monotonic() - began < 1


def test_a_server_killed_in_mid_turn_says_what_was_interrupted(atlas: AtlasHome, model: Any) -> None:
    model([Reply(calls=(call("run_command", {"command": "sleep 60"}),)), say("Unused.")])
    atlas.start()
    with atlas.client() as client:
        id = begin(client, atlas, "Sleep")
        until(client, "tool.called")
        time.sleep(0.3)  # let the command begin, so that its effect is under way
    atlas.stop(signal.SIGKILL)

    atlas.start()
    with atlas.client() as client:
        assert client.hello["interrupted"]  # type: ignore[attr-defined]
        history = client.request("conversation.history", {"conversation": id})["messages"]

    assert [message["role"] for message in history] == ["user", "assistant", "tool"]
    assert "Interrupted" in history[-1]["parts"][0]["content"][0]["text"]


def test_a_second_server_on_a_home_is_refused_with_its_exit_code(atlas: AtlasHome) -> None:
    atlas.start()
    second = atlas.run("serve", "--port", "0")
    assert second.returncode == 4
    assert "is in use by process" in second.stderr


def test_commands_go_through_the_running_server(atlas: AtlasHome, model: Any) -> None:
    model([say("Through.")])
    atlas.start()
    said = atlas.run("chat", "-p", "Hi")
    assert (said.returncode, said.stdout) == (0, "Through.\n")
    assert "1 call," in atlas.run("usage").stdout
    assert atlas.run("secrets", "set", "OPENAI_API_KEY", stdin="sk-one\n").returncode == 0
    assert "OPENAI_API_KEY" in atlas.run("secrets", "list").stdout


def test_half_a_character_is_taken_as_unreadable(atlas: AtlasHome, model: Any) -> None:
    model([say("Fine.")])
    atlas.start()
    with atlas.client() as client:
        id = client.request("conversation.create", {"folder": str(atlas.work), "title": "x\ud83d"})["conversation"][
            "id"
        ]
        client.request("message.send", {"conversation": id, "text": "half \ud83d"})
        assert until(client, "turn.ended").params["turn"]["state"] == "done"
        history = client.request("conversation.history", {"conversation": id})["messages"]
        assert history[0]["parts"][-1]["text"] == "half \ufffd"
        client.send_frame('{"id": "\\ud83d", "method": "\\ud83d"}')
        assert client.request("home.show")["version"]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux tells whose a process is")
def test_a_chat_in_which_nothing_was_said_leaves_no_conversation(atlas: AtlasHome, model: Any) -> None:
    model([])
    left = atlas.run("chat", stdin="")
    listed = atlas.run("chat", "--list")

    assert left.returncode == 0
    assert "To go on" not in left.stderr
    assert listed.stdout == ""


def test_what_a_crash_leaves_of_a_command_is_ended_by_the_next_start(atlas: AtlasHome, model: Any) -> None:
    model([Reply(calls=(call("run_command", {"command": "setsid sleep 61.25 & sleep 61.25"}),)), say("Unused.")])

    def left() -> list[str]:
        home = f"ATLAS_HOME={atlas.folder}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if home in (process / "environ").read_bytes() and b"61.25" in (process / "cmdline").read_bytes():
                    found.append(process.name)
        return found

    def until_left(wanted: bool) -> None:
        end = time.monotonic() + 10
        while bool(left()) is not wanted and time.monotonic() < end:
            time.sleep(0.05)

    atlas.start()
    with atlas.client() as client:
        begin(client, atlas, "Sleep")
        until_left(True)
    atlas.stop(signal.SIGKILL)
    assert left()

    atlas.start()
    try:
        until_left(False)
        assert left() == []
        assert list((atlas.folder / "commands" / ".running").iterdir()) == []
        assert (atlas.folder / "commands").stat().st_mode & 0o077 == 0
    finally:
        for pid in left():
            os.kill(int(pid), signal.SIGKILL)


def test_a_server_does_not_lock_its_clients_out(atlas: AtlasHome) -> None:
    atlas.start()
    with atlas.client() as client:
        with pytest.raises(AtlasError, match="stays on"):
            client.request("plugin.disable", {"name": "gateway"})
        assert client.request("home.show")["version"]
    with atlas.client() as another:
        assert another.request("home.show")["version"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("event.list", {"after": 2**63}),
        ("conversation.list", {"before": "0001-01-01T00:00:00+14:00"}),
        ("conversation.list", {"before": "9999-12-31T23:59:59-14:00"}),
    ],
)
def test_numbers_and_times_out_of_range_are_wrong_params(atlas: AtlasHome, method: str, params: dict[str, Any]) -> None:
    atlas.start()
    with atlas.client() as client, pytest.raises(AtlasError) as refused:
        client.request(method, params)
    assert refused.value.code == "wrong_params"


def test_who_replaces_the_token_is_told_the_new_one(atlas: AtlasHome) -> None:
    atlas.start()
    old = atlas.token
    with atlas.client() as other:
        done = atlas.run("server", "token", "--new")

        assert done.returncode == 0
        assert done.stdout.strip() == atlas.token != old
        with pytest.raises(ServerError):
            until_refused(other)
    with atlas.client() as client:
        assert client.request("home.show")["version"]


def test_a_command_that_comes_across_the_token_shows_it_to_nobody(atlas: AtlasHome, model: Any) -> None:
    reads = f"for file in pathlib.Path('{atlas.folder.parent}').rglob('server.json'): print(file.read_text())"
    command = f'python3 -c "import pathlib\n{reads}"'
    server = model([Reply(calls=(call("run_command", {"command": command}),)), say("Seen.")])
    atlas.start()
    with atlas.client() as client:
        id = begin(client, atlas, "Look for tokens")
        until(client, "turn.ended")
        history = client.request("conversation.history", {"conversation": id})["messages"]

    assert "exit code 0" in str(history)
    assert "***" in str(history)
    assert atlas.token not in str(history)
    assert atlas.token.encode() not in b"".join(request.raw for request in server.requests)
