"""Who may talk: codes, strangers, guesses, and what is kept of somebody nobody knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from atlas_channels.pairing import ALPHABET, GUESSES_MOST, Pairing, shown_name
from atlas_channels.schema import SCHEMA
from atlas_sdk.channels import Inbound
from atlas_sdk.errors import NotFoundError, RefusedError
from atlas_sdk.homes import Home
from atlas_sdk.services.conversations import CONVERSATIONS
from atlas_sdk.services.pairing import PAIRING
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.fake_context import FakeClock
from atlas_sdk.testing.fakes import FakeContext, FakeFileChannel

from .conftest import Open, World, let_in, replies

pytestmark = pytest.mark.anyio


@pytest.fixture
async def pairing(atlas_context: FakeContext) -> Pairing:
    await atlas_context.services.need(STORE).migrate("channels", SCHEMA)
    return Pairing(atlas_context, lambda channel: None, lambda channel, chat: None)


def from_(user: str, *, name: str = "", text: str = "secret words") -> Inbound:
    return Inbound(chat=f"chat-{user}", user=user, name=name or user.capitalize(), text=text)


async def code_of(pairing: Any, user: str) -> str:
    return next(str(one.code) for one in await pairing.list() if one.user == user)


async def test_a_stranger_is_told_how_to_pair_and_their_words_are_kept_nowhere(
    open_home: Open, world: World, channel: FakeFileChannel, atlas_home: Home
) -> None:
    async with open_home() as app:
        await channel.says("the password is hunter2", user="eve")
        await channel.says("/new", user="eve")
        await channel.until(lambda: len(channel.chat("eve").texts) == 2)
        found = await app.services.need(CONVERSATIONS).list()
        (person,) = await app.services.need(PAIRING).list()

    assert found == ()
    assert all(person.code in text for text in channel.chat("eve").texts)
    assert not any("hunter2" in line for line in sqlite3.connect(atlas_home.folder / "atlas.db").iterdump())
    assert world.model.requests == []


async def test_whoever_is_let_in_is_told_so_and_answered(
    open_home: Open, world: World, channel: FakeFileChannel
) -> None:
    world.model.add("Hello.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Hi.")
        await channel.until_shown("ada", "Hello.")
        await channel.says("Hi, too.", user="eve")
        await channel.until_shown("eve", "Your code is")

    assert replies(channel) == ["Hello."]
    assert len(world.model.requests) == 1


async def test_a_stranger_in_a_group_is_not_answered(open_home: Open, channel: FakeFileChannel) -> None:
    async with open_home() as app:
        await channel.says("Hi.", user="eve", chat="everybody", group=True)
        assert await app.services.need(PAIRING).list() == ()

    assert channel.chat("everybody").texts == []


async def test_somebody_forgotten_is_a_stranger_again(open_home: Open, world: World, channel: FakeFileChannel) -> None:
    world.model.add("Hello.")
    async with open_home() as app:
        await let_in(app, channel, "ada")
        await channel.says("Hi.")
        await channel.until_shown("ada", "Hello.")
        (conversation,) = await app.services.need(CONVERSATIONS).list()
        await app.services.need(PAIRING).forget("fake", "ada")
        world.model.add("A secret.")
        await app.services.need(CONVERSATIONS).notify(conversation.id, "News.", source="test")
        await app.services.need(CONVERSATIONS).wait(conversation.id)
        await channel.says("Hi?")
        await channel.until(lambda: len(replies(channel)) == 2)

    assert "Your code is" in replies(channel)[1]
    assert "A secret." not in "".join(replies(channel))


async def test_a_code_is_eight_characters_nobody_takes_for_others(pairing: Pairing) -> None:
    said = await pairing.meet("fake", from_("ada"))
    code = await code_of(pairing, "ada")

    assert len(code) == 8
    assert set(code) <= set(ALPHABET)
    assert not set("ILO01") & set(ALPHABET)
    assert code in said
    assert await code_of(pairing, "ada") not in (await pairing.meet("fake", from_("bob")))


async def test_a_code_is_typed_as_people_type(pairing: Pairing) -> None:
    await pairing.meet("fake", from_("ada"))
    code = await code_of(pairing, "ada")

    person = await pairing.approve(f" {code[:4].lower()}-{code[4:]} ")

    assert (person.user, person.name, person.code) == ("ada", "Ada", "")
    assert await pairing.allows("fake", "ada")
    assert not await pairing.allows("other", "ada")
    assert not await pairing.allows("fake", "Ada")
    with pytest.raises(NotFoundError):
        await pairing.approve(code)


async def test_a_code_lasts_an_hour(pairing: Pairing, atlas_clock: FakeClock) -> None:
    await pairing.meet("fake", from_("ada"))
    code = await code_of(pairing, "ada")
    atlas_clock.advance(hours=1)

    assert await pairing.list() == ()
    with pytest.raises(NotFoundError):
        await pairing.approve(code)


async def test_three_wait_at_a_time_and_a_fourth_hears_nothing(pairing: Pairing, atlas_clock: FakeClock) -> None:
    for user in ("ada", "bob", "cyd"):
        assert await pairing.meet("fake", from_(user))

    assert await pairing.meet("fake", from_("dan")) == ""
    assert await pairing.meet("other", from_("dan")) != ""
    atlas_clock.advance(hours=1)
    assert await pairing.meet("fake", from_("dan")) != ""


async def test_a_waiting_place_is_freed_by_its_owner(pairing: Pairing) -> None:
    for user in ("ada", "bob", "cyd"):
        await pairing.meet("fake", from_(user))
    await pairing.forget("fake", "bob")

    assert await pairing.meet("fake", from_("dan")) != ""
    with pytest.raises(NotFoundError):
        await pairing.forget("fake", "bob")


async def test_a_stranger_who_goes_on_writing_is_not_answered_for_ever(pairing: Pairing) -> None:
    said = [await pairing.meet("fake", from_("eve")) for _ in range(50)]

    assert sum(1 for one in said if one) == 5
    assert len({one for one in said if one}) == 1


async def test_codes_that_are_guessed_at_are_void(pairing: Pairing) -> None:
    await pairing.meet("fake", from_("ada"))
    code = await code_of(pairing, "ada")
    for _ in range(GUESSES_MOST - 1):
        with pytest.raises(NotFoundError):
            await pairing.approve("AAAAAAAA")
    with pytest.raises(RefusedError):
        await pairing.approve("")

    with pytest.raises(NotFoundError):
        await pairing.approve(code)
    assert not await pairing.allows("fake", "ada")
    assert await pairing.meet("fake", from_("ada")) != ""


async def test_guesses_are_counted_across_restarts(pairing: Pairing, atlas_context: FakeContext) -> None:
    await pairing.meet("fake", from_("ada"))
    for number in range(GUESSES_MOST):
        again = Pairing(atlas_context, lambda channel: None, lambda channel, chat: None)
        with pytest.raises(RefusedError if number == GUESSES_MOST - 1 else NotFoundError):
            await again.approve("WRONG")


async def test_wrong_codes_of_yesterday_count_no_more(pairing: Pairing, atlas_clock: FakeClock) -> None:
    for _ in range(GUESSES_MOST - 1):
        with pytest.raises(NotFoundError):
            await pairing.approve("WRONG")
    atlas_clock.advance(hours=1)

    with pytest.raises(NotFoundError):
        await pairing.approve("WRONG")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("Ada", "Ada"), ("A\nB\x1b[31m\u202e", "A B [31m"), ("  ", ""), ("x" * 500, "x" * 64), ("Grüße 猫", "Grüße 猫")],
)
def test_a_name_cannot_pretend_to_be_more(name: str, shown: str) -> None:
    assert shown_name(name) == shown


def test_the_commands_do_what_they_say(run_pairing: Callable[..., Any]) -> None:
    said = run_pairing("list")
    code = said.output.split()[-1]

    assert "Ada" in said.output
    assert run_pairing("approve", "WRONG").exit_code == 1
    assert run_pairing("approve", code).output == "Ada (ada) may talk to Atlas on fake.\n"
    assert "a guest" not in run_pairing("list").output
    assert '"since"' in run_pairing("list", "--json").output
    assert run_pairing("forget", "fake", "ada").output == "ada may no longer talk to Atlas on fake.\n"
    assert run_pairing("list").output.startswith("Nobody was let in yet.")
