"""The routes of the port: nothing else is served, and `wire.schema` lists them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Route:
    """A method and a path; a path that ends in ``/ID`` takes any one name there. ``open`` ones need no token."""

    methods: tuple[str, ...]
    path: str
    description: str
    open: bool = False

    def fits(self, method: str, path: str) -> bool:
        if method not in self.methods:
            return False
        return path.startswith(self.path.removesuffix("ID")) if self.path.endswith("/ID") else path == self.path


SOCKET = Route(("GET",), "/ws", "The WebSocket; its token comes with initialize.")
HEALTH = Route(("GET", "HEAD"), "/healthz", "Whether the server is up, and its version.", open=True)
UPLOAD = Route(("POST",), "/files", "Keep a file.")
DOWNLOAD = Route(("GET",), "/files/ID", "Return a file.")
ROUTES = (SOCKET, HEALTH, UPLOAD, DOWNLOAD)


def route_of(method: str, path: str) -> Route | None:
    """Return the route of a request, None where there is none."""
    return next((route for route in ROUTES if route.fits(method, path)), None)
