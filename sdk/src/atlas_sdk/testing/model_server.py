"""A stand-in for the model servers: OpenAI, Anthropic, Gemini, OpenRouter, Ollama and vLLM, on loopback.

    with ModelServer([say("Hel", "lo")]) as server:
        client = AsyncOpenAI(api_key="key", base_url=server.url + "/v1")

It answers from a script, refuses what the real servers refuse, and records every request in `server.requests`.
From a shell: `python -m atlas_sdk.testing.model_server --script replies.json` prints its address as a line of JSON.
"""

from __future__ import annotations

import argparse
import io
import json
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from atlas_sdk.testing.model_formats.listings import Door, listing, wrong_key
from atlas_sdk.testing.model_formats.requests import LocalServer, RecordedRequest
from atlas_sdk.testing.model_formats.shapes import BadRequestError, Event, Refused
from atlas_sdk.testing.model_formats.spoken import Format, format_of
from atlas_sdk.testing.model_script import NOW, RECEIVED, Failure, Obedient, Reply, Script, call, parse_script, say

__all__ = ["Failure", "ModelServer", "Obedient", "RecordedRequest", "Reply", "call", "main", "say"]

POLL_SECONDS = 0.005
"""How often an idle stream looks whether its client has left."""

IDLE_LIMIT_SECONDS = 30.0
"""An idle stream ends by then, so that a test that forgets its client does not hang."""


class ModelServer:
    """The server. `key` is the one key it accepts (None: any but an empty one); `models` those it lists and,
    with `strict_models`, the only ones it serves; `local` makes it look like a local server, which needs no key."""

    def __init__(
        self,
        script: Iterable[Any] = (),
        *,
        key: str | None = None,
        models: tuple[str, ...] = ("stand-in-1",),
        strict_models: bool = False,
        local: LocalServer | None = None,
        port: int = 0,
    ) -> None:
        self.door = Door(key, models, local)
        self.strict_models = strict_models
        self.requests: list[RecordedRequest] = []
        self.problems: list[str] = []
        """What was wrong with each request that was refused as malformed."""
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.signatures: dict[str, str] = {}
        self._script = Script(script)
        self._answers = 0
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def models(self) -> tuple[str, ...]:
        """The models it lists."""
        return self.door.models

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def calls(self) -> list[RecordedRequest]:
        """The recorded requests that asked a model something."""
        return [one for one in self.requests if one.method == "POST"]

    def add(self, *steps: Any) -> None:
        """Put more replies at the end of the script."""
        with self.lock:
            self._script.add(*steps)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and end the streams still open."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def take(self, request: RecordedRequest) -> tuple[Reply | Failure, str]:
        """The next answer, and a stamp that makes its ids unlike those of any other."""
        with self.lock:
            self._answers += 1
            return self._script.take(request.raw.decode("utf-8", "replace"), request.body), str(self._answers)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is ordinary here; anything else is a fault of the stand-in and is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    request_seen: RecordedRequest

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the requests are recorded."""

    @property
    def owner(self) -> ModelServer:
        return cast(_Http, self.server).owner

    def do_GET(self) -> None:
        self._record()
        self._respond(listing(self.owner.door, self.request_seen))

    def do_POST(self) -> None:
        self._record()
        request = self.request_seen
        refused = wrong_key(self.owner.door, request)
        if refused is None and not isinstance(request.body, dict):
            refused = Refused(400, {"error": {"message": "We could not parse the JSON body of your request."}})
        if refused is not None:
            self._respond(refused)
            return
        spoken = format_of(request.path)
        if spoken is None:
            message = f"Unknown request URL: POST {request.path}."
            self._respond(Refused(404, {"error": {"message": message, "code": 404}}))
        else:
            served = self.owner.models if self.owner.strict_models else None
            self._answer(spoken(request, self.owner.signatures, served))

    def _record(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        received_at = time.monotonic()
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.request_seen = RecordedRequest(
            self.command, self.path.split("?")[0], headers, raw, body, received_at=received_at
        )
        self.owner.requests.append(self.request_seen)

    def _answer(self, speaks: Format) -> None:
        try:
            speaks.validate()
        except BadRequestError as wrong:
            self.owner.problems.append(wrong.message)
            self._respond(speaks.refusal(wrong))
            return
        step, stamp = self.owner.take(self.request_seen)
        if isinstance(step, Failure):
            if step.close:
                self._break()
            else:
                self._respond(speaks.error(step), step.headers)
            return
        with self.owner.lock:
            self.owner.signatures.update(speaks.signed(step, stamp))
        if self.request_seen.body.get("stream"):
            self._stream(step, speaks, stamp)
        else:
            self._respond(Refused(200, speaks.whole(step, stamp)))

    def _respond(self, answer: Refused, headers: Any = None) -> None:
        body = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.request_seen.finished.set()

    def _stream(self, reply: Reply, speaks: Format, stamp: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for number, event in enumerate(speaks.events(reply, stamp)):
                if number == reply.cut_after:
                    self._break()
                    return
                if number == reply.fail_after:
                    self._send(speaks.failed(reply.failure or Failure(), stamp))
                    break
                if number == reply.idle_after:
                    self._wait(IDLE_LIMIT_SECONDS)
                    self._break()
                    return
                if number:
                    self._wait(reply.delay_seconds)
                self._send(event)
            self.wfile.write(b"0\r\n\r\n")
            self.request_seen.finished.set()
        except ConnectionError:
            self.request_seen.disconnected.set()
            self.close_connection = True

    def _send(self, event: Event) -> None:
        name, value = event
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text = text.replace(RECEIVED, f"{self.request_seen.received_at:.6f}").replace(NOW, f"{time.monotonic():.6f}")
        data = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
        raw = data.encode()
        self.wfile.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
        self.request_seen.events_sent += 1

    def _wait(self, seconds: float) -> None:
        """Wait, and raise as soon as the client hangs up."""
        until = time.monotonic() + seconds
        while not self.owner.closing.is_set():
            left = until - time.monotonic()
            if left <= 0:
                return
            readable, _, _ = select.select([self.connection], [], [], min(left, POLL_SECONDS))
            if readable and self.connection.recv(1, socket.MSG_PEEK) == b"":
                raise ConnectionAbortedError("the client hung up")

    def _break(self) -> None:
        """End the connection as a lost network does: a reset, with no closing chunk."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True
        self.wfile = io.BytesIO()  # where the handler's last flush goes, the socket being gone
        self.request_seen.finished.set()


def main(arguments: list[str] | None = None) -> None:
    """Serve a script from a file until the process is told to stop."""
    parser = argparse.ArgumentParser(prog="python -m atlas_sdk.testing.model_server", description=main.__doc__)
    parser.add_argument("--script", type=Path, help="a JSON file: a list of replies")
    parser.add_argument("--obey", action="store_true", help="answer as the user's last message says, which is a script")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key", help="the one key accepted; without it, any")
    parser.add_argument("--model", action="append", default=[], help="a model it lists; may be given again")
    parser.add_argument("--local", choices=["ollama", "vllm", "llamacpp"], help="look like this local server")
    parser.add_argument("--log", type=Path, help="append every request to this file, one JSON a line")
    options = parser.parse_args(arguments)
    script = parse_script(json.loads(options.script.read_text("utf-8"))) if options.script else []
    if options.obey:
        script.append(Obedient())
    models = tuple(options.model) or ("stand-in-1",)
    with ModelServer(script, key=options.key, models=models, local=options.local, port=options.port) as server:
        sys.stdout.write(json.dumps({"url": server.url, "port": server.port}) + "\n")
        sys.stdout.flush()
        written = 0
        try:
            while True:
                time.sleep(0.05)
                if options.log is not None and written < len(server.requests):
                    written = _write_log(options.log, server.requests, written)
        except KeyboardInterrupt:
            pass


def _write_log(path: Path, requests: list[RecordedRequest], written: int) -> int:
    """Append the requests not yet written; keys are left out."""
    fresh = requests[written:]
    with path.open("a", encoding="utf-8") as file:
        for one in fresh:
            file.write(json.dumps({"method": one.method, "path": one.path, "body": one.body}) + "\n")
    return written + len(fresh)


if __name__ == "__main__":
    main()
