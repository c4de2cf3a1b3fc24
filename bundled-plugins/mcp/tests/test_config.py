"""What ``mcp.json`` may say, and the names models take. Tables."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atlas_mcp.config import read_entry, read_file
from atlas_mcp.listing import ListedArgument, ListedPrompt
from atlas_mcp.naming import MOST_CHARS, fitting
from atlas_mcp.tools import prompt_arguments
from atlas_sdk.errors import MisuseError

HERE = Path("/home-of-atlas")


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ({"command": "npx", "args": ["-y", "x"]}, {"kind": "stdio", "command": "npx", "args": ("-y", "x")}),
        ({"type": "stdio", "command": "a", "env": {"PORT": 1}}, {"env": {"PORT": "1"}}),
        ({"url": "https://a.example/mcp"}, {"kind": "http"}),
        ({"type": "streamable-http", "url": "https://a.example"}, {"kind": "http"}),
        (
            {"type": "sse", "url": "https://a.example/sse", "headers": {"A": "b"}},
            {"kind": "sse", "headers": {"A": "b"}},
        ),
        ({"url": "${BASE_URL}/mcp"}, {"kind": "http", "why": ""}),
        ({"command": "a", "trust": "untrusted"}, {"untrusted": True, "problems": ()}),
        ({"command": "a", "trust": "trusted"}, {"untrusted": False}),
        ({"command": "a", "alwaysLoad": True, "disabled": True}, {"always_load": True, "disabled": True}),
        ({"command": "a", "timeout": 1500}, {"call_seconds": 1.5}),
        ({"url": "https://a.example", "oauth": {"callbackPort": 8080}}, {"oauth": {"callbackPort": "8080"}}),
        ({"url": "https://a.example", "headersHelper": "./say"}, {"headers_helper": "./say", "problems": ()}),
    ],
)
def test_an_entry_is_understood(entry: Any, wanted: dict[str, Any]) -> None:
    config = read_entry("box", entry, HERE)

    assert config.why == ""
    assert {name: getattr(config, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("npx", "must be an object"),
        ({}, "neither a command nor a url"),
        ({"type": "ws", "url": "ws://a"}, "'ws' is not one of"),
        ({"type": ["stdio"]}, "is not one of"),
        ({"url": "file:///etc/passwd"}, "must begin with http"),
        ({"command": ["npx"]}, "Command must be text."),
        ({"command": "a", "args": "b"}, "Args must be a list of texts."),
        ({"command": "a", "env": {"A": None}}, "Env must be an object of texts."),
        ({"command": "a", "timeout": -1}, "milliseconds"),
    ],
)
def test_an_entry_that_cannot_be_used_says_why(entry: Any, why: str) -> None:
    assert why in read_entry("box", entry, HERE).why


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "a", "comand": "b"}, "'comand' is unknown."),
        ({"command": "a", "headers": {}}, "'headers' is unknown."),
        ({"url": "http://a", "oauth": {"authServerMetadataUrl": "x"}}, "'authServerMetadataUrl' of oauth is unknown"),
        ({"command": "a", "trust": "untrustd"}, "it counts as untrusted"),
    ],
)
def test_what_is_not_understood_is_said(entry: Any, said: str) -> None:
    config = read_entry("box", entry, HERE)

    assert said in config.problems[0]
    assert config.untrusted == ("trust" in entry)


def test_both_shapes_of_the_file_are_read() -> None:
    entry = {"command": "a"}
    wrapped, problems = read_file(json.dumps({"mcpServers": {"b": entry, "a": entry}, "inputs": []}), HERE)
    bare, none = read_file(json.dumps({"a": entry}), HERE)

    assert [one.name for one in wrapped] == ["a", "b"]
    assert problems == ("'inputs' is unknown beside mcpServers.",)
    assert [one.name for one in bare] == ["a"]
    assert none == ()
    for text in ("[]", '{"mcpServers": []}', "{"):
        with pytest.raises(ValueError):
            read_file(text, HERE)


def test_a_list_of_tools_is_good_for_what_it_was_asked_of() -> None:
    first = read_entry("box", {"command": "a", "args": ["1"]}, HERE)

    assert first.digest == read_entry("box", {"command": "a", "args": ["1"], "trust": "untrusted"}, HERE).digest
    assert first.digest != read_entry("box", {"command": "a", "args": ["2"]}, HERE).digest


def test_a_list_stays_good_when_a_value_changes_that_is_not_used() -> None:
    config = read_entry("box", {"command": "${user_config.the-program:-a}"}, HERE)
    with_other = replace(config, values={"TERM": "xterm"})

    assert config.digest == with_other.digest
    assert config.digest != replace(config, values={"user_config.the-program": "b"}).digest


@pytest.mark.parametrize(
    ("server", "tool", "wanted"),
    [
        ("github", "create_issue", "mcp__github__create_issue"),
        ("my server", "files.read/write", "mcp__my_server__files_read_write"),
        ("größe", "猫", "mcp__gr__e___"),
    ],
)
def test_names_are_made_to_fit(server: str, tool: str, wanted: str) -> None:
    assert fitting(server, tool) == wanted


def test_long_and_equal_names_stay_apart() -> None:
    long = [fitting("s" * 60, f"tool-{number}") for number in range(50)]
    first = fitting("a", "b.c")
    second = fitting("a", "b/c", taken={first})

    assert len(set(long)) == 50
    assert first != second
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in (*long, first, second))
    assert all(len(name) == MOST_CHARS for name in long)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("one two", {"a": "one", "b": "two"}),
        ("one two three", {"a": "one", "b": "two three"}),
        ("'one two'", {"a": "one two"}),
        ("b=x one two", {"b": "x", "a": "one two"}),
        ("a=1", {"a": "1"}),
        ("it's", {"a": "it's"}),
    ],
)
def test_arguments_of_a_prompt_are_read_from_what_was_typed(text: str, wanted: dict[str, str]) -> None:
    prompt = ListedPrompt(name="p", arguments=(ListedArgument(name="a", required=True), ListedArgument(name="b")))

    assert prompt_arguments(prompt, text) == wanted


def test_an_argument_that_lacks_is_named() -> None:
    prompt = ListedPrompt(name="p", arguments=(ListedArgument(name="a", required=True),))

    with pytest.raises(MisuseError, match="The prompt p needs a"):
        prompt_arguments(prompt, "")
