"""Approvals under stress: whatever order answers come in, nothing runs without exactly one live yes for exactly that."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas_kernel.app import App
from atlas_sdk.errors import AtlasError
from atlas_sdk.records import Call
from atlas_sdk.services.questions import QUESTIONS, Answer, Question
from atlas_sdk.services.store import STORE

from .conftest import OpenHome, Probe, calls, say, says, start

pytestmark = [pytest.mark.anyio, pytest.mark.slow]  # five hundred whole turns, with restarts among them
ORDERS = 500
RESTARTS = 0.04


class Scene:
    """One command that asks, a script it runs, and a random order of answers to it."""

    def __init__(self, number: int, folder: Path) -> None:
        self.random = random.Random(number)
        self.number = number
        self.folder = folder
        self.script = folder / f"do{number}.sh"
        self.ran = folder / f"ran{number}"
        self.script.write_text(f"echo first >> ran{number}\n")
        self.may_run: list[str] = []

    @property
    def command(self) -> str:
        return f"bash do{self.number}.sh"

    def runs(self) -> list[str]:
        return self.ran.read_text().split() if self.ran.exists() else []

    def change(self) -> None:
        self.script.write_text(f"echo changed >> ran{self.number}\n")


async def waiting(app: App, conversation: str, *, not_id: str = "") -> Question | None:
    """Wait until a question of the conversation waits, or its turn has ended."""
    with anyio.fail_after(20):
        while await app.conversations.running(conversation) is not None:
            for question in await app.services.need(QUESTIONS).pending(conversation):
                if question.id != not_id:
                    return question
            await anyio.sleep(0.002)
    return None


async def give(app: App, question: Question, choice: str) -> bool:
    try:
        answer = Answer(how="answered", choices=(choice,), by=f"client{random.random()}")
        return await app.services.need(QUESTIONS).answer(question.id, answer)
    except AtlasError:
        return False


async def play(app: App, scene: Scene, conversation: str) -> Question | None:
    """Answer in a random order until the turn ends; return the first question, for late answers."""
    first = question = await waiting(app, conversation)
    pick = scene.random
    content = "first"
    while question is not None:
        if content == "first" and pick.random() < 0.3:
            scene.change()
            content = "changed"
            changed_under_it = True
        else:
            changed_under_it = False
        choices = [
            pick.choice(["once", "conversation", "deny", "nonsense", "always"]) for _ in range(pick.randint(1, 4))
        ]
        taken: list[str] = []
        async with anyio.create_task_group() as group:

            async def answer(choice: str, to: Question = question, into: list[str] = taken) -> None:
                if await give(app, to, choice):
                    into.append(choice)

            for choice in choices:
                group.start_soon(answer, choice)
        assert len(taken) <= 1
        if not taken:
            assert await give(app, question, "deny")
            taken = ["deny"]
        if taken[0] != "deny" and not changed_under_it:
            scene.may_run.append(content)
        question = await waiting(app, conversation, not_id=question.id)
    return first


async def test_five_hundred_orders_of_answers_run_nothing_without_a_live_yes(
    open_home: OpenHome, probe: Probe, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text('[trust]\nask = ["bash do*"]\n[log]\nlevel = "ERROR"\n')
    work = tmp_path / "work"
    work.mkdir()
    scenes = [Scene(number, work) for number in range(ORDERS)]
    stale: list[Question] = []
    left: list[Scene] = list(scenes)
    restarts = 0
    while left:
        async with open_home() as app:
            for question in stale:
                assert not await give(app, question, "once")
            stale.clear()
            while left:
                scene = left.pop()
                conversation = await start(app, folder=str(work))
                probe.provider.script = [calls(("run_command", {"command": scene.command})), says("ok")]
                await say(app, conversation, "go")
                if scene.random.random() < RESTARTS:
                    question = await waiting(app, conversation)
                    assert question is not None
                    stale.append(question)
                    restarts += 1
                    break  # the home closes with the question open: it is withdrawn, and no later yes can reach it
                first = await play(app, scene, conversation)
                if first is not None:
                    assert not await give(app, first, "once")
    async with open_home() as app:
        rows: tuple[Call, ...] = await app.services.need(STORE).find(Call)

    def allowed(scene: Scene) -> list[Any]:
        return [row for row in rows if row.arguments == {"command": scene.command} and row.verdict == "allow"]

    assert restarts > 5
    assert sum(bool(scene.may_run) for scene in scenes) > 100
    for scene in scenes:
        assert scene.runs() == scene.may_run[-1:] if scene.may_run else scene.runs() == []
        assert len(allowed(scene)) == len(scene.runs())
