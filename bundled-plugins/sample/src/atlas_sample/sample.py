"""The scripted stand-in: a real search, a real approval, a real edit, and how to add a key."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from atlas_sdk.context import PluginContext
from atlas_sdk.hooks import Stage, ToolGo, ToolRequest
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, TextPart, ToolCallPart, ToolResultPart
from atlas_sdk.providers import Emit, ModelInfo, ModelReply, ModelRequest, ProviderCheck, TextDelta
from atlas_sdk.records import Cost
from atlas_sdk.services.models import MODELS
from atlas_sdk.tools import ToolResult

FILE = "atlas-sample.txt"
KEYS = """To talk to a real model, add a key of yours:

    atlas secrets set OPENAI_API_KEY        (or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY)

or start a local server such as Ollama, and name its model in models.toml. Then start a new conversation.
`atlas docs guides/models` says more."""


@dataclass(frozen=True)
class Step:
    """One step of the walk: what is said, and the call that follows."""

    says: str
    tool: str
    arguments: dict[str, Any]


WALK = (
    Step(
        "I am the sample: a script, not a model. I do not understand what you write. "
        "I can show you what Atlas does, with real tools. First I look at what is in this folder.",
        "find_files",
        {"pattern": "*", "target": "files", "limit": 10},
    ),
    Step(
        f"Now I would like to make a small file, {FILE}. Atlas asks you before I may run a command for it.",
        "run_command",
        {"command": f"printf 'milk\\nbread\\n' > {FILE}"},
    ),
    Step("It is there. I read it, since a file is read before it is changed.", "read_file", {"path": FILE}),
    Step("And I change one line.", "edit_file", {"path": FILE, "old_string": "bread", "new_string": "rye bread"}),
)
REFUSED = "You refused, so nothing was made, and I stop here: a refusal is never tried another way."
FAILED = "That did not work, and I stop here."
DONE = f"Done: {FILE} now says rye bread. Delete it whenever you like."
AGAIN = "I am the sample, a script and no model, and I have shown what I can."


class SampleProvider:
    """Answers from the script, by how far the conversation has come."""

    id = "sample"
    name = "Sample (no model)"
    order = 1000
    models = (ModelInfo(id="sample", name="Sample (no model)", default=True),)

    async def ready(self) -> bool:
        return True

    async def check(self) -> ProviderCheck:
        return ProviderCheck(self.id, "ok", "It is a script and needs no key.")

    async def stream(self, request: ModelRequest, emit: Emit) -> ModelReply:
        text, step = _next(request)
        for number, word in enumerate(text.split(" ")):
            emit(TextDelta(f" {word}" if number else word))
        parts: list[TextPart | ToolCallPart] = [TextPart(text=text, trust="agent")]
        if step is not None:
            parts.append(ToolCallPart(call=new_id(), name=step.tool, arguments=json.dumps(step.arguments)))
        return ModelReply(tuple(parts), "tools" if step else "end", cost=Cost(dollars=0.0, source="free"))


def _next(request: ModelRequest) -> tuple[str, Step | None]:
    if request.purpose != "turn":
        # It judges nothing, and has no title and no summary for anything: an empty answer is none.
        return "unsure" if request.purpose == "approval_review" else "", None
    told = {spec.name for spec in request.tools}
    walked = 0
    last: ToolResultPart | None = None
    for message in request.messages:
        walked += len(message.calls())
        last = _result(message) or last
    if walked and request.messages[-1].role == "user":
        return f"{AGAIN}\n\n{KEYS}", None
    if last is not None and last.is_error:
        refused = any("refused" in part.text for part in last.content if isinstance(part, TextPart))
        return f"{REFUSED if refused else FAILED}\n\n{KEYS}", None
    if walked < len(WALK) and WALK[walked].tool in told:
        return WALK[walked].says, WALK[walked]
    return f"{DONE if walked == len(WALK) else AGAIN}\n\n{KEYS}", None


def _result(message: Message) -> ToolResultPart | None:
    return next((part for part in reversed(message.parts) if isinstance(part, ToolResultPart)), None)


class AskFirst:
    """Has the sample's command asked about, whatever mode the conversation is in: a newcomer sees the card."""

    stage = Stage.FEATURE

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx

    async def around_tool(self, request: ToolRequest, go: ToolGo) -> ToolResult:
        if request.tool.name != "run_command" or not await self._is_sample(request):
            return await go(request)
        return await go(replace(request, ask="The sample asks before it runs a command, so that you see how it looks."))

    async def _is_sample(self, request: ToolRequest) -> bool:
        conversation = request.conversation
        provider, _ = await self._ctx.services.need(MODELS).choose(conversation.provider, conversation.model)
        return provider.id == SampleProvider.id
