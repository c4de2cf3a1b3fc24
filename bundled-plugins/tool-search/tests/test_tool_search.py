"""Finding deferred tools and calling them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atlas_sdk.hooks import Stage, ToolInterceptor, ToolRequest
from atlas_sdk.schemas import problem
from atlas_sdk.services.retirements import RETIREMENTS
from atlas_sdk.services.tools import TOOLS
from atlas_sdk.tools import ToolError, ToolResult
from atlas_tool_search import atlas_hooks, atlas_instructions, atlas_tools
from atlas_tool_search.catalog import LIMIT_CHARS, listing
from atlas_tool_search.ranking import best, near, words

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create_issue", "create_issue"),
        ("CREATE_ISSUE", "create_issue"),
        ("please use plan to create_nothing", "plan"),
        ("github create issue", "create_issue"),
        ("pull requests", "getPullRequest"),
        ("recipient", "send_mail"),
        ("mail", "send_mail"),
        ("listing the issues", "list_issues"),
    ],
)
def test_the_best_tool_comes_first(github: Any, query: str, first: str) -> None:
    assert best(query, github, 5)[0].name == first


def test_a_tool_that_shares_no_word_is_not_found(github: Any) -> None:
    assert best("weather tomorrow", github, 5) == []
    assert best("", github, 5) == []
    assert best("x", (), 5) == []
    assert len(best("repository", github, 1)) == 1


def test_rare_words_count_more_than_common_ones(make: Any) -> None:
    tools = [make(f"file_{n}", "Work with a file.") for n in range(20)] + [make("archive_file", "Pack.")]

    assert best("archive file", tools, 3)[0].name == "archive_file"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getHTTPResponse", ["get", "http", "response"]),
        ("list_open_issues", ["list", "open", "issue"]),
        ("mcp__files__read2", ["mcp", "file", "read2"]),
        ("Größe ändern", ["grösse", "ändern"]),
    ],
)
def test_names_are_taken_apart(text: str, expected: list[str]) -> None:
    assert words(text) == [word.casefold() for word in expected]


def test_near_names_are_by_spelling_or_by_words(github: Any) -> None:
    assert near("creat_issue", github)[0] == "create_issue"
    assert "getPullRequest" in near("pull_request_get", github)


async def test_the_answer_has_the_schema_and_how_to_call(ctx: Any, github: Any) -> None:
    [search, _] = atlas_tools(ctx)
    answer = await search.run({"query": "mail"}, SimpleNamespace(conversation="c1"))  # type: ignore[arg-type]

    assert isinstance(answer, ToolResult)
    head, mail = answer.text().split("\n\n")
    assert "use_tool" in head
    name, schema = mail.split("\n")
    assert name == "send_mail (from mail): Send a letter to somebody."
    assert json.loads(schema) == github[3].parameters
    assert search.read_only


async def test_without_a_match_the_names_are_said(ctx: Any) -> None:
    [search, _] = atlas_tools(ctx)

    async def text(query: str, conversation: str) -> str:
        return (await search.run({"query": query}, SimpleNamespace(conversation=conversation))).text()  # type: ignore

    assert (await text("weather", "c1")).startswith("No tool matches. Those to be found: create_issue, ")
    assert await text("mail", "c2") == "There are no tools but those on your list."


def request(ctx: Any, github: Any, name: str, arguments: Any, conversation: str) -> ToolRequest:
    chosen = next(tool for tool in (*atlas_tools(ctx), *github) if tool.name == name)
    record = SimpleNamespace(id=conversation)
    return ToolRequest(record, SimpleNamespace(), "call", chosen, arguments, ask="why")  # type: ignore[arg-type]


async def through(ctx: Any, github: Any, name: str, arguments: Any, conversation: str = "c1") -> list[ToolRequest]:
    """Send a call through the interceptor and return what came out on its way to the gate."""
    passed: list[ToolRequest] = []

    async def go(asked: ToolRequest) -> ToolResult:
        passed.append(asked)
        return ToolResult.of("done")

    [hook] = atlas_hooks(ctx)
    assert isinstance(hook, ToolInterceptor)
    assert hook.stage is Stage.FIRST
    await hook.around_tool(request(ctx, github, name, arguments, conversation), go)
    return passed


async def test_use_tool_becomes_the_real_call(ctx: Any, github: Any) -> None:
    arguments = {"name": "create_issue", "arguments": {"title": "x"}}
    [passed] = await through(ctx, github, "use_tool", arguments)

    assert (passed.tool, passed.arguments) == (github[0], {"title": "x"})
    assert (passed.call, passed.ask) == ("call", "why")


async def test_a_tool_without_arguments_needs_none(ctx: Any, github: Any) -> None:
    [passed] = await through(ctx, github, "use_tool", {"name": "plan"})

    assert passed.arguments == {}


async def test_other_calls_pass_by_untouched(ctx: Any, github: Any) -> None:
    [passed] = await through(ctx, github, "read_file", {"path": "a"})

    assert (passed.tool.name, passed.arguments) == ("read_file", {"path": "a"})


@pytest.mark.parametrize(
    ("name", "conversation", "why"),
    [
        ("creat_issue", "c1", "Did you mean create_issue"),
        ("qqqq", "c1", "there is no tool 'qqqq' to use. Look"),
        ("read_file", "c1", "call it by its own name"),
        ("create_issue", "c2", "call it by its own name"),
        ("use_tool", "c1", "Not run"),
    ],
)
async def test_what_is_not_deferred_here_is_not_called(
    ctx: Any, github: Any, name: str, conversation: str, why: str
) -> None:
    with pytest.raises(ToolError, match=why):
        await through(ctx, github, "use_tool", {"name": name, "arguments": {}}, conversation)


class Retired:
    """The marketplace's word on what it stopped."""

    def sentences(self, kind: str) -> dict[str, str]:
        return {"docs": "The marketplace retired docs, and it was stopped here: It leaked."} if kind == "mcp" else {}


async def test_a_tool_of_a_retired_server_says_so_and_why(ctx: Any, github: Any) -> None:
    ctx.services.offer(RETIREMENTS.by(cast(Any, Retired())))
    with pytest.raises(ToolError, match=r"Not run: The marketplace retired docs, .* It leaked\."):
        await through(ctx, github, "use_tool", {"name": "mcp__docs__find", "arguments": {}}, "c1")
    with pytest.raises(ToolError, match="there is no tool"):
        await through(ctx, github, "use_tool", {"name": "mcp__other__find", "arguments": {}}, "c1")


async def test_use_tool_never_runs_itself(ctx: Any) -> None:
    [_, use] = atlas_tools(ctx)

    with pytest.raises(ToolError):
        await use.run({"name": "plan"}, SimpleNamespace())  # type: ignore[arg-type]
    assert not use.read_only
    assert problem(use.parameters, {"name": "plan", "arguments": "{}"}) is not None


async def test_the_instructions_name_deferred_tools_by_source(ctx: Any) -> None:
    [section] = atlas_instructions(ctx)

    text = await section.text(SimpleNamespace(id="c1"))  # type: ignore

    assert text.split("\n")[1:] == [
        "- Atlas: plan",
        "- github: create_issue, getPullRequest, list_issues",
        "- mail: send_mail",
    ]
    assert await section.text(SimpleNamespace(id="c2")) == ""  # type: ignore


async def test_only_tools_meant_to_be_deferred_are_listed(ctx: Any, make: Any) -> None:
    class ToldNothing:
        async def deferred(self, conversation: str) -> Any:
            return (make("plan"), make("read_file", deferred=False))

    told_nothing: Any = ToldNothing()
    ctx.services.offer(TOOLS.by(told_nothing))
    [section] = atlas_instructions(ctx)

    assert (await section.text(SimpleNamespace(id="new"))).endswith("- Atlas: plan")  # type: ignore


@pytest.mark.parametrize(("sources", "each"), [(1, 5_000), (50, 200), (3_000, 1)])
def test_a_long_listing_stays_within_its_limit(make: Any, sources: int, each: int) -> None:
    tools = [make(f"tool_with_a_name_{n}", source=f"server{s}") for s in range(sources) for n in range(each)]

    text = listing(tools)

    assert len(text) <= LIMIT_CHARS
    assert "more" in text or f"{sources} sources" in text
