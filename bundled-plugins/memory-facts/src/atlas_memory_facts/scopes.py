"""Who may read a fact back, and where a fact of a category goes. It looks at nothing but its arguments.

Two rules carry everything: a fact is read where its scope is, and what is of one person is read by that person alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from atlas_sdk.records import Conversation

ScopeType: TypeAlias = Literal["owner", "agent", "conversation", "job"]
Within: TypeAlias = Literal["current", "owner", "all"]
"""What ``memory_recall`` looks at: here alone, about the person, or all that may be read here."""

OWNER = "owner"
"""Whose home it is. Guests have an id of their own, and a chat with several people belongs to none of them."""
EVERY_AGENT = ""
"""What is about a person is every agent's, and is kept once."""


@dataclass(frozen=True)
class Scope:
    """Where a fact can be read: ``id`` is a person, an agent, a conversation's key, or a job."""

    type: ScopeType
    id: str


@dataclass(frozen=True)
class Who:
    """Who asks: an agent, for a person, in a conversation, and for a job where it runs by itself."""

    agent: str
    owner: str
    conversation: str
    job: str = ""


@dataclass(frozen=True)
class Whose:
    """Whose a fact is: the agent that learned it, the person it is of, and its scope."""

    agent: str
    owner: str
    scope: Scope


def key_of(conversation: Conversation) -> str:
    """Return what stands for a conversation in scopes: a chat of a channel is one, however often it began anew."""
    origin = conversation.origin
    if origin.kind == "channel" and origin.chat:
        return f"{origin.name}:{origin.chat}"
    return conversation.id


def job_of(conversation: Conversation) -> str:
    """Return the job a conversation runs for, or nothing."""
    return (conversation.origin.name or conversation.id) if conversation.origin.kind == "routine" else ""


def owner_of(conversation: str, guests: Iterable[str], *, with_owner: bool) -> str:
    """Return whose a conversation is, of those who spoke in it; with several people in it, it is nobody's.

    ``guests`` are the ids of senders that are not the owner, empty for one without an id.
    """
    known = set(guests)
    if not known:
        return OWNER
    if len(known) == 1 and not with_owner:
        (one,) = known
        return f"guest:{one}" if one else f"guest of:{conversation}"
    return f"people of:{conversation}"


def is_guest(owner: str) -> bool:
    """Whether a person is not the home's owner."""
    return owner != OWNER


def of_person(who: Who) -> Whose:
    """Return where what is about the person goes."""
    return Whose(EVERY_AGENT, who.owner, Scope("owner", who.owner))


def of_agent(who: Who) -> Whose:
    """Return where working knowledge goes."""
    return Whose(who.agent, who.owner, Scope("agent", who.agent))


def of_here(who: Who) -> Whose:
    """Return where a fact goes that a tool stores: this conversation, or the job that runs."""
    scope = Scope("job", who.job) if who.job else Scope("conversation", who.conversation)
    return Whose(who.agent, who.owner, scope)


def may_read(whose: Whose, who: Who) -> bool:
    """Whether a fact may be read by whoever asks: in a prompt, or as a tool's answer."""
    scope = whose.scope
    match scope.type:
        case "owner":
            return not who.job and scope.id == who.owner and whose.owner == who.owner
        case "agent":
            return not who.job and scope.id == who.agent and whose.agent == who.agent and whose.owner == who.owner
        case "conversation":
            return not who.job and scope.id == who.conversation and whose.agent == who.agent
        case "job":
            return bool(who.job) and scope.id == who.job and whose.agent == who.agent


def in_prompt(whose: Whose, category: str, who: Who) -> bool:
    """Whether a fact that is promoted rides in the prompt of whoever asks.

    A job's run reads the prompt of its agent, and what is of a job never stands there. A rule that was set in one
    conversation is no rule of the agent.
    """
    if whose.scope.type == "job" or (whose.scope.type == "conversation" and category == "directive"):
        return False
    return may_read(whose, Who(who.agent, who.owner, who.conversation))


def is_within(whose: Whose, who: Who, within: Within) -> bool:
    """Whether a fact is part of what ``memory_recall`` is to look at."""
    if not may_read(whose, who):
        return False
    match within:
        case "current":
            return whose.scope.type in ("conversation", "job")
        case "owner":
            return whose.scope.type == "owner"
        case "all":
            return True
