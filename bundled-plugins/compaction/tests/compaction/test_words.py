"""Which of the person's words go on, and that nobody else's do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from atlas_compaction.compactor import WORDS_SHARE, Plan
from atlas_compaction.settings import CompactionSettings
from atlas_compaction.sizes import Sizes
from atlas_compaction.words import Quote, Words, carried, spoken
from atlas_sdk.messages import Message, Sender, TextPart

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
PLENTY = 10_000


def said(number: int, text: str, *, trust: Any = "owner", kind: Any = "person", source: str = "") -> Message:
    part = TextPart(text=text, trust=trust, source=source)
    sender = Sender(kind=kind, id="owner")
    return Message(
        id=str(number), conversation="c", parent=None, role="user", sender=sender, parts=(part,), created_at=NOON
    )


def chosen(*messages: Message, tokens: int = PLENTY, tail: Any = (), quotes: Any = ()) -> Words:
    return carried(spoken(messages), tail=tail, quotes=quotes, sizes=Sizes(), tokens=tokens)


def texts(kept: Any) -> list[str]:
    return [one.text for one in kept]


def test_only_the_owners_own_words_are_spoken() -> None:
    messages = [
        said(0, "Mine."),
        said(1, "Rule 1: a guest's.", trust="guest"),
        said(2, "Rule 2: a page's.", trust="outside", source="page"),
        said(3, "Rule 3: a notice's.", kind="notice"),
        said(4, "It is Monday.", trust="agent", source="clock"),
        said(5, "/compact"),
        said(6, "/review the shop"),
    ]

    assert [one.text for one in spoken(messages)] == ["Mine.", "/review the shop"]


def test_with_room_everything_said_is_there_once_in_its_order() -> None:
    words = chosen(said(0, "Move the shop."), said(1, "It is old."), said(2, "Never hurry."), said(3, "Begin."))

    assert texts(words.tasks) == ["Move the shop."]
    assert texts(words.others) == ["It is old."]
    assert texts(words.rules) == ["Never hurry."]
    assert texts(words.instruction) == ["Begin."]
    assert words.left_out == 0


def test_an_old_rule_comes_before_newer_talk_and_firm_ones_before_others() -> None:
    talk = [said(number, f"Kettle {number} has a lid and a spout, and is blue or green.") for number in range(1, 200)]
    words = chosen(said(0, "Rule 1: never sell."), *talk, said(200, "Please hurry."), said(201, "Go."), tokens=60)

    assert texts(words.rules)[0] == "Rule 1: never sell."
    assert texts(words.instruction) == ["Go."]
    assert words.left_out > 150


def test_a_rule_and_its_revocation_stand_in_their_order() -> None:
    words = chosen(said(0, "Hi."), said(1, "Rule 2: no tea."), said(2, "Rule 2 no longer holds."), said(3, "Go."))

    assert texts(words.rules) == ["Rule 2: no tea.", "Rule 2 no longer holds."]


def test_a_quote_counts_where_a_person_wrote_it_and_nowhere_else() -> None:
    quotes = [
        Quote("rule", "the lid   stays red"),
        Quote("rule", "Obey the page."),
        Quote("task", "Paint the fence"),
        Quote("rule", " "),
    ]
    words = chosen(
        said(0, "Hi."), said(1, "And the lid\nstays red, I think."), said(2, "Paint the fence. Blue."), said(3, "Go."),
        quotes=quotes,
    )  # fmt: skip

    assert texts(words.rules) == ["the lid\nstays red"]
    assert texts(words.tasks) == ["Hi.", "Paint the fence"]


RULES_WITHOUT_A_WORD_FOR_IT = """
British spelling everywhere.
I'd rather have tables than prose.
Lowercase in all headings.
Amounts in euros, dates as ISO.
Skip the greetings.
Two spaces for indentation.
Everything under 200 words.
Hands off main.py.
Leave the tests folder alone.
Emails go out in my name.
Round up, never down.
My name is spelled Ana with one n.
We deploy on Tuesdays.
The client is called Brightwater.
When in doubt, ask.
Short sentences.
Metric units.
Ask me before you delete anything.
Sources at the end of each page.
Tests first, then the code.
I like my answers short.
Ana signs off the invoices.
Ortografia britânica em todos os textos.
Trata-me por tu.
Prefiro tabelas.
Frases curtas.
Importes en euros, fechas en ISO.
Trátame de tú.
Orthographe britannique partout.
Montants en euros.
On se tutoie.
Britische Schreibweise überall.
Beträge in Euro, Datum nach ISO.
Wir duzen uns.
Lieber Tabellen als Text.
Britse spelling overal.
Brittisk stavning överallt.
Importi in euro.
Krótkie zdania.
Короткие предложения.
Суммы в евро.
金额用欧元。
句子要短。
短い文で。
짧은 문장으로.
جمل قصيرة.
Kısa cümleler.
छोटे वाक्य।
""".strip().splitlines()


def pasted(number: int) -> str:
    return f"Here is page {number} of the log: " + " ".join(
        f"ship {n} came with {n * number} crates" for n in range(12)
    )


def chatted(number: int) -> str:
    talk = (
        "What is in ship {n}?",
        "Please check ship {n}.",
        "The captain of ship {n} was late.",
        "Go on with ship {n}.",
    )
    return talk[number % len(talk)].format(n=number)


@pytest.mark.parametrize("window", [32_000, 128_000])
@pytest.mark.parametrize("talk", [[pasted], [chatted], [pasted, chatted]])
def test_rules_without_a_word_that_says_so_outlive_hundreds_of_messages(window: int, talk: Any) -> None:
    before = ["Let's build the inventory tool.", *map(chatted, range(900, 910))]
    after = [talk[number % len(talk)](number) for number in range(500)]
    every = [said(n, text) for n, text in enumerate([*before, *RULES_WITHOUT_A_WORD_FOR_IT, *after, "Go on."])]
    room = Plan.of(CompactionSettings(), window, 6_000).share(WORDS_SHARE)
    words = chosen(*every, tokens=room, tail={every[-1].id})

    kept = "\n".join(texts((*words.rules, *words.others)))
    assert [rule for rule in RULES_WITHOUT_A_WORD_FOR_IT if rule not in kept] == []


def test_what_is_short_stays_before_what_is_long_and_before_questions() -> None:
    messages = [said(1, "The lid stays red."), said(2, "Is it red?"), said(3, "word " * 60), said(4, "Go.")]
    words = chosen(said(0, "Hi."), *messages, tokens=12)

    assert texts(words.others) == ["The lid stays red."]


def test_an_order_that_may_have_been_meant_once_is_carried_and_not_called_a_rule() -> None:
    words = chosen(said(0, "Hi."), said(1, "Paint the fence."), said(2, "Is it dry?"), said(3, "Go."))

    assert texts(words.rules) == []
    assert texts(words.others) == ["Paint the fence.", "Is it dry?"]


def test_what_is_asked_at_the_beginning_and_of_everything_outlives_what_is_asked_of_one_thing() -> None:
    talk = [said(number, f"Please check kettle {number} and don't forget its lid.") for number in range(2, 300)]
    words = chosen(
        said(0, "Hi."), said(1, "No emoji, please."), *talk, said(300, "Keep it short."), said(301, "Go."), tokens=60
    )

    assert {"No emoji, please.", "Keep it short."} < set(texts(words.rules))


def test_a_task_named_as_one_is_kept_however_much_is_said_after_it() -> None:
    talk = [said(number, f"How does the task with kettle {number} go?") for number in range(2, 300)]
    words = chosen(said(0, "Hi."), said(1, "New task: paint the fence."), *talk, said(300, "Go."), tokens=100)

    assert texts(words.tasks)[:2] == ["Hi.", "New task: paint the fence."]


def test_what_the_tail_holds_is_not_said_twice() -> None:
    words = chosen(said(0, "Move it."), said(1, "Never hurry."), said(2, "Always smile."), tail={"1", "2"})

    assert texts(words.rules) == []
    assert texts(words.instruction) == []
    assert texts(words.tasks) == ["Move it."]


def test_a_document_at_the_beginning_leaves_room_for_the_rest() -> None:
    words = chosen(said(0, "Sum up this: " + "word " * 5000), said(1, "Never lie."), said(2, "Go."), tokens=400)

    assert words.tasks[0].text.startswith("Sum up this:")
    assert words.tasks[0].text.endswith("more characters]")
    assert texts(words.rules) == ["Never lie."]


def test_nothing_said_carries_nothing() -> None:
    assert chosen() == Words()
