"""Scripts that a command runs are read through the same rules; scripts it only handles are not."""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest

W = "#!/bin/bash\nrm -rf /\n"


class Case(NamedTuple):
    verdicts: str
    command: str
    files: dict[str, str]


def case(verdicts: str, command: str, files: dict[str, str] | None = None) -> Case:
    return Case(verdicts, command, files or {})


CASES = [
    case("block", "bash a.sh", {"a.sh": "source ./b.sh\n", "b.sh": W}),
    case("block", "bash a.sh", {"a.sh": '. "$(dirname "$0")/b.sh"\n', "b.sh": W}),
    case(
        "block", "bash a.sh", {"a.sh": 'DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\n"$DIR/b.sh"\n', "b.sh": W}
    ),
    case("block", "cd s && ./a.sh", {"s/a.sh": W}),
    case("block", "bash s/a.sh", {"s/a.sh": 'cd "$(dirname "$0")"\n./b.sh\n', "s/b.sh": W}),
    case("block", "./a", {"a": '#!/usr/bin/env python3\nimport os\nos.system("reboot")\n'}),
    case("block", "./a.py", {"a.py": '#!/usr/bin/python3\nimport shutil\nshutil.rmtree("/")\n'}),
    case("block", "./a", {"a": '#!/usr/bin/env node\nrequire("child_process").execSync("reboot")\n'}),
    case("block", "./a", {"a": '#!/usr/bin/perl\nsystem("rm -rf /");\n'}),
    case("block", "./a", {"a": '#!/usr/bin/env ruby\nsystem "rm -rf /"\n'}),
    case("block", "./a", {"a": "#!/usr/bin/env -S bash -e\nreboot\n"}),
    case("block", "./a", {"a": "rm -rf /\n"}),
    case("block", "make", {"Makefile": "all: wipe\n\nwipe:\n\trm -rf /\n"}),
    case("block", "make wipe", {"Makefile": "wipe:\n\t@sudo reboot\n"}),
    case("block", "make D=/ clean", {"Makefile": "D=build\nclean:\n\trm -rf $(D)\n"}),
    case("review/run", "make clean", {"Makefile": "clean:\n\trm -rf build\n"}),
    case("run", "make build", {"Makefile": "build:\n\tcc x.c\nclean:\n\trm -rf build\n"}),
    case("block", "npm run x", {"package.json": '{"scripts":{"x":"rm -rf /"}}'}),
    case("block", "npm test", {"package.json": '{"scripts":{"pretest":"rm -rf /","test":"x"}}'}),
    case("run", "npm run build", {"package.json": '{"scripts":{"clean":"rm -rf /","build":"tsc"}}'}),
    case(
        "block",
        "yarn x",
        {"package.json": '{"scripts":{"x":"node y.js"}}', "y.js": 'require("child_process").execSync("reboot")'},
    ),
    case("block", "pnpm run x", {"package.json": '{"scripts":{"x":"reboot"}}'}),
    case("ask", "bash r.sh", {"r.sh": "git tag v1\ngh release create v1\n"}),
    case("ask", "python3 r.py", {"r.py": 'import subprocess\nsubprocess.run(["gh","pr","merge","1"])\n'}),
    case(
        "ask",
        "python3 r.py",
        {"r.py": 'import subprocess\ncmd = ["gh", "issue", "close", "1"]\nsubprocess.check_call(cmd)\n'},
    ),
    case("review", "bash r.sh", {"r.sh": "set -e\ngit push --force\n"}),
    case("review", "python3 r.py", {"r.py": 'import shutil\nshutil.rmtree("build", ignore_errors=True)\n'}),
    case("run", "python3 r.py", {"r.py": '"""rm -rf / and reboot"""\nimport sys\nprint("os.system(\'reboot\')")\n'}),
    case("run", "python3 r.py", {"r.py": 'import re\nDANGER = re.compile(r"rm -rf /")\nprint(DANGER.search(x))\n'}),
    case("run", "bash r.sh", {"r.sh": '# rm -rf /\necho "rm -rf /"\ngrep -c reboot x\n'}),
    case("run", "bash r.sh", {"r.sh": 'if [ "$1" = reboot ]; then echo no; fi\n'}),
    case("run", "bash r.sh", {"r.sh": "usage() {\ncat <<EOF\nusage: r.sh [shutdown|reboot]\nEOF\n}\nusage\n"}),
    case("run", "bash r.sh", {"r.sh": 'case "$1" in\n  reboot) echo x;;\n  *) usage;;\nesac\n'}),
    case("run", "./x.sh --force", {"x.sh": '#!/bin/sh\nset -eu\ncd "$(dirname "$0")"\nexec npm test -- "$@"\n'}),
    case("run", "bash missing.sh"),
    case("run", "./missing"),
    case("run", "python3 missing.py"),
    case("run", "cat a.sh | head", {"a.sh": W}),
    case("run", "less a.sh", {"a.sh": W}),
    case("run", "cp a.sh b.sh", {"a.sh": W}),
    case("run", "git add a.sh", {"a.sh": W}),
    case("run", "chmod +x a.sh", {"a.sh": W}),
    case("run", "rm a.sh", {"a.sh": W}),
    case("run", "vim a.sh", {"a.sh": W}),
    case("run", "grep rm a.sh && wc a.sh", {"a.sh": W}),
    case("run", "stat a.sh; file a.sh", {"a.sh": W}),
    case("run", "bash -n a.sh", {"a.sh": W}),
    case("run", "ls -l ./a.sh", {"a.sh": W}),
    case("run", "sed -n 1,5p a.sh", {"a.sh": W}),
    case("run", "scp a.sh host:", {"a.sh": W}),
    case("run", "zip x.zip a.sh", {"a.sh": W}),
    case("run", "code a.sh", {"a.sh": W}),
    case("run", "sort a.sh | uniq", {"a.sh": W}),
    case("run", "sha256sum a.sh", {"a.sh": W}),
    case("run", "python3 -m py_compile a.py", {"a.py": 'import os\nos.system("reboot")\n'}),
    case("run/review", "pytest -q", {"test_x.py": 'import os\nos.system("reboot")\n'}),
    case("run", "node --check a.js", {"a.js": 'require("child_process").execSync("reboot")'}),
    case("run", "perl -c a.pl", {"a.pl": 'system("reboot");'}),
    case("run", "ruby -c a.rb", {"a.rb": 'system "reboot"'}),
    case("run", "php -l a.php", {"a.php": '<?php system("reboot");'}),
    case("run", "ruff check a.py", {"a.py": 'import os\nos.system("reboot")\n'}),
    case("run", "python3 a.py", {"a.py": 'import subprocess\nsubprocess.run(["git","status"])\n'}),
    case("run", "python3 a.py", {"a.py": 'import subprocess\nsubprocess.run(["echo","rm -rf /"])\n'}),
    case("run", "python3 a.py", {"a.py": 'import subprocess\nsubprocess.run(["git","commit","-m","rm -rf /"])\n'}),
    case("run", "node a.js", {"a.js": '// execSync("rm -rf /")\nconsole.log("x")\n'}),
    case("run", "node a.js", {"a.js": 'const re=/rm -rf/; const s="reboot"; module.exports={s}\n'}),
    case(
        "run",
        "node a.js",
        {"a.js": "const {exec} = require('child_process');\nexec('git log', (e, o) => console.log(o, 'rm -rf /'));\n"},
    ),
    case("run", "ruby a.rb", {"a.rb": "# system('reboot')\nputs 'rm -rf /'\n"}),
    case("run", "perl a.pl", {"a.pl": "# system('reboot');\nprint 'rm -rf /';\n"}),
    case("block", "node a.js", {"a.js": "const { execSync } = require('child_process');\nexecSync(`rm -rf /`);\n"}),
    case("block", "node a.js", {"a.js": "import fs from 'fs';\nfs.rmSync('/', { recursive: true, force: true });\n"}),
    case("block", "node ./a.mjs", {"a.mjs": "import {execSync as e} from 'child_process'; execSync('reboot')"}),
    case("block", "ruby a.rb", {"a.rb": "require 'fileutils'\nFileUtils.rm_rf('/')\n"}),
    case("block", "perl a.pl", {"a.pl": "use strict;\nsystem('rm', '-rf', '/');\n"}),
    case("block", "php a.php", {"a.php": "<?php\nsystem('rm -rf /');\n"}),
    case("block", "uv run a.py", {"a.py": "import os\nos.system('reboot')\n"}),
    case("block", "uv run python a.py", {"a.py": "import os\nos.system('reboot')\n"}),
    case("block", "poetry run python a.py", {"a.py": "import os\nos.system('reboot')\n"}),
    case("block", "python3 -m pkg", {"pkg/__main__.py": "import os\nos.system('reboot')\n"}),
    case("block", "python3 -m pkg.x", {"pkg/x.py": "import os\nos.system('reboot')\n"}),
    case(
        "block",
        "python3 a.py",
        {"a.py": "import os\ndef main():\n    os.system('sudo reboot')\nif __name__ == '__main__':\n    main()\n"},
    ),
    case("block", "python3 a.py", {"a.py": "from subprocess import call\ncall(['rm', '-rf', '/'])\n"}),
    case(
        "block",
        "python3 a.py",
        {"a.py": "import subprocess\nTARGET='/'\nsubprocess.run(f'rm -rf {TARGET}', shell=True)\n"},
    ),
    case("block", "python3 a.py", {"a.py": "import subprocess\nTARGET='/'\nsubprocess.run(['rm','-rf',TARGET])\n"}),
    case("block", "ls | bash a.sh; true", {"a.sh": W}),
    case("block", "xargs bash < x", {"x": "a.sh\n", "a.sh": W}),
    case("block", 'find . -name "*.sh" -exec sh {} +', {"a.sh": W}),
    case("block", 'for f in *.sh; do bash "$f"; done', {"a.sh": W}),
    case("block", "for f in *.sh; do ./$f; done", {"a.sh": W}),
    case("block", "cat *.sh | bash", {"a.sh": W}),
    case("block", "bash ~/work/app/a.sh", {"a.sh": W}),
    case("block", "bash $PWD/a.sh", {"a.sh": W}),
    case("block", 'bash "./a b.sh"', {"a b.sh": W}),
    case("block", "bash --posix a.sh", {"a.sh": W}),
    case("block", "bash -eux a.sh x", {"a.sh": W}),
    case("block", "bash -- a.sh", {"a.sh": W}),
    case("block", "exec ./a.sh", {"a.sh": W}),
    case("block", "time ./a.sh", {"a.sh": W}),
    case("block", "(./a.sh)", {"a.sh": W}),
    case("block", "$(./a.sh)", {"a.sh": W}),
    case("block", "at now -f a.sh", {"a.sh": W}),
    case("block", "ssh h bash -s < a.sh", {"a.sh": W}),
    case("block", "docker exec -i x sh < a.sh", {"a.sh": W}),
    case("block", "su -c ./a.sh", {"a.sh": W}),
    case("block", "watch ./a.sh", {"a.sh": W}),
    case("block", "git bisect run ./a.sh", {"a.sh": W}),
    case("block", "crontab x", {"x": "0 0 * * * rm -rf /\n"}),
    case("block", "bash a.sh; echo", {"a.sh": "echo ok\n" * 3000 + "rm -rf /\n"}),
    case("block", "sqlite3 x < y", {"y": ".shell rm -rf /\n"}),
    case("review", "sqlite3 x < y", {"y": "DROP TABLE z;\n"}),
    case("review/run", "psql -f y", {"y": "DROP TABLE z;\n"}),
    case("run", "psql -f y", {"y": "SELECT 1;\n"}),
    case("review/run", "mysql db < y", {"y": "DROP DATABASE z;\n"}),
    case("block", "bash a.sh /etc", {"a.sh": 'for d in "$@"; do rm -rf "$d"; done\n'}),
    case("review", "bash a.sh build", {"a.sh": 'rm -rf "$1"\n'}),
    case("block", "awk -f a.awk", {"a.awk": 'BEGIN{system("reboot")}'}),
    case("block", "vim -S a.vim", {"a.vim": "!reboot\n"}),
    case("block", 'expect -c "spawn rm -rf /"'),
    case("block", "git commit -m x", {".git/hooks/pre-commit": W}),
    case("block", "git commit -am x", {".git/hooks/commit-msg": W}),
    case("block", "git push", {".git/hooks/pre-push": W}),
    case("block", "git checkout -b x", {".git/hooks/post-checkout": W}),
    case("block", "git -C /home/robin/work/app commit -m x", {".git/hooks/pre-commit": W}),
    case("block", "cd src && git commit -m x", {".git/hooks/pre-commit": W, "src/a": ""}),
    case(
        "block", "git commit -m x", {".git/hooks/pre-commit": "#!/usr/bin/env python3\nimport os\nos.system('reboot')"}
    ),
    case("block", "git commit -m x", {".git/config": "[core]\n\thooksPath = .husky\n", ".husky/pre-commit": W}),
    case("block", "git -c core.hooksPath=.hooks commit -m x", {".git/config": "", ".hooks/pre-commit": W}),
    case("block", "git commit --no-verify -m x", {".git/hooks/post-commit": W}),
    case("block", "git pull", {".git": "gitdir: ../main/.git/worktrees/app", "../main/.git/hooks/post-merge": W}),
    case("review", "git commit -m x", {".git/hooks/pre-commit": "#!/bin/sh\nrm -rf build\n"}),
    case("run", "git commit -m x", {".git/hooks/pre-commit": "#!/bin/sh\nnpm test\n"}),
    case("run", "git commit -m x", {".git/hooks/pre-commit.sample": W}),
    case("run", "git commit -m x", {".git/hooks/pre-push": W}),
    case("run", "git commit --no-verify -m x", {".git/hooks/pre-commit": W}),
    case("run", "git commit -nm x", {".git/hooks/pre-commit": W}),
    case("run", "git status", {".git/hooks/pre-commit": W}),
    case("run", "cat .git/hooks/pre-commit", {".git/hooks/pre-commit": W}),
    case("block", "GIT_CONFIG_GLOBAL=g git log", {"g": "[core]\n\tpager = rm -rf ~\n"}),
    case("run", "GIT_CONFIG_GLOBAL=g git log", {"g": "[core]\n\tpager = less\n"}),
    case("block", "NODE_OPTIONS='-r ./x.js' node a.js", {"x.js": 'require("child_process").execSync("reboot")'}),
    case("run", "NODE_OPTIONS='-r ./x.js' node a.js", {"x.js": "console.log(1)"}),
    case("block", "find . -name '*.sh' -exec bash {} +", {"deep/er/a.sh": W}),
    case("block", "find . -name '*.sh' | xargs -n1 bash", {"deep/er/a.sh": W}),
    case("block", "bash $(find . -name a.sh)", {"deep/er/a.sh": W}),
    case("run", "find . -name '*.sh' -exec bash {} +", {"deep/er/a.sh": "echo hi\n"}),
    case("run", "ls *.sh | xargs -n1 bash", {"a.sh": "echo hi\n", "deep/b.sh": W}),
    case("block", "ls *.sh | xargs -n1 bash", {"a.sh": "echo hi\n", "b.sh": W}),
    case("block", "just wipe", {"justfile": "wipe:\n    rm -rf /\n"}),
    case("run", "just test", {"justfile": "wipe:\n    rm -rf /\n\ntest:\n    pytest\n"}),
]


@pytest.mark.parametrize("one", CASES, ids=lambda one: one.command[:60])
def test_a_script_is_judged_by_what_it_does(judged, one):
    judgement = judged(one.command, files=one.files)

    assert judgement.verdict.word in one.verdicts.split("/"), judgement.why


def test_a_judgement_names_each_script_with_its_digest(judged):
    judgement = judged("bash a.sh && cat c.sh", files={"a.sh": "./b.sh\n", "b.sh": W, "c.sh": W})

    assert [script.path for script in judgement.scripts] == ["/home/robin/work/app/a.sh", "/home/robin/work/app/b.sh"]
    assert all(len(script.sha256) == 64 for script in judgement.scripts)


@pytest.mark.parametrize(
    "command",
    ["cat a.sh | bash", "bash < a.sh", 'eval "$(cat a.sh)"', 'bash -c "$(<a.sh)"', "cp a.sh b.sh && bash b.sh"],
)
def test_a_script_counts_as_one_however_it_reaches_the_shell(judged, command):
    judgement = judged(command, files={"a.sh": "echo one\ngit push --force\n"})

    assert [script.path for script in judgement.scripts] == ["/home/robin/work/app/a.sh"]


@pytest.mark.parametrize(
    "command", ["cat a.sh | wc -l", "wc -l < a.sh", "x=$(cat a.sh)", "cp a.sh b.sh", "python3 -m json.tool < a.sh"]
)
def test_a_file_that_is_only_read_is_no_script(judged, command):
    assert judged(command, files={"a.sh": "echo one\n"}).scripts == ()


def test_a_script_that_runs_itself_is_read_once_and_ends(judged):
    judgement = judged("bash a.sh", files={"a.sh": "echo x\nbash a.sh\n"})

    assert judgement.verdict.word in ("run", "review")


MULTIPLYING = [
    ("bash a.sh", {"a.sh": "bash a.sh $1x\nbash a.sh $1y\n"}),
    ("bash a0.sh", {f"a{n}.sh": f"bash a{n + 1}.sh\nbash a{n + 1}.sh\n" for n in range(30)}),
    ("npm run a", {"package.json": '{"scripts":{"a":"npm run b; npm run b","b":"npm run a; npm run a"}}'}),
    (
        "python3 a.py",
        {"a.py": "".join(" " * n + f"for x{n} in {['a'] * 50}:\n" for n in range(8)) + " " * 8 + "pass\n"},
    ),
    ("python3 a.py", {"a.py": "x = 'a'\n" + "x = x + x\n" * 60 + "exec(x)\n"}),
]


@pytest.mark.parametrize(("command", "files"), MULTIPLYING, ids=lambda one: one if isinstance(one, str) else "")
def test_scripts_that_multiply_end_soon(judged, command, files):
    start = time.perf_counter()
    judged(command, files=files)

    assert time.perf_counter() - start < 5


def test_a_script_past_the_limit_is_read_up_to_it(judged):
    judgement = judged("bash a.sh", files={"a.sh": "rm -rf /\n" + "# filler\n" * 200_000})

    assert judgement.verdict.word == "block"
