"""What a judgement says besides its verdict, and what happens to a line that cannot be read."""

from __future__ import annotations

import io
import json

import pytest

from atlas_gate.cli import check, explain
from atlas_gate.corpus import check_lines, corpus_world
from atlas_gate.judge import judge
from atlas_gate.world import World

UNREADABLE = [
    'echo "x',
    "echo $(",
    "if true",
    'rm -rf / "',
    "((",
    "echo ${",
    "cat <(",
    "for",
    "x=(",
    "rm -rf / )",
    "}; rm -rf /",
    "$(" * 100 + "rm -rf /" + ")" * 100,
]


@pytest.mark.parametrize("command", UNREADABLE)
def test_a_line_that_cannot_be_read_is_reviewed_and_asked_in_auto_mode(judged, command):
    assert judged(command).verdict.word == "review"
    assert judged(command, mode="auto").verdict.word == "ask"


def test_the_lines_before_a_fault_are_still_judged(judged):
    assert judged('rm -rf /\necho "x').rule == "never.delete-system"


def test_the_sentence_names_the_part_and_where_it_was_found(judged):
    judgement = judged("sudo bash -c 'ls; rm -rf ~'")

    assert "rm -rf /home/robin" in judgement.why
    assert "sudo › bash -c" in judgement.why


def test_the_parts_are_every_simple_command(judged):
    judgement = judged("cd src && ls | wc -l; x=$(date)")

    assert [part.shown() for part in judgement.parts] == ["cd src", "ls", "wc -l", "date", "x=…"]


@pytest.mark.parametrize("command", ["git push", "rm -rf build", "npm publish && git push", "echo *"])
def test_always_saves_the_plain_line_as_a_glob(judged, command):
    always = judged(command).always

    assert always is not None
    assert judged(command, ask=[always]).rule == "trust.ask"
    assert judged(command + " x", ask=[always]).rule != "trust.ask"


@pytest.mark.parametrize(
    "command",
    [
        "bash",
        "bash x.sh",
        "sudo git push",
        "python3 -c 'print(1)'",
        "env X=1 ls",
        "./x.sh",
        "ls | xargs rm",
        "make",
        "eval ls",
    ],
)
def test_always_saves_nothing_for_a_shell_an_interpreter_or_a_wrapper(judged, command):
    assert judged(command).always is None


def test_a_mark_in_the_command_cannot_be_forged(judged):
    assert judged("rm -rf /\uf8f0").verdict.word == "review"
    assert judged("echo '\uf8f2' | sh").verdict.word == "run"


def test_a_link_that_exists_is_followed():
    real = {"/home/robin/work/app/everything": "/"}
    world = World(
        home="/home/robin",
        cwd="/home/robin/work/app",
        atlas_home="/home/robin/.atlas",
        real_path=lambda path: real.get(path, path),
    )

    assert judge("rm -rf everything/*", world).verdict.word == "block"
    assert judge("rm -rf other/*", world).verdict.word == "review"


def test_check_answers_rubbish_with_an_error_and_goes_on():
    rubbish = ["", "nonsense", "[]", "{}", '{"id": "a"}', '{"id": "b", "command": 5}', '{"id": "c", "command": null}']
    rubbish += ['{"id": "d", "command": "ls", "shell": "tcl"}', '{"id": "e", "command": "ls", "cwd_files": 3}']
    rubbish += ['{"id": "f", "command": "ls", "trust": [1]}', '{"id": ["g"], "command": "ls \\u0000 \\ud800"}']
    answers = list(check_lines([*rubbish, '{"id": "last", "command": ["l", "s"]}']))

    assert answers[-1]["verdict"] == "run"
    assert len(answers) == len(rubbish)
    assert all("error" in answer or "verdict" in answer for answer in answers)


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "half", "command": "ls \\ud800"}',
        '{"id": "half", "command": "ls \udc80"}',
        '{"id": "deep", "command": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"id": "number", "command": ' + "9" * 10_000 + "}",
        "\ufeff\x00\x01",
        "null",
    ],
    ids=["named half", "half", "deep", "number", "marks", "null"],
)
def test_a_line_that_is_no_text_is_answered_with_an_error_and_the_batch_goes_on(line):
    output = io.StringIO()
    check([line, '{"id": "next", "command": "ls"}'], output)
    first, second = [json.loads(answer) for answer in output.getvalue().splitlines()]

    assert "error" in first
    assert second == {"id": "next", "verdict": "run", "rule": "run", "why": second["why"]}
    assert output.getvalue().encode()


def test_the_sign_of_a_broken_character_is_a_character_like_any_other():
    assert [one["verdict"] for one in check_lines(['{"id": 1, "command": "echo \\ufffd"}'])] == ["run"]


def test_check_writes_one_line_for_each_case():
    output = io.StringIO()
    check(io.StringIO('{"id": 1, "command": "rm -rf /"}\n{"id": 2, "command": "ls"}\n'), output)
    answers = [json.loads(line) for line in output.getvalue().splitlines()]

    assert [(answer["id"], answer["verdict"]) for answer in answers] == [(1, "block"), (2, "run")]


def test_explain_shows_every_part_and_the_rule():
    output = io.StringIO()
    explain("echo cm0gLXJmIC8= | base64 -d | sh", corpus_world({}), output)

    assert "block" in output.getvalue()
    assert "rm -rf /" in output.getvalue()
    assert "never.delete-system" in output.getvalue()
