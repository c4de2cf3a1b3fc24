"""The prefix of a conversation: its instructions and tool list, made once and then sent byte for byte."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass

from atlas_sdk.errors import sentence
from atlas_sdk.instructions import DEFAULT_SOUL, IDENTITY, RULES, made_for
from atlas_sdk.providers import ToolSpec, tool_list
from atlas_sdk.records import Content, Conversation
from atlas_sdk.services.store import StoreService

from .guard import caught
from .runtime import Runtime

log = logging.getLogger("atlas.prefix")


@dataclass(frozen=True)
class Prefix:
    """What stands before a conversation's history in every request."""

    instructions: Content
    tools: Content
    specs: tuple[ToolSpec, ...]

    @property
    def names(self) -> frozenset[str]:
        """The tools the model was told of at the start."""
        return frozenset(spec.name for spec in self.specs)


async def make_prefix(runtime: Runtime, conversation: Conversation) -> tuple[Prefix, tuple[str, ...]]:
    """Make the prefix of a new conversation; also return a sentence for each section that was left out."""
    soul, texts, left_out = DEFAULT_SOUL, [RULES], []
    for plugin, section in runtime.sections:
        text, error = await caught(made_for, conversation, section.text)
        if error is not None:
            left_out.append(
                f"The instructions {section.name!r} of the plugin {plugin} were left out: {sentence(error)}"
            )
        elif text and section.name == IDENTITY:
            soul = text
        elif text:
            texts.append(text)
    specs: list[ToolSpec] = []
    for tool in (owned.tool for owned in runtime.tools.values() if not owned.tool.deferred):
        more, error = await caught(made_for, conversation, tool.told)
        if error is not None:
            left_out.append(f"A part of what the tool {tool.name} does was left out: {sentence(error)}")
        specs.append(ToolSpec(tool.name, "\n".join(filter(None, (tool.description, more))), tool.parameters))
    told = tuple(specs)
    return Prefix(Content.of("\n\n".join([soul, *texts])), Content.of(tool_list(told)), told), tuple(left_out)


async def load_prefix(store: StoreService, conversation: Conversation) -> Prefix | None:
    """Return the prefix a conversation began with, or None before its first turn."""
    if conversation.instructions is None or conversation.tools is None:
        return None
    instructions = await store.get(Content, conversation.instructions)
    tools = await store.get(Content, conversation.tools)
    if instructions is None or tools is None:
        return None
    specs = tuple(ToolSpec(item["name"], item["description"], item["parameters"]) for item in json.loads(tools.text))
    return Prefix(instructions, tools, specs)
