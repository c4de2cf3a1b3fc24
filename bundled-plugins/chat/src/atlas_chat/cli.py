"""The command ``chat``."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.errors import ExitCode
from atlas_sdk.ids import new_id

from .screen import JsonScreen, Screen, TextScreen
from .talk import Talk


def chat(
    context: typer.Context,
    prompt: Annotated[
        str | None, typer.Option("-p", "--prompt", help="Say this, and leave when it is answered.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print events as JSON, one a line.")] = False,
    conversation: Annotated[
        str | None, typer.Option(help="Go on with this conversation: its id, or last.", metavar="ID")
    ] = None,
    folder: Annotated[str | None, typer.Option(help="Where the tools start (default: the folder you are in).")] = None,
    model: Annotated[str | None, typer.Option(help="The model of a new conversation: provider or provider/id.")] = None,
    no_auto: Annotated[bool, typer.Option("--no-auto", help="Start with auto mode off: more is reviewed.")] = False,
) -> None:
    """Talk to Atlas in the terminal. Ctrl+C stops the turn; Ctrl+D leaves. With - the prompt is standard input."""
    terminal: Terminal = context.obj
    if prompt == "-":
        prompt = sys.stdin.read()
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    screen: Screen = JsonScreen(sys.stdout) if json else TextScreen(sys.stdout, sys.stderr, colour=colour)
    provider, _, name = (model or "").partition("/")
    with terminal.connect() as client:
        talk = Talk(client, screen)
        if conversation is not None:
            talk.go_on(conversation)
        else:
            talk.begin(
                {
                    "id": new_id(),
                    "folder": os.path.abspath(folder or os.getcwd()),  # noqa: PTH100, PTH109  # text, as the user typed it
                    "provider": provider,
                    "model": name,
                    "auto_mode": not no_auto,
                }
            )
        if prompt is not None:
            raise typer.Exit(int(talk.say(prompt)))
        screen.greet(talk.conversation, client.request("home.show"))
        while (line := screen.ask_line()) is not None:
            if line.strip():
                talk.say(line)
        screen.leave(talk.conversation["id"])
    raise typer.Exit(int(ExitCode.DONE))
