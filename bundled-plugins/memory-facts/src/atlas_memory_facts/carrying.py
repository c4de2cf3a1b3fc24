"""What another memory system knows, as facts: by careful rules, and a doubt is a preference or context."""

from __future__ import annotations

import re

from atlas_sdk.memory import Known

from .admission import SURE, checked
from .categories import CATEGORIES, about_of, target_of
from .facts import Draft, Fact, Source, digest
from .scopes import EVERY_AGENT, OWNER, Scope, ScopeType, Whose

MAIN = "main"
_NAMED = r"(?:the user(?:'s)?|they|he|she|user(?:'s)?)?\s*"
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (category, re.compile(rf"^{_NAMED}(?:{words})", re.IGNORECASE))
    for category, words in (
        (
            "preference",
            r"prefers?\b|likes? (?:short|brief|concise|detailed)|dislikes?\b|hates?\b|wants? (?:short|brief|concise|"
            r"answers|replies)|favou?rites?\b|always uses?\b|never uses?\b|uses? .{1,40} (?:instead of|rather than)\b",
        ),
        (
            "goal",
            r"goals? (?:is|are)\b|plans? to\b|aims? to\b|hopes? to\b|intends? to\b|wants? to (?:learn|become|finish|"
            r"build|write|run|move|launch|get|lose|save|publish|start)\b|"
            r"is (?:training|saving|preparing|studying) for\b|"
            r"is learning\b",
        ),
        (
            "interest",
            r"interests? (?:are|include)\b|(?:is )?interested in\b|enjoys?\b|loves?\b|(?:is )?(?:fond of|keen on|"
            r"passionate about|a fan of)\b|hobb(?:y|ies)\b|collects?\b|plays? (?:the )?\w+|follows?\b",
        ),
        (
            "identity",
            r"(?:full |first |last )?name (?:is|:)|(?:is )?(?:called|named)\b|lives? in\b|(?:is )?(?:from|based in)\b|"
            r"works? (?:as|at|for|in|remotely)\b|(?:is )?(?:an? )?\d{1,3} years old|born\b|birthday\b|speaks?\b|"
            r"native language\b|time ?zone\b|pronouns?\b|married\b|has (?:a |an |\w+ )?(?:wife|husband|partner|son|"
            r"daughter|child|children|sister|brother|dog|cat|kids?)\b|"
            r"(?:is )?(?:an? )?(?:\w+ ){0,3}(?:engineer|designer|developer|teacher|doctor|nurse|student|writer|lawyer|"
            r"manager|researcher|scientist|architect|artist|musician|founder|consultant|analyst|editor|journalist)\b",
        ),
    )
)


def category_of(known: Known) -> str:
    """Return the category of something known: its own where it had one, else by its first words."""
    details = known.details if isinstance(known.details, dict) else {}
    own = details.get("category")
    if isinstance(own, str) and own in CATEGORIES and about_of(own) == known.about:
        return own
    if known.about == "work":
        return "context"
    text = " ".join(known.text.split())
    return next((category for category, rule in _RULES if rule.match(text)), "preference")


def draft_of(known: Known) -> Draft:
    """Return a fact of something another system knows. Raises RefusedFactError for what may not be kept."""
    category = category_of(known)
    details = known.details if isinstance(known.details, dict) else {}
    value = checked(known.text)
    key = details.get("key")
    type, _, id = known.only.partition(":")
    agent = EVERY_AGENT if known.about == "user" else (known.agent or MAIN)
    whose = Whose(agent, OWNER, Scope("owner", OWNER) if known.about == "user" else Scope("agent", agent))
    if known.only:
        whose = _narrow(known, type, id, details.get("owner"))
    confidence = details.get("confidence")
    return Draft(
        whose=whose,
        category=category,
        key=key if isinstance(key, str) and key else f"carried_{digest(value)[:16]}",
        value=value,
        confidence=float(confidence) if isinstance(confidence, int | float) else SURE,
        target="" if details.get("target") == "" else target_of(category),
        source=Source(
            id=f"carried:{known.system}",
            type="carried",
            name=known.system or "another system",
            description="carried from another memory system",
            session=known.conversation,
            message=known.message,
        ),
    )


def _narrow(known: Known, type: str, id: str, owner: object) -> Whose:
    """Return a scope of what only some may know; a word there is no scope for is nobody's, so nothing reads it."""
    if type == "owner":
        return Whose(EVERY_AGENT if known.about == "user" else (known.agent or MAIN), id, _scope_of(known, id))
    scope_type: ScopeType = "job" if type == "job" else "conversation"
    return Whose(known.agent or MAIN, owner if isinstance(owner, str) else f"people of:{id}", Scope(scope_type, id))


def _scope_of(known: Known, owner: str) -> Scope:
    return Scope("owner", owner) if known.about == "user" else Scope("agent", known.agent or MAIN)


def known_of(fact: Fact) -> Known:
    """Return a fact as memory systems share it. Its details bring it home as it was."""
    return Known(
        id=fact.id,
        text=fact.value,
        about=about_of(fact.category),
        agent=fact.whose.agent,
        conversation=fact.source.session,
        message=fact.source.message,
        at=fact.updated_at,
        system="facts",
        only=only_of(fact.whose),
        details={
            "category": fact.category,
            "key": fact.key,
            "confidence": fact.confidence,
            "target": fact.target,
            "owner": fact.whose.owner,
        },
    )


def only_of(whose: Whose) -> str:
    """Return who alone may know a fact, where that is not all of the owner's conversations with an agent."""
    if whose.scope.type in ("conversation", "job"):
        return f"{whose.scope.type}:{whose.scope.id}"
    return "" if whose.owner == OWNER else f"owner:{whose.owner}"
