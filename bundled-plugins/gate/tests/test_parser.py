"""The parser accepts what bash accepts, and refuses what bash refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from atlas_gate.deadline import Deadline
from atlas_gate.parser import parse

CORPUS = Path(__file__).parents[3] / "tests" / "corpora" / "gate.jsonl"
SYNTAX = [
    "f() { :; }; f",
    "case x in a|b) echo;; (c) ;; esac",
    "for ((i=0;i<3;i++)) { echo; }",
    "if a; then b; fi | c",
    "a &\nb",
    "(a; b) > c",
    "x=(1 2\n3)",
    "echo a)",
    "fi",
    "a ;; b",
    "echo $(case x in y) z;; esac)",
    "[[ a =~ ^(b|c)$ ]]",
    "! true",
    "cat <<A\nx\nA\necho $(cat <<B\ny\nB\n)",
    "{ a; } 2>&1",
    "a && \n b",
    "function x { y; }",
    "echo $((1+2)) $(( (1) ))",
    "((x=1))",
    "((echo a); echo b)",
    'echo "${x:-"a b"}"',
    "if",
    "echo 'x",
    "time",
    "a | | b",
    "&& a",
    "x=1 y=2",
    "a\\\nb",
    "until a; do b; done",
    "{fd}>x echo",
    "echo }",
    "{ echo }",
    "if a;then b;elif c;then d;fi",
    "coproc cat",
    "a |& b",
    "cat <<E",
    "((echo hi) )",
    "echo $((echo hi) )",
    "rm -rf / )",
    "}; rm -rf /",
    "cat <<'A' > a; cat <<B > b\nx\nA\ny\nB",
]


@pytest.mark.slow  # starts bash once for each of some 900 lines, about two seconds in all
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on this machine")
def test_the_parser_agrees_with_bash_on_what_is_a_command():
    cases = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    texts = SYNTAX + [case["command"] for case in cases if case["shell"] == "bash"]
    differing = []
    for text in texts:
        done = subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False)
        if (done.returncode == 0) != (parse(text, Deadline()).fault is None):
            differing.append(text)

    assert differing == []
