"""What a person may name: a conversation, an agent, somebody who talks. A name that nobody has was mistyped."""

from __future__ import annotations

from atlas_sdk.errors import NotFoundError
from atlas_sdk.records import Conversation
from atlas_sdk.services.store import Reading

from . import people
from .prompt_files import MAIN
from .scopes import OWNER, key_of

CONVERSATIONS_HINT = "atlas chat --list shows their ids; a chat is named as telegram:12345."


def check_chosen(view: Reading, *, conversation: str, agent: str, owner: str) -> None:
    """Raise NotFoundError for what no conversation has."""
    every = [Conversation.model_validate_json(row["data"]) for row in view.rows("SELECT data FROM conversation")]
    if conversation and not any(conversation in (one.id, key_of(one)) for one in every):
        raise NotFoundError(f"There is no conversation {conversation[:60]!r}.", hint=CONVERSATIONS_HINT)
    if agent:
        check_agent(view, agent)
    if owner and owner != OWNER:
        owners = sorted({owner for one in every for owner in people.speakers(view, one)})
        if owner not in owners:
            known = ", ".join(dict.fromkeys([OWNER, *owners]))
            raise NotFoundError(f"No conversation is of {owner[:60]!r}.", hint=f"Those who talk: {known}.")


def check_agent(view: Reading, agent: str) -> None:
    """Raise NotFoundError for an agent that has neither a conversation nor a fact."""
    rows = view.rows(
        "SELECT DISTINCT json_extract(data, '$.agent') AS agent FROM conversation "
        "UNION SELECT agent_id FROM memory_facts_memory WHERE agent_id != ''"
    )
    known = sorted({MAIN} | {str(row["agent"]) for row in rows if row["agent"]})
    if agent not in known:
        raise NotFoundError(f"There is no agent {agent[:60]!r}.", hint=f"Those there are: {', '.join(known)}.")
