"""Texts that give the agent orders against its user: overriding rules, hiding from the user, approving by itself."""

from __future__ import annotations

import re
from collections.abc import Callable

from .lexicon import lexicon
from .patterns import pattern
from .sentences import Sentence

# Markup that only pretends to come from Atlas or a model's own format.
MARKUP = pattern("injection", "markup", re.MULTILINE)
# Said outright, in words that no fact needs.
PHRASES = pattern("injection", "phrases")
_COMMENT = re.compile(r"<!--(.{0,400}?)-->", re.DOTALL)
_ADDRESSED = re.compile(r"\b(?:ai|assistant|agent|llm|model|you|your|ignore|visit|must)\b")
# "The song is called Forget Everything.": a name that ends its sentence.
_TITLE = re.compile(r"\b(?:is|are|was) (?:called|titled|entitled|named) [^.,;:\n]{1,40}(?=[.!?]?\s{0,3}(?:\n|$))")
_SPEAKER = pattern("injection", "speaker", re.MULTILINE)


def injection(text: str) -> str:
    """Return what an injected text would do, or nothing. ``text`` is a reading of the whole."""
    if MARKUP.search(text):
        return "it imitates markup of a prompt or hides text"
    if PHRASES.search(_TITLE.sub(" ", text)):
        return "it gives the agent orders"
    for comment in _COMMENT.finditer(text):
        if _ADDRESSED.search(comment[1]):
            return "it hides orders in a comment"
    return ""


def speaks_as(text: str, is_order: Callable[[str], bool]) -> bool:
    """Whether a line poses as the system or the agent and gives an order."""
    return any(is_order(found[1]) or found[1] in _ANSWERS for found in _SPEAKER.finditer(text))


_ANSWERS = frozenset(("sure", "ok", "okay", "yes", "understood", "certainly", "absolutely", "i"))


def ordered(sentence: Sentence) -> str:
    """Return what a sentence orders against the user or the agent's rules, or nothing."""
    for rule, said in _RULES:
        if rule(sentence):
            return said
    return ""


def _overrides(one: Sentence) -> bool:
    places = one.orders("ignore")
    if any("rules" in one.words[at].tags for at in places if not one.words[at].text):
        return True
    for at in places:
        for other in one.at("rules"):
            if not at < other <= at + 9 and not (at - 9 <= other < at and _foreign(one, at)):
                continue
            if one.near([other], "former", "you", before=6, after=4) or _foreign(one, at):
                return True
    # "Stop following the user's requests", "forget what you were told".
    return any(one.words[at].text in ("stop", "forget") and "user's" in one.text for at in places)


def _foreign(one: Sentence, at: int) -> bool:
    """Whether the word at a place is an order by its form, as in languages that show it."""
    return "ignore" in one.words[at].orders and one.words[at].text not in _ENGLISH_IGNORE


_ENGLISH_IGNORE = frozenset(
    [
        "ignore",
        "disregard",
        "forget",
        "override",
        "overrule",
        "overlook",
        "bypass",
        "neglect",
        "discard",
        "set",
        "put",
        "throw",
        "pay",
        "stop",
        "not",
        "unlearn",
        "abandon",
        "drop",
        "cancel",
        "void",
        "nullify",
        "leave",
        "do",
    ]
)


def _declares_void(one: Sentence) -> bool:
    rules = [*one.at("rules"), *one.at("system_prompt")]
    mine = one.near(rules, "former", "you", before=4, after=0) or one.has("system_prompt")
    return (
        bool(rules)
        and mine
        and one.near(rules, "void", after=8)
        and (one.has("you", "system_prompt") or _follows_these(one))
    )


def _follows_these(one: Sentence) -> bool:
    return any(
        phrase in one.text for phrase in ("follow", "instead", "obey", "these apply", "all prior", "all previous")
    )


def _plays(one: Sentence) -> bool:
    places = one.orders("pretend")
    if (
        any(one.words[at].text == "pretend" for at in places)
        and "pretend play" not in one.text
        and (_REHEARSED.search(one.text) is None or one.has("role"))
    ):
        return True
    if places and one.near(places, "role", after=8):
        return True
    if _AS_SOMEBODY.search(one.text):
        return True
    return (
        one.has("now_on")
        and one.has("obey")
        and one.has("you", "role", "any")
        and bool(one.orders("obey", "refuse", "send", "show"))
        and (one.has("role", "person", "said_there") or "only" in one.text)
    )


_AS_SOMEBODY = pattern("injection", "as_somebody")
# "Pretend you are the customer when we rehearse": a game that the user plays, too.
_REHEARSED = re.compile(
    r"\bpretend (?:that )?(?:you are|you're|to be) (?:an? |the |my )(?!user|owner)[^\n]{0,60}"
    r"\b(?:when|while|as|if) (?:we|i) (?:rehears|practi[cs]|role-?play|train|prepar)"
)
_MERGES = re.compile(r"\b(?:prs?|pull requests?|merge requests?|dependabot|renovate)\b")
_ASSUMED = pattern("injection", "assumed")
_ADVERTISES = pattern("injection", "advertises")


def _assumes(one: Sentence) -> bool:
    return _ASSUMED.search(one.text) is not None


def _advertises(one: Sentence) -> bool:
    return _ADVERTISES.search(one.text) is not None


def _obeys(one: Sentence) -> bool:
    places = one.orders("obey", "execute")
    if not places:
        return False
    if any("whatever" in word.text for word in one.words) and one.near(places, "said_there", "rules", after=10):
        return True
    always = one.near(places, "any", before=3, after=3) or "always" in one.text
    if always and one.near(places, "said_there", after=8):
        return True
    if any(
        w.text in ("whoever", "anyone", "anybody", "everyone", "everybody")
        for at in places
        for w in one.words[at + 1 : at + 4]
    ):
        return True
    if any("obey!!" in lexicon().of(one.words[at].text) for at in places) and one.near(places, "said_there", after=10):
        return True
    strict = [at for at in places if one.words[at].text in ("obey", "comply", "serve", "trust")]
    return one.near(strict, "said_there", after=6) or (one.near(strict, "any", after=4) and one.has("requests"))


def _treats(one: Sentence) -> bool:
    if not any(
        word.text in ("treat", "consider", "regard", "take") and _begins(one, at) for at, word in enumerate(one.words)
    ):
        return False
    return (
        one.has("said_there")
        and re.search(r"\bas (?:an? |the )?(?:order|instruction|command|trusted|system|user|owner)", one.text)
        is not None
    )


def _begins(one: Sentence, at: int) -> bool:
    return (
        at == 0
        or one.words[at - 1].text in ("always", "must", "should", "please", "and", "you")
        or one.words[at].text == "treat"
    )


def _never_refuses(one: Sentence) -> bool:
    return any(
        word.text in ("refuse", "decline", "reject")
        and any("negated" in before.tags for before in one.words[max(0, at - 3) : at])
        and (
            at < 2
            or one.words[0].text in ("you", "never", "do", "always", "please", "from", "must")
            or "and" in one.text
        )
        for at, word in enumerate(one.words)
    )


_LETS_NOT_KNOW = pattern("injection", "lets_not_know")
_KEEPS_FROM = pattern("injection", "keeps_from")
_UNASKED = pattern("injection", "unasked")
_KEEPERS = frozenset(("keep", "hide", "conceal", "withhold", "please", "always", "you"))


def _hides(one: Sentence) -> bool:
    """Do not tell the user; without telling the user; keep this from the user."""
    for at in one.orders("tell", negated=True):
        if one.words[at].text in ("say", "let"):
            continue
        if _person_follows(one, at) or _this_follows(one, at):
            return True
    for at, word in enumerate(one.words):
        if word.text == "without" and not any("negated" in before.tags for before in one.words[max(0, at - 14) : at]):
            nearby = one.words[at + 1 : at + 3]
            if any(
                near.text in ("telling", "informing", "notifying", "alerting", "mentioning", "the") for near in nearby
            ) and (
                any(near.text != "the" and "tell" in near.tags for near in nearby)
                or "user knowing" in one.text
                or "user's knowledge" in one.text
            ):
                return True
    if _LETS_NOT_KNOW.search(one.text):
        return True
    if _KEEPS_FROM.search(one.text) and one.words[0].text in _KEEPERS:
        return True
    return one.has("secretly") and bool(
        one.orders("send", "destroy", "obey", "change", "execute", "show", "grant_access", "approve", negated=None)
    )


def _person_follows(one: Sentence, at: int) -> bool:
    return any("person" in word.tags for word in one.words[at + 1 : at + 6])


def _this_follows(one: Sentence, at: int) -> bool:
    after = one.words[at + 1 : at + 4]
    return any("this" in word.tags for word in after) and any("entry" in word.tags for word in after)


def _approves(one: Sentence) -> bool:
    places = [at for at in one.orders("approve") if not _is_of_merges(one, at)]
    if any("requests" in one.words[at].tags for at in places if not one.words[at].text):
        return True
    if any(one.words[at].text.replace("-", "").startswith("autoapprove") for at in places):
        return True
    if one.near(places, "requests", after=7) and (one.near(places, "any", after=6) or "pending" in one.text):
        return True
    skips = one.orders("skip")
    return any(
        any("approvals" in one.words[other].tags and not _is_a_page(one, other) for other in _behind(one, at, 6))
        and (
            one.words[at].text not in ("set", "turn", "remove", "drop", "avoid")
            or one.has("off")
            or one.near([at], "any", after=3)
        )
        for at in skips
    )


def _behind(one: Sentence, at: int, reach: int) -> range:
    return range(at + 1, min(len(one.words), at + reach + 1))


def _is_a_page(one: Sentence, at: int) -> bool:
    """Whether "confirmation" and such only says which page or letter is meant."""
    return at + 1 < len(one.words) and one.words[at + 1].text in ("page", "pages", "slide", "slides", "letter", "email")


def _is_of_merges(one: Sentence, at: int) -> bool:
    """Whether "auto-approve is on" tells of how changes to code are merged somewhere."""
    state = at + 1 < len(one.words) and one.words[at + 1].text in ("is", "was")
    return state and not one.has("any") and _MERGES.search(one.text) is not None


def _asks_nobody(one: Sentence) -> bool:
    """Never ask before running; run it without asking."""
    for at, word in enumerate(one.words):
        before = one.words[max(0, at - 3) : at]
        if word.text in ("ask", "prompt", "wait") and any(w.text in ("never", "not", "don't", "dont") for w in before):
            asked = re.search(r"\b(?:before|approval|confirmation|permission|consent)\b", one.text)
            if asked is not None and _doer(one, at):
                return True
        if word.text == "without" and at:
            after = " ".join(w.text for w in one.words[at + 1 : at + 5])
            if not _UNASKED.search(after):
                continue
            if any("negated" in w.tags for w in one.words[max(0, at - 14) : at]):
                continue
            if one.orders("send", "destroy", "obey", "execute", "approve", "change", "grant_access"):
                return True
    return False


def _doer(one: Sentence, at: int) -> bool:
    """Whether "not ask" is an order to the agent and not a wish of somebody: it begins a clause, behind "you" too."""
    first = at
    while first and one.words[first - 1].text in (
        "never",
        "not",
        "do",
        "don't",
        "dont",
        "please",
        "must",
        "should",
        "you",
        "always",
        "ever",
        "policy",
        "new",
    ):
        first -= 1
    return (
        first == 0
        or one.words[first].orders != frozenset()
        or one.words[first].text in ("never", "do", "don't", "dont", "you")
    )


def _leaks(one: Sentence) -> bool:
    shows = one.orders("show")
    return bool(shows) and (
        any("system_prompt" in one.words[at].tags for at in shows)
        or one.near(shows, "system_prompt", after=10, before=10)
        or (
            re.search(r"\b(?:verbatim|word for word)\b", one.text) is not None
            and re.search(r"\b(?:above|before this)\b", one.text) is not None
        )
    )


def _decodes(one: Sentence) -> bool:
    return bool(one.orders("decode")) and one.has("execute")


def _destroys(one: Sentence) -> bool:
    return one.near(one.orders("destroy"), "theirs", after=6)


_RULES = (
    (_overrides, "it tells the agent to set its rules aside"),
    (_declares_void, "it declares the agent's rules void"),
    (_plays, "it gives the agent another role"),
    (_obeys, "it tells the agent to obey what it reads"),
    (_treats, "it tells the agent to obey what it reads"),
    (_never_refuses, "it tells the agent never to refuse"),
    (_hides, "it tells the agent to hide something from the user"),
    (_approves, "it tells the agent to get past approvals"),
    (_asks_nobody, "it tells the agent to act without asking"),
    (_leaks, "it asks for the agent's own instructions"),
    (_decodes, "it has something hidden carried out"),
    (_assumes, "it declares things approved"),
    (_advertises, "it puts a stranger's words into answers"),
    (_destroys, "it orders something destroyed or opened"),
)
