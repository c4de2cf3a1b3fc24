"""The user's deny, ask and ask_skip lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest


class Case(NamedTuple):
    verdict: str
    command: str
    settings: dict[str, Any]


def case(verdict: str, command: str, **settings: Any) -> Case:
    return Case(verdict, command, settings)


CASES = [
    case("block", "git push --force", deny=["git push --force*"]),
    case("block", "git push origin main --force", deny=["git push*--force*"]),
    case("block", "GIT PUSH", deny=["git push*"]),
    case("block", "/usr/bin/git push", deny=["git push*"]),
    case("block", "sudo git push", deny=["git push*"]),
    case("block", "x=1 git push", deny=["git push*"]),
    case("block", "git -C x push", deny=["git push*"]),
    case("block", "echo $(git push)", deny=["git push*"]),
    case("block", 'git "push"', deny=["git push*"]),
    case("block", "A=push; git $A", deny=["git push*"]),
    case("block", "if x; then git push; fi", deny=["git push*"]),
    case("block", "echo git push | sh", deny=["git push*"]),
    case("block", "find . -exec curl x \\;", deny=["curl *"]),
    case("block", "curl", deny=["curl*"]),
    case("block", "python3 -c \"import os; os.system('curl x')\"", deny=["curl *"]),
    case("block", "docker rm x", deny=["docker *"]),
    case("block", "git push && ls", deny=["git push"]),
    case("run", "git push-x", deny=["git push"]),
    case("run", "git status", deny=["git push*"]),
    case("run", 'echo "curl x"', deny=["curl *"]),
    case("run", "grep curl x", deny=["curl *"]),
    case("run", 'git commit -m "git push"', deny=["git push*"]),
    case("run", "mycurl x", deny=["curl *"]),
    case("run", "curlx y", deny=["curl *"]),
    case("block", "npm  install   x", deny=["npm install*"]),
    case("block", "npm i x", deny=["npm i *", "npm install *"]),
    case("ask", "git push origin", ask=["git push*"]),
    case("ask", "git push origin", mode="auto", ask=["git push*"]),
    case("block", "git push -f", deny=["git push -f*"], ask=["git push*"]),
    case("ask", "rm -rf build", ask=["rm *"]),
    case("ask", "rm -rf build", ask=["rm *"], mode="auto"),
    case("block", "rm -rf /", ask=["rm *"]),
    case("run", "gh pr merge 1", ask_skip=["gh pr merge*"]),
    case("ask", "gh pr merge 1; gh pr close 2", ask_skip=["gh pr merge*"]),
    case("run", "sudo gh pr merge 1", ask_skip=["gh pr merge*"]),
    case("run", "/usr/bin/gh pr merge 1", ask_skip=["gh pr merge*"]),
    case("run", "cd x && gh pr merge 1", ask_skip=["gh pr merge*"]),
    case("run", "GH PR MERGE 1", ask_skip=["gh pr merge*"]),
    case("ask", "gh auth token", ask_skip=["gh pr*"]),
    case("review", "git push --force", ask_skip=["*"]),
    case("run", "gcloud run deploy", ask_skip=["gcloud *"]),
    case("run", "git push --force", mode="auto"),
    case("run", "gh pr list", deny=[], ask=[], ask_skip=[]),
    case("block", "Remove-Item x", shell="powershell", deny=["remove-item*"]),
    case("block", "git push --force", shell="powershell", deny=["git push --force*"]),
    case("block", "ri x", shell="powershell", deny=["remove-item*"]),
]


@pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one.command[:40]} {one.settings}"[:90])
def test_a_list_of_the_user_decides(judged, one):
    judgement = judged(one.command, **one.settings)

    assert judgement.verdict.word == one.verdict
