"""Tables of commands, by what is right for each."""

from __future__ import annotations

from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"
# The scripts that the tables' commands run.
FILES = {
    "wipe.sh": "#!/bin/bash\nrm -rf /\n",
    "wipe.py": 'import shutil\nshutil.rmtree("/")\n',
    "ok.sh": "echo hi\n",
    "wipe.txt": "rm -rf /\n",
    "fine.txt": "echo hi\n",
    "checks/ok.sh": "echo hi\n",
    "imports.py": "from atlas_kernel.main import main\nmain()\n",
    "wipe.el": '(delete-directory "/" t)\n',
    "wipe.ps1": "Remove-Item -Recurse -Force $HOME\n",
}


def _lines(name: str) -> list[tuple[str, str]]:
    lines = [line for line in (CASES / name).read_text("utf-8").splitlines() if not line.startswith("##")]
    pairs = [line.split(" ", 1) for line in lines]
    return [(verdicts, command.replace("⏎", "\n").replace("⇥", "\t")) for verdicts, command in pairs]


@pytest.mark.parametrize(
    ("name", "shell"),
    [
        ("never_plain.txt", "bash"),
        ("never_disguised.txt", "bash"),
        ("runs.txt", "bash"),
        ("runs_too.txt", "bash"),
        ("later_disguises.txt", "bash"),
        ("reviewed_and_asked.txt", "bash"),
        ("forks.txt", "bash"),
        ("git_discards.txt", "bash"),
        ("option_commands.txt", "bash"),
        ("lines_of_files.txt", "bash"),
        ("home_trees.txt", "bash"),
        ("atlas_itself.txt", "bash"),
        ("given_scripts.txt", "bash"),
        ("other_programs.txt", "bash"),
        ("second_readings.txt", "bash"),
        ("atlas_homes.txt", "bash"),
        ("powershell.txt", "powershell"),
        ("powershell_more.txt", "powershell"),
    ],
)
def test_every_command_of_a_table_gets_its_verdict(judged, name, shell):
    wrong = []
    for verdicts, command in _lines(name):
        judgement = judged(command, files=FILES, shell=shell)
        if judgement.verdict.word not in verdicts.split("/"):
            wrong.append(f"{verdicts} -> {judgement.verdict.word} ({judgement.rule}): {command!r}")

    assert wrong == []


def test_auto_mode_never_loosens_a_block_or_a_question(judged):
    wrong = []
    for name in (
        "never_plain.txt",
        "never_disguised.txt",
        "reviewed_and_asked.txt",
        "forks.txt",
        "option_commands.txt",
        "home_trees.txt",
        "atlas_itself.txt",
        "given_scripts.txt",
        "other_programs.txt",
        "second_readings.txt",
        "atlas_homes.txt",
    ):
        for verdicts, command in _lines(name):
            expected = "run" if verdicts == "review" else verdicts
            judgement = judged(command, files=FILES, mode="auto")
            if judgement.verdict.word not in expected.split("/"):
                wrong.append(f"{expected} -> {judgement.verdict.word}: {command!r}")

    assert wrong == []
