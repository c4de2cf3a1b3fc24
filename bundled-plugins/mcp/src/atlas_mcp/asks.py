"""What a server may ask of Atlas while one of its tools runs: folders, the model, and the user.

All of it fails closed: where nobody can say in which conversation it happens, or the user does not trust the server,
the answer is no, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.ids import new_id
from atlas_sdk.services.llm import LLM
from atlas_sdk.services.questions import QUESTIONS, Choice, Question, QuestionsService

from .usage import Usage

if TYPE_CHECKING:
    from mcp import types
    from mcp.client import ClientRequestContext

MOST_SAMPLES = 10
"""For each call of a tool: a server that wants more is in a loop, and the user pays for it."""
MOST_TOKENS = 8_000
MOST_FIELDS = 10
ASK_SECONDS = 300.0
_DECLINE = Choice(id="decline", label="Decline")


class Asks:
    """The answers for one server. ``usage`` tells which calls run."""

    def __init__(self, ctx: PluginContext, server: str, *, untrusted: bool, usage: Usage) -> None:
        self._ctx = ctx
        self._server = server
        self._untrusted = untrusted
        self._usage = usage

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult | types.ErrorData:
        """Name the folders of the conversations that use the server."""
        from mcp import types
        from pydantic import FileUrl

        return types.ListRootsResult(
            roots=[types.Root(uri=FileUrl(folder.as_uri()), name=folder.name) for folder in self._usage.folders]
        )

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData:
        """Ask the conversation's model, within bounds."""
        from mcp import types

        call, llm = self._usage.latest, self._ctx.services.get(LLM)
        if self._untrusted:
            return _refused("Atlas lets no server use its model that the user does not trust.")
        if call is None or llm is None:
            return _refused("Atlas asks its model for a server only while one of the server's tools runs.")
        if params.tools:
            return _refused("Atlas gives a server's requests to the model no tools.")
        call.samples += 1
        if call.samples > MOST_SAMPLES:
            return _refused(f"Atlas asks its model at most {MOST_SAMPLES} times for one call of a tool.")
        said = []
        for message in params.messages:
            for block in message.content if isinstance(message.content, list) else [message.content]:
                if not isinstance(block, types.TextContent):
                    return _refused("Atlas passes only text from a server to its model.")
                said.append((message.role, block.text))
        prompt = said[0][1] if len(said) == 1 else "\n\n".join(f"{role}: {text}" for role, text in said)
        call.host.progress(f"{self._server} asks the model.")
        try:
            answer = await llm.complete(
                prompt,
                purpose=f"plugin:{self._ctx.name}",
                system=params.system_prompt or "",
                max_tokens=min(params.max_tokens, MOST_TOKENS),
                conversation=call.host.conversation,
            )
        except (AtlasError, TimeoutError) as error:
            return _refused(f"The model did not answer: {error}")
        text = types.TextContent(type="text", text=answer.text)
        model = f"{answer.provider}/{answer.model}"
        return types.CreateMessageResult(role="assistant", content=text, model=model, stop_reason="endTurn")

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the user: field by field, or to open a page."""
        from mcp import types

        call, questions = self._usage.latest, self._ctx.services.get(QUESTIONS)
        if call is None or questions is None:
            return types.ElicitResult(action="decline")
        title = f"{self._server} asks: {params.message}"
        if isinstance(params, types.ElicitRequestURLParams):
            done = Choice(id="done", label="I opened it")
            answer = await self._ask(questions, title, "The page is outside Atlas.", (done, _DECLINE), exact=params.url)
            return types.ElicitResult(action="accept" if answer == "done" else "decline")
        fields = params.requested_schema.get("properties", {})
        if len(fields) > MOST_FIELDS:
            return types.ElicitResult(action="decline")
        content: dict[str, Any] = {}
        for name, schema in fields.items():
            value = await self._field(questions, title, name, schema)
            if value is None:
                return types.ElicitResult(action="decline")
            content[name] = value
        if not fields:
            agree = Choice(id="yes", label="Yes")
            if await self._ask(questions, title, "", (agree, _DECLINE)) != "yes":
                return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=content)

    async def _field(self, questions: QuestionsService, title: str, name: str, schema: Mapping[str, Any]) -> Any:
        """Ask for one field; None where the user declines or what they say does not fit."""
        why = str(schema.get("description") or schema.get("title") or name)
        kind = schema.get("type", "string")
        if kind == "array":
            return None  # of several choices at once our cards do not tell which belong to which
        options = [str(one) for one in schema.get("enum", ())]
        options += [str(one.get("const")) for one in schema.get("oneOf", ()) if isinstance(one, Mapping)]
        if kind == "boolean":
            options = ["yes", "no"]
        said = await self._ask(questions, title, why, (*(Choice(id=one, label=one) for one in options), _DECLINE))
        if said in (None, "decline") or (options and said not in options):
            return None
        assert said is not None
        try:
            match kind:
                case "boolean":
                    return said == "yes"
                case "integer":
                    return int(said)
                case "number":
                    return float(said)
                case _:
                    return said
        except ValueError:
            return None

    async def _ask(
        self, questions: QuestionsService, title: str, why: str, choices: tuple[Choice, ...], *, exact: str = ""
    ) -> str | None:
        call = self._usage.latest
        assert call is not None
        question = Question(
            id=new_id(),
            conversation=call.host.conversation,
            call=call.host.call,
            kind="question",
            title=title,
            exact=exact,
            why=why,
            choices=choices,
            expires_in=ASK_SECONDS,
        )
        answer = await questions.ask(question)
        if answer.how != "answered":
            return None
        return answer.choices[0] if answer.choices else answer.text.strip() or None


def _refused(why: str) -> types.ErrorData:
    from mcp import types

    return types.ErrorData(code=types.INVALID_REQUEST, message=why)
