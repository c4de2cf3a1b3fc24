"""Tools one might have, and the service that knows which of them are deferred."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.services.tools import TOOLS
from atlas_sdk.testing.fake_context import FakeContext, FakeServices
from atlas_sdk.tools import Tool


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


async def ran(arguments: Any, host: Any) -> str:
    return f"ran with {arguments}"


def tool(name: str, description: str = "", source: str = "", **more: Any) -> Tool:
    properties = {parameter: {"type": "string"} for parameter in more.pop("parameters", ())}
    schema = {"type": "object", "properties": properties}
    return Tool(name, description, schema, ran, source=source, **{"deferred": True, **more})


class FakeTools:
    """The service of the kernel: ``c1`` has what is deferred, any other conversation nothing."""

    def __init__(self, *tools: Tool) -> None:
        self.tools = tools

    async def deferred(self, conversation: str) -> tuple[Tool, ...]:
        return tuple(tool for tool in self.tools if tool.deferred) if conversation == "c1" else ()

    def find(self, name: str) -> Tool | None:
        return next((tool for tool in self.tools if tool.name == name), None)


def context(home: Path, *tools: Tool) -> FakeContext:
    return FakeContext(home, name="tool-search", services=FakeServices(TOOLS.by(FakeTools(*tools))))


@pytest.fixture
def make() -> Any:
    """Make a tool."""
    return tool


@pytest.fixture
def github() -> tuple[Tool, ...]:
    return (
        tool("create_issue", "Open an issue in a repository.", "github", parameters=["repository", "title"]),
        tool("list_issues", "List the issues of a repository.", "github", parameters=["repository"]),
        tool("getPullRequest", "Read a pull request.", "github", parameters=["number"]),
        tool("send_mail", "Send a letter to somebody.", "mail", parameters=["recipient", "subject"]),
        tool("plan", "Keep a plan of several steps."),
        tool("read_file", "Read a file.", deferred=False),
    )


@pytest.fixture
def ctx(github: tuple[Tool, ...], tmp_path: Path) -> FakeContext:
    return context(tmp_path, *github)
