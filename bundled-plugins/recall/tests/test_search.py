"""What is found, in which order, and by whom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atlas_recall.search import MOST_ROWS, Scope
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart
from atlas_sdk.records import Checkpoint, Origin
from atlas_sdk.services.meaning import MEANING, Near
from atlas_sdk.testing.fake_context import START
from atlas_sdk.tools import ToolError

pytestmark = pytest.mark.anyio


async def test_a_message_is_found_with_two_neighbours_on_either_side(library: Any) -> None:
    await library.talk("one", "two", "three", "the kettle whistles", "five", "six", "seven")

    [found] = (await library.search("kettle")).around

    assert found.message.text() == "the kettle whistles"
    assert [message.text() for message in found.before] == ["two", "three"]
    assert [message.text() for message in found.after] == ["five", "six"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("acao", ["A AÇÃO começou"]),
        ("AÇÃO", ["A AÇÃO começou"]),
        ("kettles", ["a red kettle", "the blue kettle boils"]),
        ("kettle NOT red", ["the blue kettle boils"]),
        ('"red kettle"', ["a red kettle"]),
        ("boi*", ["the blue kettle boils"]),
        ("começou OR boils", ["A AÇÃO começou", "the blue kettle boils"]),
        ("nothing-of-it", []),
    ],
)
async def test_words_phrases_prefixes_and_operators_find(library: Any, query: str, expected: list[str]) -> None:
    for text in ("a red kettle", "the blue kettle boils", "A AÇÃO começou", "tea for two"):
        await library.talk(text)

    assert sorted(await library.texts(query)) == sorted(expected)


async def test_when_no_message_holds_every_word_any_of_them_will_do_and_it_is_said(library: Any) -> None:
    await library.talk("the kettle is blue")
    await library.talk("a lamp stands here")
    strict = await library.search("blue kettle")
    loose = await library.search("kettle lamp zebra")

    assert (strict.found.relaxed, [one.hit.complete for one in strict.around]) == (False, [True])
    assert loose.found.relaxed
    assert len(loose.around) == 2


async def test_words_of_a_question_and_its_answer_count_together(library: Any) -> None:
    await library.talk("which city did you like best", "Lisbon, because of its light")
    await library.talk("the city bus is late")
    await library.talk("Lisbon")

    first = (await library.search("city Lisbon")).around[0]

    assert first.hit.complete
    assert "city" in (first.message.text() + "".join(one.text() for one in (*first.before, *first.after)))


async def test_results_are_no_neighbours_of_each_other(library: Any) -> None:
    await library.talk(*["kettle"] * 10)

    rows = [one.hit.row for one in (await library.search("kettle")).around]

    assert all(abs(a - b) > 2 for a in rows for b in rows if a != b)


async def test_who_is_named_counts_as_the_speaker(library: Any) -> None:
    record = await library.talk("hello")
    for name in ("Robin", "Kim"):
        message = Message(
            id=f"{record.id}-{name}",
            conversation=(await library.talk("x")).id,
            parent=None,
            role="user",
            sender=Sender(kind="person", name=name),
            parts=(TextPart(text="I bought a bicycle"),),
            created_at=START,
        )
        await library.store.commit([message])
    answer = await library.search("Which bicycle did Robin buy?")

    assert answer.around[0].message.sender.name == "Robin"


async def test_a_name_alone_finds_the_messages_that_say_it(library: Any) -> None:
    record = await library.talk("good morning", "hello", "a letter came for Robin", "well")
    first, *_ = await library.store.path(record.id)
    await library.store.commit([first.model_copy(update={"sender": first.sender.model_copy(update={"name": "Robin"})})])

    assert await library.texts("Robin") == ["a letter came for Robin"]


async def test_what_one_alternative_rules_out_another_may_hold(library: Any) -> None:
    await library.talk("a red kettle")
    await library.talk("a red pan")
    await library.talk("a blue kettle")

    assert set(await library.texts("kettle NOT red OR pan")) >= {"a red pan", "a blue kettle"}


async def test_what_the_model_reads_anyway_is_not_found(library: Any) -> None:
    await library.talk("a red kettle")
    await library.talk("a blue kettle")

    assert await library.texts("kettle", seen=frozenset({library.ids["a red kettle"]})) == ["a blue kettle"]


async def test_tool_output_is_found_only_when_it_is_asked_for(library: Any) -> None:
    await library.talk("run it", "tool: kettle.log has 3 lines", "done")

    assert await library.texts("kettle") == []
    found = (await library.search("kettle", roles=frozenset({"tool"}))).around
    assert [one.message.role for one in found] == ["tool"]


async def test_roles_times_and_left_out_conversations_filter(library: Any) -> None:
    old = await library.talk("kettle old", "kettle answered", at=START - timedelta(days=30))
    new = await library.talk("kettle new")

    assert await library.texts("kettle", after=(START - timedelta(days=1)).timestamp()) == ["kettle new"]
    assert "kettle new" not in await library.texts("kettle", before=(START - timedelta(days=1)).timestamp())
    assert await library.texts("kettle", exclude=frozenset({old.id})) == ["kettle new"]
    assert await library.texts("kettle", roles=frozenset({"assistant"})) == ["kettle answered"]
    assert await library.texts("kettle", only=new.id) == ["kettle new"]


async def test_a_time_is_the_first_after_it_and_the_first_not_before_it(library: Any) -> None:
    await library.talk("well", "kettle", at=START)
    said = (START + timedelta(minutes=1)).timestamp()

    assert await library.texts("kettle", after=said) == ["kettle"]
    assert await library.texts("kettle", before=said) == []


async def test_in_one_conversation_all_its_messages_are_looked_through(library: Any) -> None:
    record = await library.talk("one", "two", "three", "four", "five", "six", "the last kettle")
    await library.talk("another kettle")

    assert await library.texts("kettle", only=record.id) == ["the last kettle"]


async def test_a_month_in_the_question_prefers_what_was_said_then(library: Any) -> None:
    for year in (2023, 2024):
        await library.talk(f"planted roses, {year - 2000}", at=datetime(year, 6, 3, tzinfo=UTC))

    assert (await library.texts("what was planted in June 2023"))[0] == "planted roses, 23"


async def test_a_day_in_the_question_prefers_what_was_said_on_it(library: Any) -> None:
    for day in (3, 4, 5):
        await library.talk(f"planted roses on the {day}.", at=datetime(2023, 6, day, tzinfo=UTC))

    assert (await library.texts("what was planted on 4 June 2023"))[0] == "planted roses on the 4."


async def test_what_tells_comes_before_what_asks(library: Any) -> None:
    await library.talk("my kettle is copper")
    await library.talk("where is my kettle?")

    assert (await library.texts("kettle"))[0] == "my kettle is copper"


async def test_what_was_found_can_be_sorted_by_time(library: Any) -> None:
    for day in (3, 1, 2):
        await library.talk(f"kettle {day}", at=START + timedelta(days=day))

    newest = [one.message.text() for one in (await library.search("kettle", newest=True)).around]

    assert newest == ["kettle 3", "kettle 2", "kettle 1"]
    oldest = (await library.search("kettle", newest=False)).around[0]
    assert oldest.message.text() == "kettle 1"


async def test_an_exact_title_is_named_first_and_its_words_find_it_too(library: Any) -> None:
    record = await library.talk("hello", title="Ação no Jardim")
    await library.talk("the jardim is green")
    exact = await library.search("ação  no jardim")
    words = await library.search("acao jardim")

    assert (exact.titled[0].id, exact.found.exact) == (record.id, True)
    assert (words.titled[0].id, words.found.exact) == (record.id, False)


async def test_what_is_ruled_out_is_not_named_by_its_title_either(library: Any) -> None:
    await library.talk("the kettle is red", "it is", title="Kettles and pans")
    await library.talk("hello", title="A red kettle")
    blue = await library.talk("the lid is blue", title="Kettle lids")
    either = (await library.search("kettle NOT red OR pans")).titled

    assert [one.id for one in (await library.search("kettle* NOT red")).titled] == [blue.id]
    assert {one.title for one in either} == {"Kettle lids", "Kettles and pans"}


async def test_a_title_is_held_to_the_scope_too(library: Any) -> None:
    mine = await library.talk("one", title="Red kettle")
    other = await library.talk("two", title="Blue kettle")

    async def titles(**scope: Any) -> list[str]:
        return [record.id for record in (await library.search("kettle", **scope)).titled]

    assert await titles() == [other.id, mine.id]
    assert await titles(current=mine.id) == [other.id]
    assert await titles(exclude=frozenset({other.id})) == [mine.id]
    assert await titles(only=mine.id) == [mine.id]


async def test_the_one_whose_title_is_the_query_comes_first(library: Any) -> None:
    await library.talk("the red kettle")
    named = await library.talk(
        "well", "a red one and a kettle beside it, among much else that was said", title="red kettle"
    )
    await library.talk("a red kettle indeed")
    around = (await library.search("red kettle")).around

    assert around[0].conversation.id == named.id


async def test_a_new_title_is_found_and_the_old_one_is_not(library: Any) -> None:
    record = await library.talk("hello", title="Before")
    await library.search("x")
    await library.store.commit([record.model_copy(update={"title": "After"})])

    assert (await library.search("after")).titled[0].id == record.id
    assert (await library.search("before")).titled == ()


async def test_a_bots_agent_finds_only_its_own_conversations(library: Any) -> None:
    mine = await library.talk("kettle of the bot", agent="bot", title="kettle")
    await library.talk("kettle of the user", title="kettle")
    asking = await library.talk("hm", agent="bot")
    scope = await library.recall.scope_of(asking.id, Scope())
    answer = await library.recall.search("kettle", scope, 10)

    assert [one.conversation.id for one in answer.around] == [mine.id]
    assert [record.id for record in answer.titled] == [mine.id]
    assert len((await library.search("kettle")).around) == 2


async def test_where_a_guest_spoke_only_that_conversation_is_found(library: Any) -> None:
    await library.talk("kettle of the owner", title="kettle")
    asking = await library.talk("kettle?", "The kettle.")
    guest = Message(
        id=new_id(),
        parent=None,
        conversation=asking.id,
        role="user",
        sender=Sender(kind="person", id="7"),
        parts=(TextPart(text="what kettle?", trust="guest"),),
        created_at=START,
    )
    assert (await library.recall.scope_of(asking.id, Scope())).only == ""
    await library.store.commit([guest])
    helper = await library.talk("go", cause=guest.id, origin=Origin(kind="subagent"))

    for one in (asking, helper):
        answer = await library.recall.search("kettle", await library.recall.scope_of(one.id, Scope()), 10)
        assert (answer.around, answer.titled) == ((), ())


async def test_a_job_finds_no_conversation_but_its_own(library: Any) -> None:
    owners = await library.talk("kettle of the owner", title="kettle")
    job = await library.talk("kettle of the job", origin=Origin(kind="routine", name="daily"))

    assert "kettle of the owner" not in await library.tool(job.id, query="kettle")
    assert "There is no other conversation" in await library.tool(job.id)
    for arguments in ({"conversation_id": owners.id}, {"conversation_id": owners.id, "query": "kettle"}):
        with pytest.raises(ToolError, match="no conversation"):
            await library.tool(job.id, **arguments)


async def test_a_bots_common_word_is_found_behind_many_of_others(library: Any) -> None:
    await library.talk("kettle of the bot", agent="bot")
    await library.search("x")

    def crowd(transaction: Any) -> None:
        transaction.run("UPDATE recall_count SET messages = messages + :n", n=MOST_ROWS)
        transaction.run(
            """WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :most)
            INSERT INTO recall_text (rowid, body) SELECT (900 << 20) + i, 'kettle' FROM n""",
            most=MOST_ROWS,
        )

    await library.store.write(crowd)

    assert await library.texts("kettle", agent="bot") == ["kettle of the bot"]


async def test_a_reviews_copy_is_never_found(library: Any) -> None:
    await library.talk("kettle of a review", origin=Origin(kind="review"))

    assert await library.texts("kettle") == []


async def test_the_current_conversation_is_found_only_where_it_was_archived(library: Any) -> None:
    record = await library.talk("kettle early", "ok", "kettle late", "yes")
    path = await library.store.path(record.id)
    scope = await library.recall.scope_of(record.id, Scope())

    assert (await library.recall.search("kettle", scope, 5)).around == ()

    summary = path[0].model_copy(update={"id": "0-summary", "parts": (TextPart(text="a kettle was spoken of"),)})
    point = Checkpoint(
        id="p", conversation=record.id, first=path[0].id, last=path[1].id, summary=summary.id, created_at=START
    )
    await library.store.commit([summary, point])
    scope = await library.recall.scope_of(record.id, Scope())
    found = (await library.recall.search("kettle", scope, 5)).around

    assert [one.message.text() for one in found] == ["kettle early"]
    assert len((await library.search("kettle")).around) == 1  # the summary stands for what is found anyway


async def test_meaning_finds_what_no_word_does(library: Any) -> None:
    await library.talk("we went by automobile")
    await library.talk("the car is red")

    class Nearest:
        async def nearest(self, text: str, *, limit: int = 200, conversations: Any = None) -> tuple[Near, ...]:
            found = library.ids["we went by automobile"]
            return (Near(message=found, likeness=0.9), Near(message="nobody", likeness=0.8))

    library.ctx.services.offer(MEANING.by(Nearest()))

    assert set(await library.texts("car")) == {"we went by automobile", "the car is red"}
    assert await library.texts("vehicles") == ["we went by automobile"]


async def test_what_is_near_in_meaning_is_held_to_the_query_and_the_scope_too(library: Any) -> None:
    await library.talk("the car is red")
    await library.talk("we went by automobile")
    await library.talk("an old automobile", agent="bot")

    class All:
        async def nearest(self, text: str, *, limit: int = 200, conversations: Any = None) -> tuple[Near, ...]:
            return tuple(Near(message=id, likeness=3.0 - place) for place, id in enumerate(library.ids.values()))

    library.ctx.services.offer(MEANING.by(All()))

    assert await library.texts("car NOT automobile") == ["the car is red"]
    assert await library.texts("vehicle", agent="bot") == ["an old automobile"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(
                [
                    '"',
                    "*",
                    "(",
                    ")",
                    "NOT",
                    "OR",
                    "AND",
                    "NEAR",
                    "^",
                    "-",
                    ":",
                    "'",
                    "kettle",
                    "red*",
                    "\x00",
                    "é",
                    "{",
                    "+",
                ]
            ),
            max_size=12,
        ).map(" ".join),
    )
)
async def test_every_odd_query_is_answered(library: Any, query: str) -> None:
    if not library.ids:
        await library.talk("a red kettle", "tool: a kettle", title="kettle")
    answer = await library.search(query, roles=frozenset({"user", "assistant", "tool"}))

    assert answer.found is not None
    assert await library.tool(query=query)
