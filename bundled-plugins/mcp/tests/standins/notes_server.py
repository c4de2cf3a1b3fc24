"""A server of somebody else's, made with the protocol's own SDK: over standard input and output, or HTTP with a port."""

import sys
from pathlib import Path
from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Image, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("notes", instructions="Keeps notes.")
READS = ToolAnnotations(read_only_hint=True)
# The smallest PNG there is.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)


class Total(BaseModel):
    count: int
    words: list[str]


class Name(BaseModel):
    name: str


@server.tool(annotations=READS)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def total(words: list[str]) -> Total:
    """Count words."""
    return Total(count=len(words), words=words)


@server.tool(annotations=READS, structured_output=False)
def picture() -> Image:
    """Draw a picture."""
    return Image(data=PIXEL, format="png")


@server.tool(structured_output=False)
def big(size: int) -> str:
    """Say much."""
    return "x" * size


@server.tool(structured_output=False)
async def steps(count: int, ctx: Context[Any]) -> str:
    """Do something in steps."""
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool(structured_output=False)
async def slow(file: str) -> str:
    """Take long; write to a file when it is cancelled."""
    try:
        await anyio.sleep(60)
    except BaseException:
        Path(file).write_text("cancelled")  # noqa: ASYNC240  # an await would be cancelled, too
        raise
    return "done"


@server.tool(structured_output=False)
def fails() -> str:
    """Fail."""
    raise ToolError("The note is torn.")


def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@server.tool(structured_output=False)
async def greet(name: Annotated[ElicitationResult[Name], Resolve(who)]) -> str:
    """Ask the user for a name."""
    return f"Hello, {name.data.name}." if name.action == "accept" else f"You said {name.action}."


@server.resource("note://{name}")
def note(name: str) -> str:
    """One note."""
    return f"The note {name}."


@server.resource("note://index")
def index() -> str:
    """All notes."""
    return "one, two"


@server.prompt()
def review(text: str, tone: str = "kind") -> str:
    """Review a text."""
    return f"Review this in a {tone} way: {text}"


if __name__ == "__main__":
    if "sse" in sys.argv:
        server.run("sse", host="127.0.0.1", port=int(sys.argv[1]))
    elif len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
