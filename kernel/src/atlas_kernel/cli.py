"""The command line: finds the command, imports that one alone, and turns errors into sentences and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from atlas_sdk.errors import AtlasError, ExitCode, MisuseError
from atlas_sdk.homes import Homes
from atlas_sdk.manifest import CliCommand

from . import __version__
from .consent import Choices
from .discovery import discover
from .guard import lone
from .terminal import HomeTerminal

VERSION = CliCommand("version", "Print the installed version.", "atlas_kernel.cli:version")
COMPLETE_VARIABLE = "_ATLAS_COMPLETE"


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        return _run(list(arguments))
    except (AtlasError, BaseExceptionGroup) as raised:
        if isinstance(raised, BaseExceptionGroup) and raised.subgroup(KeyboardInterrupt):
            return int(ExitCode.INTERRUPTED)
        error = lone(raised) if isinstance(raised, BaseExceptionGroup) else raised
        if error is None:
            raise
        sys.stderr.write(f"{error.message}\n")
        if error.hint:
            sys.stderr.write(f"{error.hint}\n")
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        return int(ExitCode.DONE)


def _run(arguments: list[str]) -> int:
    home_name, rest = _global_options(arguments)
    homes = Homes.of_user(os.environ)
    completing = COMPLETE_VARIABLE in os.environ
    name = rest[0] if rest else ""
    if name == "home" and home_name is not None:
        raise MisuseError("--home does not go with atlas home.", hint="Name the home after the command.")
    home = homes.find(home_name, os.environ)
    found = discover(cache=home.folder / "cache" / "plugins.json", folders=home.plugins)
    choices = Choices(home.data / "plugins.json")
    manifests = {
        manifest.name: manifest
        for manifest in found.manifests.values()
        if choices.wants(manifest) and choices.consented(manifest)
    }
    commands = {VERSION.name: VERSION}
    for manifest in manifests.values():
        for command in manifest.cli:
            commands.setdefault(command.name, command)
    if not completing and (not rest or name in ("--help", "-h", "help")):
        sys.stdout.write(_help(commands))
        return int(ExitCode.DONE)
    if not completing and name not in commands:
        off = [one.name for one in found.manifests.values() if name in {command.name for command in one.cli}]
        if off:
            raise MisuseError(f"The command {name} is off.", hint=f"Turn it on: atlas plugins enable {off[0]}.")
        near = _near(name, commands)
        hint = f"Did you mean {near!r}? " if near else ""
        raise MisuseError(f"There is no command {name!r}.", hint=f"{hint}atlas --help lists them.")
    chosen = list(commands.values()) if completing else [commands[name]]
    return _invoke(chosen, rest, HomeTerminal(home, manifests))


def _global_options(arguments: list[str]) -> tuple[str | None, list[str]]:
    if arguments and arguments[0].startswith("--home="):
        return arguments[0].partition("=")[2], arguments[1:]
    if arguments and arguments[0] == "--home":
        if len(arguments) < 2:
            raise MisuseError("--home takes a home's name.", hint="atlas home list shows them.")
        return arguments[1], arguments[2:]
    return None, arguments


def _invoke(commands: Sequence[CliCommand], arguments: list[str], terminal: HomeTerminal) -> int:
    import typer

    root = typer.Typer(
        name="atlas", add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True
    )
    root.callback()(_nothing)
    for command in commands:
        target = _load(command)
        if isinstance(target, typer.Typer):
            root.add_typer(target, name=command.name, help=command.help, no_args_is_help=True)
        else:
            root.command(command.name, help=target.__doc__ or command.help)(target)
    if COMPLETE_VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    try:
        root(args=arguments, prog_name="atlas", obj=terminal, complete_var=COMPLETE_VARIABLE)
    except SystemExit as ended:
        return (
            ended.code if isinstance(ended.code, int) else int(ExitCode.DONE if ended.code is None else ExitCode.FAILED)
        )
    return int(ExitCode.DONE)


def _load(command: CliCommand) -> Callable[..., Any]:
    module, _, attribute = command.target.partition(":")
    target: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return target


def version(json: bool = False) -> None:
    """Print the installed version."""
    sys.stdout.write(f'{{"version": "{__version__}"}}\n' if json else f"atlas {__version__}\n")


def _nothing() -> None:
    """Atlas, a personal agent that runs on your own machine."""


def _help(commands: dict[str, CliCommand]) -> str:
    width = max(len(name) for name in commands) + 2
    lines = [
        "Usage: atlas [--home NAME] COMMAND [ARGUMENT ...]",
        "",
        "Atlas, a personal agent that runs on your own machine.",
        "",
        "Commands:",
        *(f"  {name:<{width}}{commands[name].help}" for name in sorted(commands)),
        "",
        "atlas COMMAND --help says more of one. atlas docs start is the first page to read.",
    ]
    return "\n".join(lines) + "\n"


def _near(name: str, commands: dict[str, CliCommand]) -> str:
    import difflib

    return next(iter(difflib.get_close_matches(name, commands, 1)), "")
