"""The command ``chat``."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from atlas_sdk.commands import Terminal
from atlas_sdk.errors import ExitCode, MisuseError, ServerError
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
    listed: Annotated[bool, typer.Option("--list", help="List the newest conversations instead.")] = False,
    no_auto: Annotated[bool, typer.Option("--no-auto", help="Start with auto mode off: more is reviewed.")] = False,
) -> None:
    """Talk to Atlas in the terminal. Ctrl+C stops the turn; Ctrl+D leaves. With - the prompt is standard input."""
    terminal: Terminal = context.obj
    if prompt == "-":
        prompt = sys.stdin.read()
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    screen: Screen = JsonScreen(sys.stdout) if json else TextScreen(sys.stdout, sys.stderr, colour=colour)
    provider, _, name = (model or "").partition("/")
    where = os.path.abspath(folder or os.getcwd())  # noqa: PTH100, PTH109  # as text, without following links
    if not os.path.isdir(where):  # noqa: PTH112  # likewise
        raise MisuseError(f"There is no folder {where}.", hint="--folder takes a folder that is there.")
    alone = terminal.server() is None
    with terminal.connect() as client:
        if listed:
            screen.list(client.request("conversation.list", {"limit": 30})["conversations"])
            return
        talk = Talk(client, screen)
        if conversation is not None:
            talk.go_on(conversation)
        else:
            talk.begin({"id": new_id(), "folder": where, "provider": provider, "model": name, "auto_mode": not no_auto})
        try:
            if prompt is not None:
                talk.catch_up()
                code = talk.say(prompt)
                talk.drain()
                if alone:
                    talk.await_review()
                raise typer.Exit(int(code))
            if alone:
                talk.stay()
            screen.greet(talk.conversation, client.request("home.show"))
            if conversation is not None:
                talk.join()
            while (line := _ask_line(talk, screen)) is not None:
                if line.strip():
                    talk.say(line)
            if alone:
                talk.await_review()
                talk.await_title()
        except ServerError:
            _leave(talk, screen)
            raise
        _leave(talk, screen)
    raise typer.Exit(int(ExitCode.DONE))


def _leave(talk: Talk, screen: Screen) -> None:
    if talk.is_begun:
        screen.leave(talk.conversation["id"])


def _ask_line(talk: Talk, screen: Screen) -> str | None:
    """Return what the person types, with what happened meanwhile shown before it and after."""
    talk.drain()
    line = screen.ask_line()
    talk.drain()
    return line
