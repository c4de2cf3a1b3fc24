"""The command line: finds the command, imports that one alone, and turns errors into sentences and exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from atlas_sdk.beside import offer_all
from atlas_sdk.command_line import first_help, has_own
from atlas_sdk.errors import AtlasError, ExitCode, MisuseError, lone
from atlas_sdk.homes import Homes
from atlas_sdk.manifest import CliCommand, Manifest
from atlas_sdk.manifest_file import FOLDER_COMMAND
from atlas_sdk.plain_text import plain

from . import __version__
from .consent import Choices
from .discovery import discover
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
        sys.stderr.write(plain("".join(f"{said}\n" for said in (error.message, error.hint) if said)))
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
    if rest[:1] == ["home"] and home_name is not None:
        raise MisuseError("--home does not go with atlas home.", hint="Name the home after the command.")
    home = homes.find(home_name, os.environ)
    found = discover(cache=home.folder / "cache" / "plugins.json", folders=home.plugins)
    choices = Choices(home.data / "plugins.json")
    manifests = {
        manifest.name: manifest
        # What came with Atlas goes first, so that no other plugin takes a command's name of it, or its client's place.
        for manifest in sorted(found.manifests.values(), key=lambda one: one.source != "bundled")
        if choices.wants(manifest) and choices.consented(manifest)
    }
    offer_all(manifests.values())
    commands = {VERSION.name: VERSION}
    owners: dict[str, Manifest] = {}
    for manifest in manifests.values():
        for command in manifest.cli:
            if commands.setdefault(command.name, command) is command and command.target != FOLDER_COMMAND:
                owners[command.name] = manifest  # what runs a folder's commands is Atlas's own
    brought = {command.name: one.name for one in found.manifests.values() for command in one.cli}
    came = {command.name for one in found.manifests.values() if one.source == "bundled" for command in one.cli}
    name, words = "".join(rest[:1]), " ".join(rest[:2])
    if words in came or (words in brought and not has_own(commands.get(name), "".join(rest[1:2]))):
        name = words  # what a group has of its own is nobody else's, least of all plugins disable
    if not completing and (not rest or name in ("--help", "-h", "help")):
        sys.stdout.write(first_help(commands))
        return int(ExitCode.DONE)
    if not completing and name not in commands:
        if off := brought.get(name):
            raise MisuseError(f"The command {name} is off.", hint=f"Turn it on: atlas plugins enable {off}.")
        import difflib

        near = difflib.get_close_matches(name, commands, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise MisuseError(f"There is no command {name!r}.", hint=f"{hint}atlas --help lists them.")
    group = [commands[one] for one in commands if one.startswith(f"{name} ") and rest[1:2] in ([], ["--help"])]
    chosen = list(commands.values()) if completing else [commands[name], *group]
    return _invoke(tree(chosen), rest, HomeTerminal(home, manifests, owners.get(name)))


def _global_options(arguments: list[str]) -> tuple[str | None, list[str]]:
    if arguments and arguments[0].startswith("--home="):
        return arguments[0].partition("=")[2], arguments[1:]
    if arguments and arguments[0] == "--home":
        if len(arguments) < 2:
            raise MisuseError("--home takes a home's name.", hint="atlas home list shows them.")
        return arguments[1], arguments[2:]
    return None, arguments


def tree(commands: Sequence[CliCommand]) -> Any:
    """Return commands as one typer application; ``plugins new`` stands in the group ``plugins``, whoever has that."""
    import typer

    plain: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "no_args_is_help": True}
    groups = {"": typer.Typer(name="atlas", add_completion=False, **plain)}
    groups[""].callback()(_nothing)
    for command in sorted(commands, key=lambda one: one.name.count(" ")):
        group, _, name = command.name.rpartition(" ")
        module, _, attribute = command.target.partition(":")
        target: Any = getattr(importlib.import_module(module), attribute)
        if group not in groups:  # its own plugin is not imported for what another one adds to it
            groups[""].add_typer(groups.setdefault(group, typer.Typer(**plain)), name=group)
        if isinstance(target, typer.Typer):
            groups[command.name] = deepcopy(target)  # others' commands go in, and the plugin's own object stays its own
            groups[group].add_typer(groups[command.name], name=name, help=command.help, no_args_is_help=True)
        else:
            groups[group].command(name, help=target.__doc__ or command.help)(target)
    return groups[""]


def _invoke(root: Any, arguments: list[str], terminal: HomeTerminal) -> int:
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


def version(json: bool = False) -> None:
    """Print the installed version."""
    sys.stdout.write(f'{{"version": "{__version__}"}}\n' if json else f"atlas {__version__}\n")


def _nothing() -> None:
    """Atlas, a personal agent that runs on your own machine."""
