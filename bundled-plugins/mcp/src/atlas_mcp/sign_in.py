"""One sign-in that goes on while its user is in the browser."""

from __future__ import annotations

import anyio
from pydantic import BaseModel

from atlas_sdk.errors import AtlasError

from .server import Server


class LoginState(BaseModel):
    """The page to open in a browser, empty where none is needed, and whether the sign-in is done."""

    url: str
    is_done: bool


class SignIn:
    """Begun by one request, waited for by another. ``work`` is the task that does it."""

    def __init__(self, server: Server) -> None:
        self.scope = anyio.CancelScope()
        self.is_done = False
        self._server = server
        self._url = ""
        self._error: AtlasError | None = None
        self._shown = anyio.Event()
        self._ended = anyio.Event()

    async def work(self) -> None:
        """Sign in. It never raises but when it is cancelled: what went wrong is for whoever waits."""
        try:
            with self.scope:
                await self._server.login(self._show)
        except AtlasError as error:
            self._error = error
        finally:
            self.is_done = True
            self._shown.set()
            self._ended.set()

    async def state(self, *, to_the_end: bool) -> LoginState:
        """Return how it stands once there is a page to open, or at its end. Raises AtlasError where it failed."""
        await (self._ended if to_the_end else self._shown).wait()
        if self._error is not None:
            raise self._error
        return LoginState(url="" if self.is_done else self._url, is_done=self.is_done)

    async def _show(self, url: str) -> None:
        self._url = url
        self._shown.set()
