"""What a server may ask of Atlas while one of its tools runs: folders, the model, and the user.

All of it fails closed: where nobody can say in which conversation it happens, or the user does not trust the server,
the answer is no, with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.ids import new_id
from atlas_sdk.services.llm import LLM
from atlas_sdk.services.questions import QUESTIONS, Choice, Question, QuestionsService

from .form import Field, fields_of
from .usage import Call, Usage

if TYPE_CHECKING:
    from mcp import types
    from mcp.client import ClientRequestContext

MOST_SAMPLES = 10
"""For each call of a tool: a server that wants more is in a loop, and the user pays for it."""
MOST_FORMS = 10
"""For each call of a tool, one at a time: a user is not to be worn down to a yes."""
MOST_QUESTIONS = 40
"""The same for the questions of all its forms."""
MOST_MESSAGE = 2_000
MOST_TOKENS = 8_000
MOST_FIELDS = 20
ASK_SECONDS = 300.0
MOST_TRIES = 3
"""For an answer that does not fit, such as a word where a number is due."""
SKIPPED = object()
_DECLINE = Choice(id="decline", label="Decline")
_SKIP = Choice(id="skip", label="Skip")


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

        call, llm = self._usage.asking(), self._ctx.services.get(LLM)
        if self._untrusted:
            return _refused("Atlas lets no server use its model that the user does not trust.")
        if call is None or llm is None:
            return _refused(
                "Atlas asks its model for a server only while one of the server's tools runs, for one conversation."
            )
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

        call, questions = self._usage.asking(), self._ctx.services.get(QUESTIONS)
        if call is None or questions is None or call.is_asking or call.forms >= MOST_FORMS:
            return types.ElicitResult(action="decline")
        call.forms += 1
        call.is_asking = True
        try:
            return await self._form(_Asked(self._usage, call, questions, self._server, params.message), params)
        finally:
            call.is_asking = False

    async def _form(self, asked: _Asked, params: types.ElicitRequestParams) -> types.ElicitResult:
        from mcp import types

        if isinstance(params, types.ElicitRequestURLParams):
            done = Choice(id="done", label="I opened it")
            said = await asked.ask("The page is outside Atlas.", (done, _DECLINE), exact=params.url)
            return types.ElicitResult(action="accept" if said == (done.id,) else "decline")
        fields = fields_of(params.requested_schema)
        if len(fields) > MOST_FIELDS:
            return types.ElicitResult(action="decline")
        content: dict[str, Any] = {}
        for field in fields:
            value = await _field(asked, field)
            if value is None:
                return types.ElicitResult(action="decline")
            if value is not SKIPPED:
                content[field.name] = value
        if not fields:
            agree = Choice(id="yes", label="Yes")
            if await asked.ask("", (agree, _DECLINE)) != (agree.id,):
                return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=content)


class _Asked:
    """The questions of one form, all of them for the call it began with."""

    def __init__(self, usage: Usage, call: Call, questions: QuestionsService, server: str, message: str) -> None:
        self._usage = usage
        self._call = call
        self._questions = questions
        self._title = f"{server} asks: {message[:MOST_MESSAGE]}"

    async def ask(
        self, why: str, choices: tuple[Choice, ...], *, exact: str = "", multiple: bool = False
    ) -> tuple[str, ...] | None:
        """Return what was picked or typed, None where nobody answered, or nobody may be asked any more."""
        call = self._call
        call.questions += 1
        if call.questions > MOST_QUESTIONS or not self._usage.runs(call):
            return None
        question = Question(
            id=new_id(),
            conversation=call.host.conversation,
            call=call.host.call,
            kind="question",
            title=self._title,
            exact=exact,
            why=why,
            choices=choices,
            multiple=multiple,
            expires_in=ASK_SECONDS,
        )
        answer = await self._questions.ask(question)
        if answer.how != "answered":
            return None
        return answer.choices or ((answer.text.strip(),) if answer.text.strip() else None)


async def _field(asked: _Asked, field: Field) -> Any:
    """Ask for one field; ``SKIPPED`` where it may lack and does, None where the user declines or nothing fits."""
    skip = () if field.is_required else (_SKIP,)
    choices = (*(Choice(id=id, label=label) for id, label in field.options), *skip, _DECLINE)
    why = field.said
    for _ in range(MOST_TRIES):
        answer = await asked.ask(why, choices, multiple=field.kind == "array")
        if answer is None or _DECLINE.id in answer:
            return None
        if _SKIP.id in answer and skip:
            return SKIPPED
        try:
            return field.value(answer)
        except ValueError as error:
            why = f"{field.said} ({error})"
    return None


def _refused(why: str) -> types.ErrorData:
    from mcp import types

    return types.ErrorData(code=types.INVALID_REQUEST, message=why)
