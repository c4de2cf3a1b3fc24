"""The commands, against an open home: what they print, as text and as JSON, and how they end."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import anyio.from_thread
import anyio.to_thread
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from atlas_memory_facts import claims, cli, facts
from atlas_memory_facts.admission import reviewed
from atlas_memory_facts.cli import FEW
from atlas_memory_facts.facts import Source
from atlas_memory_facts.outcome import cost
from atlas_memory_facts.scopes import OWNER, Who
from atlas_sdk.errors import ExitCode, MisuseError, NotFoundError
from atlas_sdk.services.conversations import CONVERSATIONS, ConversationChange
from atlas_sdk.services.store import STORE
from atlas_sdk.testing.model_script import Failure, Reply, ScriptedUsage

from .conftest import QUIET, Model, OpenApp, ask, keep, operations, start, system_of, turn

pytestmark = pytest.mark.anyio
ME = Who("main", OWNER, "talk")
SOURCE = Source("one", "review", "telegram")


class Terminal:
    """A terminal that is connected to an open app."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def connect(self) -> Terminal:
        return self

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def request(self, method: str, params: dict[str, Any], *, timeout: float | None = 60.0) -> Any:
        return anyio.from_thread.run(partial(ask, self._app, method, **params))


async def run(app: Any, *arguments: str, typed: str = "") -> Result:
    """Run a command as the terminal does."""
    root = typer.Typer()
    root.command("review")(cli.review)
    root.command("restore")(cli.restore)
    root.add_typer(cli.resource, name="resource")
    invoke = partial(CliRunner().invoke, root, list(arguments), obj=Terminal(app), input=typed)
    return await anyio.to_thread.run_sync(invoke)


async def test_a_review_says_what_it_did_in_each_conversation(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        here = await start(app)
        model.provider.add("Good.")
        await turn(app, here, "I live in Porto. Call me boss.")
        waiting = await run(app, "review")
        city = {"op": "add", "category": "identity", "key": "city", "value": "Lives in Porto."}
        secret = {"op": "add", "category": "context", "key": "key", "value": "sk-proj-" + "a1B2" * 12}
        model.provider.add(operations(city, secret))
        done = await run(app, "review", "--now", "--agent", "main", "--owner", "owner")
        nothing = await run(app, "review", "--now")
        model.provider.add("Good.", "I saved it!")
        await turn(app, here, "Hi.")
        failed = await run(app, "review", "--now", "--json")

    assert (
        waiting.stdout == "“I live in Porto. Call me boss.” (main): reviews are off; --now reviews it all the same.\n"
    )
    assert done.stdout.startswith(
        "“I live in Porto. Call me boss.” (main): 1 message read, 1 added.\n"
        "  added: Lives in Porto. (identity)\n"
        "  not kept: 'key' (context): It holds a secret"
    )
    assert nothing.stdout == "Nothing new was said since the last review.\n"
    assert (failed.exit_code, json.loads(failed.stdout)[0]["how"]) == (1, "failed")


async def test_what_was_replaced_and_archived_is_said(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        here = await start(app)
        city, tea = await keep(
            app,
            [
                reviewed(ME, "identity", "city", "Lives in Porto.", confidence=1, source=SOURCE),
                reviewed(ME, "preference", "tea", "Likes tea.", confidence=1, source=SOURCE),
            ],
        )
        model.provider.add("Good.")
        await turn(app, here, "I moved to Lisbon, and drink coffee.")
        moved = {"op": "replace", "id": city, "value": "Lives in Lisbon."}
        model.provider.add(operations(moved, {"op": "archive", "id": tea}))
        done = await run(app, "review", "--now", "--conversation", "last")

    assert done.stdout == (
        "“I moved to Lisbon, and drink coffee.” (main): 1 message read, 1 replaced, 1 archived.\n"
        "  archived: Likes tea. (preference)\n"
        "  replaced: Lives in Porto. → Lives in Lisbon. (identity)\n"
    )


async def test_it_says_when_more_is_left_to_read(opened: OpenApp, model: Model) -> None:
    async with opened(config=QUIET + "review_max_messages = 1\n") as app:
        here = await start(app)
        for text in ("Hi.", "Hello."):
            model.provider.add("Good.")
            await turn(app, here, text)
        model.provider.add("Nothing to save.", "Nothing to save.")
        said = [(await run(app, "review", "--now")).stdout for _ in range(2)]

    assert said == [
        "“Hi.” (main): 1 message read, nothing to save.\n"
        "  more is left to read: atlas memory review --now goes on, and so does the next turn there\n",
        "“Hi.” (main): 1 message read, nothing to save.\n",
    ]


async def talks(app: Any, model: Model, many: int) -> None:
    for number in range(many):
        model.provider.add("Good.")
        await turn(app, await start(app), f"Word {number}.")


async def test_without_a_terminal_all_that_wait_are_reviewed_and_it_says_how_far_it_is_and_what_it_took(
    opened: OpenApp, model: Model
) -> None:
    async with opened() as app:
        await talks(app, model, FEW + 1)
        reply = Reply(("Nothing to save.",), usage=ScriptedUsage(input=1_000, output=10))
        model.provider.add(*[reply] * (FEW + 1))
        done = await run(app, "review", "--now")

    assert done.exit_code == ExitCode.DONE
    assert done.stdout.count("nothing to save.") == FEW + 1
    assert f"{FEW + 1} conversations wait: as many calls of a model, about " in done.stderr
    assert f"2 of {FEW + 1}: " in done.stderr
    assert done.stderr.endswith(f"{FEW + 1} reviews: {1_010 * (FEW + 1):,} tokens, at a price that is not known.\n")


@pytest.mark.parametrize(
    ("answer", "arguments", "called"), [("n", (), 0), ("y", (), FEW + 1), ("", ("--yes",), FEW + 1)]
)
async def test_on_a_terminal_more_than_a_few_are_asked_about_first(
    opened: OpenApp, model: Model, monkeypatch: pytest.MonkeyPatch, answer: str, arguments: tuple[str, ...], called: int
) -> None:
    monkeypatch.setattr("typer.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    async with opened() as app:
        await talks(app, model, FEW + 1)
        model.provider.add(*["Nothing to save."] * called)
        done = await run(app, "review", "--now", *arguments, typed=answer)

    assert len(model.asked("memory_review")) == called
    assert done.exit_code == (ExitCode.DONE if called else ExitCode.FAILED)
    assert ("Review them?" in done.stderr) == (not arguments)


@pytest.mark.parametrize(("dollars", "said"), [((0.001, 0.002), "$0.0030"), ((0.001, None), "not known")])
def test_a_price_is_said_where_all_are_known(dollars: tuple[float | None, ...], said: str) -> None:
    took = cost([{"how": "reviewed", "tokens": 500, "dollars": one} for one in dollars])

    assert took.startswith("2 reviews: 1,000 tokens, ")
    assert said in took


async def test_it_stops_where_no_model_answers(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        await talks(app, model, 3)
        model.provider.add(Failure("no_credit"))
        stopped = await run(app, "review", "--now")
        called = len(model.asked("memory_review"))

    assert called == 1
    assert stopped.stdout.count("failed.") == 1
    assert str(stopped.exception) == (
        "No model answered, so 2 conversations were left as they are. Try again: atlas memory review."
    )


async def test_it_stops_after_three_reviews_in_a_row_that_failed(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        await talks(app, model, 6)
        model.provider.add("I saved it!", "Nothing to save.", *["I saved it!"] * 3)
        stopped = await run(app, "review", "--now")
        called = len(model.asked("memory_review"))

    assert called == 5
    assert str(stopped.exception) == (
        "3 reviews in a row failed, so 1 conversation was left as they are. "
        "Try again later, or with another model: atlas memory review --now."
    )


async def test_a_conversation_is_named_by_its_title(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        here = await start(app)
        model.provider.add("Good.", "Nothing to save.")
        await turn(app, here, "I live in Porto.")
        await app.services.need(CONVERSATIONS).change(here, ConversationChange(title="Where I live"))
        rows = (await ask(app, "memory.unreviewed"))["conversations"]
        done = await run(app, "review", "--now")

    assert [(one["id"], one["title"]) for one in rows] == [(here, "Where I live")]
    assert done.stdout == "“Where I live” (main): 1 message read, nothing to save.\n"


async def test_now_that_meets_a_review_under_way_says_so_and_ends_as_busy(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        here = await start(app)
        model.provider.add("Good.")
        await turn(app, here, "I live in Porto.")
        now = system_of(app).ctx.clock.now()
        claim = await app.services.need(STORE).write(lambda view: claims.claim(view, "main", here, now))
        busy = await run(app, "review", "--now")
        await app.services.need(STORE).write(lambda view: claims.let_go(view, claim))
        model.provider.add("Nothing to save.")
        done = await run(app, "review", "--now")

    assert busy.exit_code == ExitCode.SERVER
    assert "it is being reviewed at the moment" in busy.stdout
    assert done.exit_code == ExitCode.DONE


async def test_archived_facts_are_listed_and_one_is_brought_back(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        (id,) = await keep(app, [reviewed(ME, "identity", "city", "Lives in Porto.", confidence=1, source=SOURCE)])
        none = await run(app, "restore")
        now = system_of(app).ctx.clock.now()
        await system_of(app).shelf.write(
            lambda transaction: facts.archive(transaction, id, by="review", reason="no longer so", now=now),
            touched=lambda _: [id],
        )
        listed = await run(app, "restore")
        done = await run(app, "restore", id)
        again = await run(app, "restore", id)
        rows = await run(app, "restore", "--json")

    assert none.stdout == "No facts are archived.\n"
    assert listed.stdout == f"{id}  2026-03-02  identity    Lives in Porto. (no longer so)\n"
    assert done.stdout == "In use again: Lives in Porto.\n"
    assert again.stdout == "It is in use: Lives in Porto.\n"
    assert json.loads(rows.stdout) == []


async def test_versions_are_listed_shown_compared_and_put_back(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        empty = await run(app, "resource", "list")
        for city in ("Porto", "Lisbon"):
            await keep(app, [reviewed(ME, "identity", "city", f"Lives in {city}.", confidence=1, source=SOURCE)])
        listed = await run(app, "resource", "list")
        history = await run(app, "resource", "history", "user_md", "--limit", "1")
        shown = await run(app, "resource", "show", "user_md", "1")
        diff = await run(app, "resource", "diff", "user_md", "1", "2")
        same = await run(app, "resource", "diff", "user_md", "2", "2")
        back = await run(app, "resource", "rollback", "user_md", "1")
        wrong = await run(app, "resource", "show", "soul", "1")

    assert empty.stdout.startswith("There are no prompt files yet.")
    assert listed.stdout == "user_md     main          version 2, 2026-03-02  memory/main/USER.md\n"
    assert history.stdout == "   2  2026-03-02 09:30  facts changed\n"
    assert shown.stdout.endswith("- Lives in Porto.\n")
    assert "-- Lives in Porto.\n+- Lives in Lisbon.\n" in diff.stdout
    assert same.stdout == "They are the same.\n"
    assert back.stdout == "user_md is as in version 1 now, as version 3, until facts change.\n"
    assert isinstance(wrong.exception, MisuseError)


@pytest.mark.parametrize(
    ("named", "said", "way_out"),
    [
        (("review", "--now", "--conversation", "typo"), "There is no conversation 'typo'.", "atlas chat --list"),
        (("review", "--agent", "typo"), "There is no agent 'typo'.", "main"),
        (("review", "--owner", "typo"), "No conversation is of 'typo'.", "owner"),
        (("resource", "history", "user_md", "--agent", "typo"), "There is no agent 'typo'.", "main"),
        (("restore", "typo"), "There is no fact 'typo'.", "atlas memory restore"),
    ],
)
async def test_a_name_that_nobody_has_is_an_error_with_the_way_out(
    opened: OpenApp, model: Model, named: tuple[str, ...], said: str, way_out: str
) -> None:
    async with opened() as app:
        await start(app)
        result = await run(app, *named)

    assert isinstance(result.exception, NotFoundError)
    assert result.exception.exit_code == ExitCode.FAILED
    assert result.exception.message == said
    assert way_out in result.exception.hint


async def test_a_conversation_in_which_nothing_is_new_is_no_error(opened: OpenApp, model: Model) -> None:
    async with opened() as app:
        result = await run(app, "review", "--now", "--conversation", await start(app), "--agent", "main")

    assert result.output == "Nothing new was said since the last review.\n"
