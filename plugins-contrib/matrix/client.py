"""The client-server API of Matrix over HTTP: what the channel asks of its homeserver, and nothing more."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import anyio

if TYPE_CHECKING:
    import httpx2

POLL_SECONDS = 30
"""How long a homeserver holds a sync that has nothing to say."""
ANSWER_SECONDS = 20.0
TRIES = 3
LONGEST_WAIT_SECONDS = 15.0
"""Three tries with waits between them have to fit in the minute that Atlas gives a message."""
CLOSE_SECONDS = 0.5
LOOPBACK = ("localhost", "127.0.0.1", "::1")
FILTER = {
    "presence": {"types": []},
    "account_data": {"types": []},
    "room": {
        "account_data": {"types": []},
        "ephemeral": {"types": []},
        "state": {"types": ["m.room.encryption", "m.room.member"], "lazy_load_members": True},
        "timeline": {
            "limit": 100,
            "types": ["m.room.message", "m.reaction", "m.room.member", "m.room.encryption", "m.room.encrypted"],
        },
    },
}


class MatrixError(Exception):
    """The homeserver did not do what was asked. ``status`` is 0 where it did not answer at all."""

    def __init__(self, message: str, *, status: int = 0, code: str = "", wait_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.wait_seconds = wait_seconds

    @property
    def passes(self) -> bool:
        """Whether the same may work later."""
        return self.status == 0 or self.status == 429 or self.status >= 500

    @property
    def refuses_token(self) -> bool:
        """Whether the token is what it does not take."""
        return self.status == 401 or self.code in ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED")


class Client:
    """One account on one homeserver. Its connections are open while somebody uses it, and shared."""

    def __init__(self, homeserver: str, token: str, http: Callable[..., httpx2.AsyncClient]) -> None:
        self.homeserver = homeserver.strip().rstrip("/")
        self.first_wait_seconds = 1.0
        self._token = token.strip()
        self._made = http
        self._http: httpx2.AsyncClient | None = None
        self._users = 0

    def lacks(self) -> str:
        """Return a sentence on what has to be set first, or nothing."""
        where = urlsplit(self.homeserver)
        if where.scheme not in ("https", "http") or not where.hostname or "@" in where.netloc:
            return (
                f"The homeserver {self.homeserver!r} is no address. "
                "Set it: atlas plugins set matrix homeserver https://matrix.example.org"
            )
        if where.scheme == "http" and where.hostname not in LOOPBACK:
            return f"The access token is not sent in the clear: the homeserver's address is https://{where.netloc}."
        if not self._token:
            return "There is no access token yet. Store it: atlas secrets set MATRIX_ACCESS_TOKEN"
        return ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[httpx2.AsyncClient]:
        """Give the connections for the length of the block; whoever leaves last closes them."""
        if self._http is None:
            headers = {"Authorization": f"Bearer {self._token}"}
            self._http = self._made(headers=headers, verify=_trusted(), timeout=ANSWER_SECONDS)
        http = self._http
        self._users += 1
        try:
            yield http
        finally:
            self._users -= 1
            if not self._users:
                self._http = None
                with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                    await http.aclose()

    async def who_am_i(self) -> str:
        """Return the account's user id."""
        return str((await self.ask("GET", "/_matrix/client/v3/account/whoami", tries=1)).get("user_id", ""))

    async def sync(self, since: str) -> dict[str, Any]:
        """Return what is new, once something is; without ``since`` what there is."""
        query = {"filter": json.dumps(FILTER), "timeout": str(POLL_SECONDS * 1000 if since else 0)}
        query |= {"since": since} if since else {}
        # The first sync of an account in many rooms takes the server a while.
        seconds = POLL_SECONDS + ANSWER_SECONDS if since else 120.0
        return await self.ask("GET", "/_matrix/client/v3/sync", query=query, seconds=seconds, tries=1)

    async def before(self, room: str, start: str, since: str) -> list[dict[str, Any]]:
        """Return what a sync left out of a room, in order: from ``since`` to where its timeline begins."""
        found: list[dict[str, Any]] = []
        types = json.dumps({"types": FILTER["room"]["timeline"]["types"]})  # type: ignore[index]  # the dict above
        while start and len(found) < 1000:
            query = {"dir": "b", "from": start, "to": since, "limit": "100", "filter": types}
            page = await self.ask("GET", f"{_room(room)}/messages", query=query)
            found += page.get("chunk", [])
            start = page.get("end", "") if page.get("chunk") else ""
        return found[::-1]

    async def send(self, room: str, kind: str, content: Mapping[str, Any], transaction: str) -> str:
        """Send an event and return its id. With the same transaction it arrives once, however often it is sent."""
        path = f"{_room(room)}/send/{_part(kind)}/{_part(transaction)}"
        return str((await self.ask("PUT", path, body=content)).get("event_id", ""))

    async def members(self, room: str) -> dict[str, str]:
        """Return who is in a room, with their names."""
        joined = (await self.ask("GET", f"{_room(room)}/joined_members")).get("joined", {})
        return {user: str((about or {}).get("display_name") or user) for user, about in joined.items()}

    async def is_encrypted(self, room: str) -> bool:
        """Whether what is written in a room has to be encrypted."""
        try:
            await self.ask("GET", f"{_room(room)}/state/m.room.encryption")
        except MatrixError as error:
            # Only the homeserver's own word counts: what a proxy answers must not open the room to clear text.
            if error.code == "M_NOT_FOUND":
                return False
            raise
        return True

    async def join(self, room: str) -> None:
        """Accept an invitation."""
        await self.ask("POST", f"{_room(room)}/join", body={})

    async def typing(self, room: str, user: str, seconds: float) -> None:
        """Show for some seconds that the account types; 0 ends it."""
        body: dict[str, Any] = {"typing": True, "timeout": int(seconds * 1000)} if seconds else {"typing": False}
        await self.ask("PUT", f"{_room(room)}/typing/{_part(user)}", body=body, tries=1)

    async def upload(self, name: str, data: bytes, media_type: str) -> str:
        """Keep a file on the homeserver and return its mxc address."""
        path, media_type = "/_matrix/media/v3/upload", media_type or "application/octet-stream"
        answer = await self.ask("POST", path, query={"filename": name}, data=data, media_type=media_type, seconds=50.0)
        return str(answer.get("content_uri", ""))

    async def download(self, address: str, limit: int) -> bytes:
        """Return a file of the network's. Raises MatrixError for one that is over ``limit`` bytes or not there."""
        server, _, media = address.removeprefix("mxc://").partition("/")
        if not address.startswith("mxc://") or not server or not media:
            raise MatrixError("it has no address", status=400)
        try:
            return await self._bytes(f"/_matrix/client/v1/media/download/{_part(server)}/{_part(media)}", limit)
        except MatrixError as error:
            if error.code != "M_UNRECOGNIZED":
                raise
        # A homeserver from before version 1.11 of the specification has it under the old path alone.
        return await self._bytes(f"/_matrix/media/v3/download/{_part(server)}/{_part(media)}", limit)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        data: bytes | None = None,
        media_type: str = "application/json",
        seconds: float = ANSWER_SECONDS,
        tries: int = TRIES,
    ) -> dict[str, Any]:
        """Ask and return the JSON that is answered. Raises MatrixError.

        A request that had no answer is made again as it was: each has the same effect a second time, or a
        transaction that has it known.
        """
        import httpx2

        content = data if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": media_type}
        async with self.open() as http:
            while True:
                tries -= 1
                try:
                    answer = await http.request(
                        method,
                        self.homeserver + path,
                        params=query,
                        content=content,
                        headers=headers,
                        timeout=httpx2.Timeout(ANSWER_SECONDS, read=seconds, write=seconds),
                    )
                    return _answered(answer.status_code, answer.content)
                except httpx2.HTTPError as error:
                    failure = self._silent(error)
                except MatrixError as error:
                    failure = error
                wait = failure.wait_seconds or self.first_wait_seconds
                if not failure.passes or tries <= 0 or wait > LONGEST_WAIT_SECONDS:
                    raise failure
                await anyio.sleep(wait)

    async def _bytes(self, path: str, limit: int) -> bytes:
        import httpx2

        try:
            # Some homeservers keep media elsewhere; the token is not sent along to another host.
            async with self.open() as http, http.stream("GET", self.homeserver + path, follow_redirects=True) as answer:
                found = bytearray()
                async for piece in answer.aiter_bytes():
                    found += piece
                    if len(found) > limit:
                        raise MatrixError(f"it is over {limit // 1_000_000} MB", status=413)
        except httpx2.HTTPError as error:
            raise self._silent(error) from error
        if answer.status_code >= 400:
            _answered(answer.status_code, bytes(found))
        return bytes(found)

    def _silent(self, error: Exception) -> MatrixError:
        host = urlsplit(self.homeserver).netloc
        return MatrixError(f"The homeserver {host} did not answer ({type(error).__name__}).")


@cache
def _trusted() -> ssl.SSLContext:
    """Return which certificates are trusted. Reading them takes a tenth of a second, and once is enough."""
    import httpx2

    return httpx2.create_ssl_context()


def _answered(status: int, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if 200 <= status < 300 and isinstance(found, dict):
        return found
    about = found if isinstance(found, dict) else {}
    code, said = str(about.get("errcode", "")), str(about.get("error", ""))[:200]
    wait = about.get("retry_after_ms", 0)
    if status < 400:
        status = 404  # whatever answers there, it is no homeserver
    raise MatrixError(
        f"The homeserver said {status}{f' {code}' if code else ''}{f': {said}' if said else ''}",
        status=status,
        code=code,
        wait_seconds=wait / 1000 if isinstance(wait, int | float) else 0.0,
    )


def _part(text: str) -> str:
    return quote(text, safe="")


def _room(room: str) -> str:
    return f"/_matrix/client/v3/rooms/{_part(room)}"
