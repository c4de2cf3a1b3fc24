"""The method ``conversation.search``: the same search, for people at a client."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import Frozen, Message
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import Conversation

from .conversation_search import MOST, said, scope_from
from .recall import Recall


class SearchParams(Frozen):
    """What to look for: the arguments of the tool of the same name."""

    query: str
    limit: int = Field(default=MOST, ge=1, le=50)
    sort: Literal["relevance", "newest", "oldest"] = "relevance"
    after: str = ""
    before: str = ""
    role_filter: str = "user,assistant"
    exclude_conversation_ids: tuple[str, ...] = ()


class SearchHit(Frozen):
    """A message that was found, and those on either side of it. ``complete`` says that every word is there."""

    conversation: Conversation
    before: tuple[Message, ...]
    message: Message
    after: tuple[Message, ...]
    complete: bool


class SearchResult(Frozen):
    """What was found. ``said`` is for people; ``waiting`` is how much of an older home is still to be indexed."""

    said: str
    titled: tuple[Conversation, ...]
    hits: tuple[SearchHit, ...]
    relaxed: bool
    waiting: int


def methods(ctx: PluginContext, recall: Recall) -> list[Method]:
    """Return the method."""

    async def run(params: SearchParams, caller: Caller) -> SearchResult:
        scope = scope_from(params.model_dump(), ctx)
        newest = {"newest": True, "oldest": False}.get(params.sort)
        answer = await recall.search(params.query, scope, params.limit, newest=newest)
        hits = [
            SearchHit(
                conversation=one.conversation,
                before=one.before,
                message=one.message,
                after=one.after,
                complete=one.hit.complete,
            )
            for one in answer.around
        ]
        return SearchResult(
            said=said(answer),
            titled=answer.titled,
            hits=tuple(hits),
            relaxed=answer.found.relaxed,
            waiting=answer.state.waiting,
        )

    about = "Find messages of past conversations by their words, each with its neighbours."
    return [Method("conversation.search", SearchParams, SearchResult, run, about)]
