"""A stand-in of a Matrix homeserver: real HTTP on loopback, in the shapes of the client-server API v3.

The shapes are those of https://spec.matrix.org/v1.14/client-server-api/; each part below cites its section.
"""

from __future__ import annotations

import itertools
import json
import re
import select
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

ME = "@atlas:example.org"
ADA = "@ada:example.org"
BOB = "@bob:example.org"
ROOM = "!one:example.org"
NAMES = {ME: "Atlas", ADA: "Ada", BOB: "Bob"}
JSON = tuple[int, Any]


class Room:
    """A room: its events by their place in the one stream, and who is in it."""

    def __init__(self, members: list[str]) -> None:
        self.members = members
        self.events: list[tuple[int, dict[str, Any]]] = []
        self.encrypted = False


class Homeserver:
    """The server and what is in its rooms. ``address`` is where it listens until ``close``."""

    def __init__(self, token: str = "secret-token") -> None:
        self.token = token
        self.rooms: dict[str, Room] = {ROOM: Room([ME, ADA])}
        self.invites: dict[str, tuple[int, str]] = {}
        self.media: dict[str, tuple[str, bytes]] = {}
        self.typing: list[tuple[str, bool]] = []
        self.failures: list[JSON] = []
        """What the next requests are answered with; -1 closes the connection after the work."""
        self.failing = ""
        """Which requests fail: those with this in their path."""
        self.requests: list[str] = []
        self.authorizations: list[str] = []
        self.timeline_limit = 100
        self.old_media = False
        self.media_elsewhere = ""
        self._transactions: dict[tuple[str, str], str] = {}
        self._sent_from = 0
        self._numbers = itertools.count(1)
        self._news = threading.Condition()
        self._closed = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that is gone is no news
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening, and end the syncs that wait."""
        with self._news:
            self._closed = True
            self._news.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # --- what people do -----------------------------------------------------------------------

    def write(self, text: str, *, room: str = ROOM, sender: str = ADA, **content: Any) -> str:
        """Have somebody write (https://spec.matrix.org/v1.14/client-server-api/#mtext)."""
        return self.add(room, "m.room.message", sender, {"msgtype": "m.text", "body": text, **content})

    def react(self, event: str, key: str, *, room: str = ROOM, sender: str = ADA) -> str:
        """Have somebody react (https://spec.matrix.org/v1.14/client-server-api/#mreaction)."""
        relates = {"rel_type": "m.annotation", "event_id": event, "key": key}
        return self.add(room, "m.reaction", sender, {"m.relates_to": relates})

    def invite(self, room: str, sender: str) -> None:
        """Invite Atlas to a room (https://spec.matrix.org/v1.14/client-server-api/#room-membership)."""
        with self._news:
            self.rooms.setdefault(room, Room([sender]))
            self.invites[room] = next(self._numbers), sender
            self._news.notify_all()
        self.add(room, "m.room.member", sender, {"membership": "invite"}, state_key=ME)

    def encrypt(self, room: str = ROOM) -> None:
        """Turn encryption on (https://spec.matrix.org/v1.14/client-server-api/#mroomencryption)."""
        self.rooms[room].encrypted = True
        self.add(room, "m.room.encryption", ADA, {"algorithm": "m.megolm.v1.aes-sha2"}, state_key="")

    def add(self, room: str, kind: str, sender: str, content: Any, **more: Any) -> str:
        """Put an event into a room (https://spec.matrix.org/v1.14/client-server-api/#room-event-format)."""
        with self._news:
            number = next(self._numbers)
            event = {"event_id": f"$event-{number}", "type": kind, "sender": sender, "content": content}
            event |= {"origin_server_ts": 1_780_000_000_000 + number, **more}
            self.rooms[room].events.append((number, event))
            self._news.notify_all()
            return str(event["event_id"])

    def sent(self, room: str = ROOM, kind: str = "m.room.message") -> list[dict[str, Any]]:
        """Return the content of what Atlas sent to a room since it last signed in."""
        events = self.rooms[room].events if room in self.rooms else []
        mine = [event for at, event in events if at > self._sent_from and event["sender"] == ME]
        return [event["content"] for event in mine if event["type"] == kind]

    def last(self, kind: str = "m.room.message", room: str = ROOM) -> str:
        """Return the id of what Atlas sent last."""
        return next(
            e["event_id"] for _, e in reversed(self.rooms[room].events) if (e["type"], e["sender"]) == (kind, ME)
        )

    # --- what it answers ----------------------------------------------------------------------

    def answer(self, method: str, path: str, query: dict[str, str], body: bytes, kind: str, gone: Any) -> JSON:
        """Answer a request; an error as https://spec.matrix.org/v1.14/client-server-api/#standard-error-response."""
        for pattern, called in ROUTES:
            if (found := re.fullmatch(pattern, f"{method} {path}")) is not None:
                return called(self, *map(unquote, found.groups()), query=query, body=body, kind=kind, gone=gone)
        return 404, {"errcode": "M_UNRECOGNIZED", "error": "Unrecognized request"}

    def who(self, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#get_matrixclientv3accountwhoami"""
        with self._news:
            self._sent_from = next(self._numbers)
        return 200, {"user_id": ME, "device_id": "ATLAS", "is_guest": False}

    def sync(self, *, query: dict[str, str], gone: Any, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#get_matrixclientv3sync"""
        json.loads(query["filter"])
        since = int(query.get("since", "s0")[1:])
        wait = int(query.get("timeout", "0")) / 1000
        with self._news:
            while not self._closed and wait > 0 and not self._rooms(since) and not gone():
                self._news.wait(0.05)
                wait -= 0.05
            now = next(self._numbers)
            return 200, {"next_batch": f"s{now}"} | ({"rooms": found} if (found := self._rooms(since)) else {})

    def _rooms(self, since: int) -> dict[str, Any]:
        joined, invited = {}, {}
        for id, room in self.rooms.items():
            events = [event for at, event in room.events if at > since]
            if ME in room.members and (events or not since):
                # A room that was joined meanwhile comes as in a first sync, with what was before.
                is_new = any(event["type"] == "m.room.member" and event["sender"] == ME for event in events)
                events = [event for _, event in room.events] if is_new else events
                limited = is_new or len(events) > self.timeline_limit
                shown = events[-self.timeline_limit :]
                first = next((at for at, event in room.events if shown and event is shown[0]), 0)
                timeline = {"events": shown, "limited": limited, "prev_batch": f"t{first}"}
                state = [e for _, e in room.events if e["type"] == "m.room.encryption"] if not since else []
                joined[id] = {"timeline": timeline, "state": {"events": state}, "ephemeral": {"events": []}}
        for id, (at, sender) in self.invites.items():
            if at > since:
                content = {"membership": "invite", "is_direct": True}
                member = {"type": "m.room.member", "state_key": ME, "sender": sender, "content": content}
                invited[id] = {"invite_state": {"events": [member]}}
        return {name: found for name, found in (("join", joined), ("invite", invited)) if found}

    def messages(self, room: str, *, query: dict[str, str], **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#get_matrixclientv3roomsroomidmessages"""
        start, end = int(query["from"][1:]), int(query["to"][1:])
        found = [(at, event) for at, event in self.rooms[room].events if end < at < start][-2:]
        page: dict[str, Any] = {"chunk": [event for _, event in reversed(found)], "start": query["from"]}
        return 200, page | ({"end": f"t{found[0][0]}"} if found else {})

    def send(self, room: str, type: str, transaction: str, *, body: bytes, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#put_matrixclientv3roomsroomidsendeventtypetxnid"""
        if room not in self.rooms or ME not in self.rooms[room].members:
            return 403, {"errcode": "M_FORBIDDEN", "error": f"User {ME} not in room {room}"}
        if len(body) > 65_536:
            return 413, {"errcode": "M_TOO_LARGE", "error": "event too large"}
        if (room, transaction) not in self._transactions:
            self._transactions[room, transaction] = self.add(room, type, ME, json.loads(body))
        return 200, {"event_id": self._transactions[room, transaction]}

    def type(self, room: str, user: str, *, body: bytes, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#put_matrixclientv3roomsroomidtypinguserid"""
        if room not in self.rooms or user != ME:
            return 403, {"errcode": "M_FORBIDDEN", "error": "not in the room"}
        self.typing.append((room, json.loads(body)["typing"]))
        return 200, {}

    def members(self, room: str, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#get_matrixclientv3roomsroomidjoined_members"""
        if room not in self.rooms:
            return 403, {"errcode": "M_FORBIDDEN", "error": "not in the room"}
        return 200, {"joined": {user: {"display_name": NAMES[user]} for user in self.rooms[room].members}}

    def encryption(self, room: str, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#get_matrixclientv3roomsroomidstateeventtypestatekey"""
        if room not in self.rooms:
            return 403, {"errcode": "M_FORBIDDEN", "error": "not in the room"}
        if self.rooms[room].encrypted:
            return 200, {"algorithm": "m.megolm.v1.aes-sha2"}
        return 404, {"errcode": "M_NOT_FOUND", "error": "Event not found."}

    def join(self, room: str, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#post_matrixclientv3roomsroomidjoin"""
        if self.invites.pop(room, None) is None:
            return 403, {"errcode": "M_FORBIDDEN", "error": "You are not invited to this room."}
        self.rooms[room].members.append(ME)
        before = {"prev_content": {"membership": "invite"}}
        self.add(room, "m.room.member", ME, {"membership": "join"}, state_key=ME, unsigned=before)
        return 200, {"room_id": room}

    def upload(self, *, query: dict[str, str], body: bytes, kind: str, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#post_matrixmediav3upload"""
        id = f"media{len(self.media) + 1}"
        self.media[id] = kind, body
        return 200, {"content_uri": f"mxc://example.org/{id}"}

    def download(self, version: str, server: str, id: str, **_: Any) -> JSON:
        """https://spec.matrix.org/v1.14/client-server-api/#get_matrixclientv1mediadownloadservernamemediaid"""
        if (version == "client/v1/media") == self.old_media:
            return 404, {"errcode": "M_UNRECOGNIZED", "error": "Unrecognized request"}
        if self.media_elsewhere:
            return 307, f"{self.media_elsewhere}/{id}"
        if id not in self.media:
            return 404, {"errcode": "M_NOT_FOUND", "error": "Not found"}
        return 200, self.media[id][1]


_C = r"/_matrix/client/v3"
_R = rf"{_C}/rooms/([^/]+)"
ROUTES: list[tuple[str, Any]] = [
    (rf"GET {_C}/account/whoami", Homeserver.who),
    (rf"GET {_C}/sync", Homeserver.sync),
    (rf"GET {_R}/messages", Homeserver.messages),
    (rf"PUT {_R}/send/([^/]+)/([^/]+)", Homeserver.send),
    (rf"PUT {_R}/typing/([^/]+)", Homeserver.type),
    (rf"GET {_R}/joined_members", Homeserver.members),
    (rf"GET {_R}/state/m\.room\.encryption/?", Homeserver.encryption),
    (rf"POST {_R}/join", Homeserver.join),
    (r"POST /_matrix/media/v3/upload", Homeserver.upload),
    (r"GET /_matrix/(client/v1/media|media/v3)/download/([^/]+)/([^/]+)", Homeserver.download),
]


def _handler(home: Homeserver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            where = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(where.query).items()}
            home.requests.append(f"{self.command} {unquote(where.path)}")
            home.authorizations.append(self.headers.get("Authorization", ""))
            failure = home.failures.pop(0) if home.failures and home.failing in where.path else None
            if failure is not None and failure[0] > 0:
                return self.give(*failure)
            if self.headers.get("Authorization") != f"Bearer {home.token}":
                return self.give(401, {"errcode": "M_UNKNOWN_TOKEN", "error": "Unknown token", "soft_logout": False})
            kind = self.headers.get("Content-Type", "")
            status, found = home.answer(self.command, where.path, query, body, kind, self.gone)
            if failure is not None:  # the work was done, and its answer is lost
                self.close_connection = True
                return None
            return self.give(status, found)

        def gone(self) -> bool:
            return bool(select.select([self.connection], [], [], 0)[0])

        def give(self, status: int, found: Any) -> None:
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            if status == 307:
                self.send_header("Location", found)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_POST = do  # noqa: N815  # the names http.server calls

        def log_message(self, *said: object) -> None:
            """Print nothing."""

    return Handler
