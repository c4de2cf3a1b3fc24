"""What others named reaches the terminal of every command as text, and does nothing to it."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer.main
from pydantic import BaseModel
from typer.testing import CliRunner

from atlas_kernel.app import open_app
from atlas_kernel.cli import tree
from atlas_kernel.discovery import discover
from atlas_sdk.errors import AtlasError
from atlas_sdk.homes import Home
from atlas_sdk.plain_text import plain, plain_json

HOSTILE = "evil\x1b[2J\x1b]52;c;eA==\x07\x9b2K\u202efdp.exe\u2066\x08"
NOT_WALKED = {
    "chat": "it is a conversation on a terminal, tried by its own plugin's tests",
    "serve": "it serves until it is ended",
}


def made(kind: Any) -> Any:
    """Return a value of a type in which every text is hostile."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return made(arguments[0])
    if origin is typing.Literal:
        return arguments[0]
    if origin in (typing.Union, types.UnionType):
        return made(next(one for one in arguments if one is not type(None)))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {name: made(field.annotation) for name, field in kind.model_fields.items()}
    match origin or kind:
        case one if one in (tuple, list):
            return [made(arguments[0] if arguments else str)]
        case one if isinstance(one, type) and issubclass(one, Mapping):
            return {HOSTILE: made(arguments[1] if arguments else str)}
        case one if one is bool:
            return True
        case one if one in (int, float):
            return 1
        case one if one is datetime:
            return datetime(2026, 11, 30, tzinfo=UTC).isoformat()
        case one if one is str:
            return HOSTILE
    return {"tools": [HOSTILE], "hook_commands": [HOSTILE], "secrets": [HOSTILE]}  # JSON, such as what is declared


class HostileServer:
    """A client whose server answers every request with hostile names."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self._results = results

    def request(self, method: str, params: Any = None, *, timeout: float | None = 60.0) -> Any:
        return made(self._results[method])

    def next_notification(self, *, timeout: float | None = None) -> None:
        return None

    def close(self) -> None: ...

    def __enter__(self) -> HostileServer:
        return self

    def __exit__(self, *_: object) -> None: ...


class HostileTerminal:
    """A terminal beside such a server. A home in this process it has none."""

    home_name = HOSTILE

    def __init__(self, home: Path, results: Mapping[str, Any]) -> None:
        self.home = home
        self._results = results

    def connect(self) -> HostileServer:
        return HostileServer(self._results)

    def server(self) -> Mapping[str, Any]:
        return {"pid": HOSTILE, "port": HOSTILE, "token": "t"}

    def elsewhere(self, folder: Path) -> HostileTerminal:
        return HostileTerminal(folder, self._results)

    def run(self, work: Any, *, flags: Any) -> None:
        raise AtlasError("There is no home here.")


def leaves(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if hasattr(command, "commands"):
        for word, one in command.commands.items():
            yield from leaves(one, (*name, word))
    else:
        yield name, command


def arguments_of(command: Any) -> list[str]:
    given = []
    for one in command.params:
        if one.required and one.param_type_name == "argument":
            given.append(HOSTILE)
        elif one.required:
            given += [one.opts[0], HOSTILE]
    return given


def obeyed(text: str) -> list[str]:
    """Return the lines in which something is left that a terminal obeys."""
    return [line for line in text.split("\n") if plain(line) != line]


@pytest.fixture
def walked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, HostileTerminal]:
    for name in ("HOME", "USERPROFILE", "ATLAS_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    results: dict[str, Any] = {}

    async def ask() -> None:
        async with open_app(Home(tmp_path / "home", "default"), environ={}) as app:
            results.update({name: method.result for name, method in app.methods().items()})

    anyio.run(ask, backend="trio")
    bundled = [one for one in discover().manifests.values() if one.source == "bundled"]
    root = tree([command for one in bundled for command in one.cli])
    return root, HostileTerminal(tmp_path / "home", results)


def test_no_command_lets_a_name_of_others_do_anything_to_the_terminal(walked: tuple[Any, HostileTerminal]) -> None:
    root, terminal = walked
    found: dict[str, list[str]] = {}
    printed: set[str] = set()
    for name, command in leaves(typer.main.get_command(root)):
        if name[0] in NOT_WALKED:
            continue
        flags = [[]] + [["--json"] for one in command.params if "--json" in one.opts]
        for more in flags:
            line = [*name, *arguments_of(command), *more]
            done = CliRunner().invoke(root, line, obj=terminal, input="n\n")
            if done.output:
                printed.add(" ".join(name))
            if bad := obeyed(done.output):
                found[" ".join([*name, *more])] = bad[:2]

    assert found == {}
    assert {"plugins list", "plugins install", "plugins update", "plugins log", "mcp list", "skills list"} <= printed


def test_an_error_s_sentence_does_nothing_to_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atlas_kernel.cli import run

    monkeypatch.setenv("ATLAS_HOME", str(tmp_path))
    run([f"--home={HOSTILE}", HOSTILE])

    assert obeyed(capsys.readouterr().err) == []


def test_json_for_a_terminal_is_the_same_value() -> None:
    text = plain_json({"a": HOSTILE})

    assert plain(text) == text
    assert json.loads(text) == {"a": HOSTILE}
