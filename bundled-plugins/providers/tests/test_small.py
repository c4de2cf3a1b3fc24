"""Small work goes to a small model: the one that is named, else the cheapest that is known, else the same."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from atlas_providers.llm import cheapest
from atlas_sdk.hookspecs import hookimpl
from atlas_sdk.providers import ModelInfo
from atlas_sdk.services.llm import LLM
from atlas_sdk.testing.fakes import FakeProvider

pytestmark = pytest.mark.anyio
Open = Callable[..., AbstractAsyncContextManager[Any]]
BIG = ModelInfo("big", default=True, input_price=2.0, output_price=10.0)
CHEAP = ModelInfo("cheap", input_price=0.1, output_price=0.5)
UNKNOWN = ModelInfo("unknown", input_price=0.0)


class World:
    """Two providers, the first of which answers unless another is named."""

    def __init__(self, *models: ModelInfo) -> None:
        self.fake = FakeProvider(["Yes."], models=models, order=1)
        self.other = FakeProvider(["Yes."], id="other", name="Other", models=(ModelInfo("other-1", default=True),))

    @hookimpl
    def atlas_providers(self) -> list[Any]:
        return [self.fake, self.other]


@pytest.mark.parametrize(
    ("models", "config", "expected"),
    [
        ((BIG, UNKNOWN, CHEAP), "", "fake/cheap"),
        ((UNKNOWN, ModelInfo("local", default=True)), "", "fake/local"),
        ((BIG, CHEAP), '[model]\nsmall = "big"\n', "fake/big"),
        ((BIG, CHEAP), '[model]\nsmall = "other/tiny"\n', "other/tiny"),
        ((BIG, CHEAP), '[model]\nsmall = "maker/tiny"\n', "fake/maker/tiny"),
    ],
)
async def test_small_work_goes_to_the_small_model(
    atlas_app: Open, models: tuple[ModelInfo, ...], config: str, expected: str
) -> None:
    world = World(*models)
    async with atlas_app("store", "vault", "providers", objects={"world": world}, config=config) as app:
        said = await app.services.need(LLM).complete("A title?", purpose="title", small=True)

    assert f"{said.provider}/{said.model}" == expected


def test_the_first_of_equally_cheap_models_is_taken() -> None:
    twin = ModelInfo("twin", input_price=0.1, output_price=0.5)

    assert cheapest((BIG, CHEAP, twin)) == CHEAP
    assert cheapest((UNKNOWN,)) is None
