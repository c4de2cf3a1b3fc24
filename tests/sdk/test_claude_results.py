"""What a hook is told of a tool's answer, in the shapes that Claude Code's tools have."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_sdk.claude_names import claude_names
from atlas_sdk.claude_results import claude_result
from atlas_sdk.hook_events import read_answer

FOLDER = Path("/work/project")


@pytest.mark.parametrize(
    ("text", "stdout"),
    [
        ("hi\n[exit code 0]", "hi\n"),
        ("[exit code 0]", ""),
        ("hi\n[It left processes running: exit code 0]", "hi\n"),
        ("[exit code 0] is what it said\n", "[exit code 0] is what it said\n"),
        ("Runs in the background as 1.", "Runs in the background as 1."),
    ],
)
def test_a_command_s_output_is_told_without_what_atlas_says_beneath(text: str, stdout: str) -> None:
    assert claude_result("run_command", {"command": "x"}, text, folder=FOLDER)["stdout"] == stdout


def test_a_file_is_told_by_its_whole_path_under_each_tool_s_names() -> None:
    read = claude_result("read_file", {"path": "a.py"}, "1\tx", folder=FOLDER)
    edit = claude_result("edit_file", {"path": "/b.py", "old_string": "x", "new_string": "y"}, "Done", folder=FOLDER)

    assert read["file"] == {"filePath": "/work/project/a.py", "content": "1\tx"}
    assert (edit["filePath"], edit["oldString"], edit["newString"]) == ("/b.py", "x", "y")


def test_what_is_no_file_has_no_path() -> None:
    for arguments in ({"path": 3}, {"path": "a\0b"}, {}, None):
        assert "filePath" not in claude_result("read_file", arguments, "x", folder=FOLDER)
    assert "filePath" not in claude_result("find_files", {"path": "src", "pattern": "x"}, "x", folder=FOLDER)


def test_a_call_goes_by_the_names_that_it_could_have_in_claude_code() -> None:
    assert claude_names("run_command", {"command": "ls"}) == ("Bash", "PowerShell")
    assert claude_names("run_command", {"stop": "7"}) == ("KillShell", "KillBash")
    assert claude_names("edit_file", {"path": "a.py"}) == ("Edit", "MultiEdit")
    assert "NotebookEdit" in claude_names("edit_file", {"path": "a.ipynb"})
    assert "BashOutput" in claude_names("run_command")


def test_a_refusal_whose_reason_is_said_to_the_person_alone_is_told_to_the_model_too() -> None:
    said = {"hookSpecificOutput": {"permissionDecision": "deny"}, "systemMessage": "Not on a Friday."}

    assert read_answer("PreToolUse", said).block == "Not on a Friday."
