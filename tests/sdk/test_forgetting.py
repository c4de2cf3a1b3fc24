"""A plugin's own table: the words are struck, the rows deleted, or it is named and left, as the plugin says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atlas_sdk.forgetting import Rows
from atlas_sdk.schema import Migration, Schema
from atlas_sdk.services.store import STORE, Transaction
from atlas_sdk.testing.fake_context import FakeServices
from atlas_store.store import SqliteStore

pytestmark = pytest.mark.anyio
SCHEMA = Schema((Migration(1, ("CREATE TABLE diary_day (day TEXT PRIMARY KEY, said TEXT, more TEXT)",)),))
DAYS = (
    ("1", "Saw Noor \\u00c9mile.", None),
    ("2", '{"kind": "Noor", "title": "noor  \\u00e9mile"}', "x"),
    ("3", "Saw Noora.", "Noor Émile"),
    ("4", "Nothing.", "-"),
)


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[FakeServices]:
    store = SqliteStore(tmp_path)
    await store.migrate("diary", SCHEMA)

    def work(transaction: Transaction) -> None:
        for day, said, more in DAYS:
            transaction.run("INSERT INTO diary_day VALUES (:day, :said, :more)", day=day, said=said, more=more)

    await store.write(work)
    yield FakeServices(STORE.by(store))
    await store.close()


async def days(services: FakeServices) -> list[tuple[str, str, str | None]]:
    rows = await services.need(STORE).read(lambda reading: reading.rows("SELECT * FROM diary_day ORDER BY day"))
    return [(row["day"], row["said"], row["more"]) for row in rows]


async def test_words_are_struck_in_every_column_and_a_record_stays_a_record(services: FakeServices) -> None:
    rows = Rows(services, "diary_day", "said", "more", where="your diary", asked=False)
    traces = await rows.find("Noor Émile")
    await rows.erase("Noor Émile", traces)

    assert [(one.where, one.asked) for one in traces] == [("your diary", False)] * 3
    assert await rows.find("Noor Émile") == ()
    assert await days(services) == [
        ("1", "Saw [forgotten].", None),
        ("2", '{"kind":"Noor","title":"[forgotten]"}', "x"),
        ("3", "Saw Noora.", "[forgotten]"),
        ("4", "Nothing.", "-"),
    ]


async def test_whole_rows_go_and_only_those_that_were_named(services: FakeServices) -> None:
    rows = Rows(services, "diary_day", "said", where="your diary", whole=True)
    (first, *_) = await rows.find("Noor Émile")
    await rows.erase("Noor Émile", [first])

    assert [day for day, *_ in await days(services)] == ["2", "3", "4"]
    assert rows.owns == ("diary_day",)


async def test_what_stays_is_named_with_the_way_out(services: FakeServices) -> None:
    rows = Rows(services, "diary_day", "more", where="your diary", stays="Tear out the page.")

    assert [(one.text, one.stays) for one in await rows.find("noor émile")] == [("Noor Émile", "Tear out the page.")]
