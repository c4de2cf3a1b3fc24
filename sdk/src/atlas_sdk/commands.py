"""Slash commands of a conversation, and the context of terminal commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .client import Client
from .services import Services
from .values import Json


class CommandHost(Protocol):
    """What a slash command knows."""

    @property
    def conversation(self) -> str:
        """The id of the conversation it was typed in."""


@dataclass(frozen=True)
class SlashCommand:
    """``/name text``: what ``run`` returns is the reply, with no model call, and it stays in the conversation.

    With ``prompts`` it is no reply but what the model is told behind the user's own words, and the turn goes on.
    """

    name: str
    description: str
    run: Callable[[str, CommandHost], Awaitable[str]]
    hint: str = ""
    prompts: bool = False


class Terminal(Protocol):
    """What a terminal command is given, as ``typer.Context.obj``.

    A command module is named in the manifest's ``cli`` and imported only when its command is run.
    """

    @property
    def home(self) -> Path:
        """The home's folder. It may not exist yet."""

    @property
    def home_name(self) -> str:
        """The home's name."""

    def connect(self) -> Client:
        """Return a client of the home: of the running server, or of one run in this process while none is.

        Raises ServerError when another process holds the home and does not answer.
        """

    def server(self) -> Mapping[str, Json] | None:
        """Return what the running server wrote of itself (``pid``, ``port``, ``token``), or None."""

    def elsewhere(self, folder: Path) -> Terminal:
        """Return the same for another home, such as one that is made for a trial and thrown away."""

    def run(self, work: Callable[[Services], Awaitable[None]], *, flags: Mapping[str, Json]) -> None:
        """Open the home in this process and run ``work`` until it returns or a signal ends it.

        ``flags`` maps ``section.key`` to what the command line said. Raises ServerError when the home is in use.
        """
