"""What is said of an install and an update, and of a package that does not fit."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_installer.cli import _show
from atlas_installer.packages import _hint, _reason
from atlas_installer.programs import Ended


def found(**more: Any) -> dict[str, Any]:
    origin = {"address": "team/helper", "commit": more.pop("commit", "")}
    row = {"name": "helper", "version": "0.1.0", "description": "", "declares": {}, "state": "off", "why": ""}
    return {**row, "grew": False, "changed": True, "origin": origin, **more}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"commit": "0123456789abcdef"}, "Updated helper 0.1.0 (0123456789ab), from team/helper."),
        ({"commit": "0.1.0"}, "Updated helper 0.1.0, from team/helper."),
        ({"changed": False, "commit": "0123456789abcdef"}, "helper is at 0.1.0 (0123456789ab) as before, from team/helper."),
        ({"state": "waiting", "why": "It waits for your consent: atlas plugins enable helper."}, "It waits for your consent"),
        ({"state": "waiting", "grew": True}, "It declares something else than before. See it and agree with:"),
        ({}, "It is off. Turn it on with: atlas plugins enable helper."),
    ],
)  # fmt: skip
def test_an_update_says_what_came(more: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    _show(found(**more), "Updated", json=False)
    out = capsys.readouterr().out

    assert said in out
    assert ("It is off" in out) == ("It is off" in said or more.get("state") != "waiting")


def test_the_reason_of_a_resolver_is_put_into_a_sentence() -> None:
    err = (
        "  × No solution found when resolving dependencies:\n"
        "  ╰─▶ Because only atlas-dice==1.0 is available and you require atlas-dice==2.0, we can\n"
        "      conclude that your requirements are unsatisfiable.\n"
    )

    assert _reason(Ended(1, "", err)) == "only atlas-dice==1.0 is available and you require atlas-dice==2.0"


@pytest.mark.parametrize(
    ("requirement", "reason", "hint"),
    [
        ("/dist/dice-1-py3-none-any.whl", "it is no zip", "Is the wheel whole"),
        ("dice", "dice has no usable wheels", "Only wheels are taken"),
        ("dice", "only dice==1.0 is available", "Check the name and the version"),
    ],
)
def test_the_way_out_fits_what_is_wrong(requirement: str, reason: str, hint: str) -> None:
    assert _hint(requirement, reason).startswith(hint)
