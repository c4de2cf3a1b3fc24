"""Errors are sentences with a way out, and every kind has the exit code that a script may count on."""

from __future__ import annotations

import pytest

from atlas_sdk import errors
from atlas_sdk.errors import AtlasError, ExitCode
from atlas_sdk.providers import ProviderError
from atlas_sdk.tools import ToolError

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AtlasError)]


def test_an_error_is_its_message_and_its_way_out() -> None:
    error = AtlasError("The disk is full.", hint="Free some space.", code="disk_full")

    assert str(error) == "The disk is full. Free some space."
    assert (error.message, error.hint, error.code) == ("The disk is full.", "Free some space.", "disk_full")


def test_an_error_without_a_way_out_is_its_message() -> None:
    assert str(AtlasError("It failed.")) == "It failed."
    assert AtlasError("It failed.").code == "failed"


def test_exit_codes_are_those_that_scripts_know() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "DONE": 0,
        "FAILED": 1,
        "MISUSE": 2,
        "NEEDS_CONSENT": 3,
        "SERVER": 4,
        "REFUSED": 5,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_has_an_exit_code_and_says_what_it_is(kind: type[AtlasError]) -> None:
    assert kind.exit_code in ExitCode
    assert kind.exit_code != ExitCode.DONE
    assert (kind.__doc__ or "").strip().endswith(".")


def test_a_provider_error_has_a_kind_and_a_code_of_it() -> None:
    error = ProviderError("Too many requests.", kind="rate_limit", retry_after=7.0, retryable=True)

    assert (error.code, error.kind, error.retry_after, error.retryable) == (
        "provider_rate_limit",
        "rate_limit",
        7.0,
        True,
    )


def test_a_tool_error_is_one_that_a_user_may_read() -> None:
    assert issubclass(ToolError, AtlasError)
