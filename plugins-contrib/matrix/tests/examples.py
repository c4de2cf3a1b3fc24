"""A stand-in homeserver, and both ends of the wire, which `atlas plugins test` holds every promise against."""

import importlib.util
from pathlib import Path
from typing import Any

import anyio.lowlevel

_spec = importlib.util.spec_from_file_location("matrix_homeserver", Path(__file__).with_name("homeserver.py"))
homeserver = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(homeserver)

server = homeserver.Homeserver()


async def write(channel: Any, chat: str, text: str) -> None:
    """Have somebody write in a room, once the channel has read what was there before."""
    while not channel.state.since:
        await anyio.lowlevel.checkpoint()
    server.write(text, room=chat)


def sent(channel: Any, chat: str) -> list[str]:
    """Return what was sent to a room since the channel signed in."""
    return [content["body"] for content in server.sent(chat)]


settings = {"homeserver": server.address, "people": homeserver.ADA}
secrets = {"MATRIX_ACCESS_TOKEN": server.token}
channels = {"matrix": {"write": write, "sent": sent, "chat": homeserver.ROOM, "nowhere": "!nowhere:example.org"}}
