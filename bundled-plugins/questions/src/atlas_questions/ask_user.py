"""The tool ``ask_user``."""

from __future__ import annotations

from typing import Any

from atlas_sdk.context import PluginContext
from atlas_sdk.ids import new_id
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.questions import QUESTIONS, Choice, Question
from atlas_sdk.tools import Arguments, Tool, ToolError, ToolHost

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": 5,
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "choices": {"type": "array", "items": {"type": "string"}, "maxItems": 4},
                    "multi_select": {"type": "boolean"},
                },
                "required": ["question"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}


def ask_user(ctx: PluginContext) -> Tool:
    """Return the tool."""

    async def run(arguments: Arguments, host: ToolHost) -> str:
        conversations = ctx.services.get(CONVERSATIONS)
        if conversations is not None and not (await conversations.get(host.conversation)).attended:
            raise ToolError("Nobody attends this conversation, so nobody can be asked. Go on with what you can.")
        lines = []
        for item in arguments["questions"]:
            choices = tuple(
                Choice(id=str(index + 1), label=label) for index, label in enumerate(item.get("choices", ()))
            )
            question = Question(
                id=new_id(),
                conversation=host.conversation,
                call=host.call,
                kind="question",
                title=item["question"],
                choices=choices,
                multiple=bool(item.get("multi_select")),
            )
            answer = await ctx.services.need(QUESTIONS).ask(question)
            labels = [choice.label for choice in choices if choice.id in answer.choices]
            said = "; ".join([*labels, *([answer.text] if answer.text else [])])
            lines.append(f"{item['question']} → {said or 'no answer'} ({answer.how})")
        return "\n".join(lines)

    return Tool(
        "ask_user",
        "Ask the user 1 to 5 questions and wait. Put the choice you recommend first. It approves nothing dangerous.",
        PARAMETERS,
        run,
        read_only=True,
    )
