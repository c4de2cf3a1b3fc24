"""Properties: no disguise of a dangerous command loosens its verdict, and no data is taken for one.

A disguise is built from layers, each a way of writing one command that runs the command inside it, so
the layers stack in any order the generator likes.
"""

from __future__ import annotations

import base64
import os
import shlex
import string

from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_gate.corpus import corpus_world
from atlas_gate.judge import judge

DANGERS = [
    "rm -rf /",
    "rm -rf ~",
    "sudo reboot",
    "kill -9 -1",
    "dd if=x of=/dev/sda",
    "mkfs.ext4 /dev/sda1",
    "shutdown -h now",
]
WORDS = ["rm", "-rf", "/"]
PLAIN = st.text(string.ascii_letters + string.digits + " ._-", max_size=20)
EXAMPLES = settings(max_examples=int(os.environ.get("ATLAS_GATE_EXAMPLES", "150")), deadline=None)
"""How many of each kind; the figure to reach is 20,000, which takes some minutes."""


def _verdict(command: str, files: dict[str, str] | None = None) -> str:
    return judge(command, corpus_world({"cwd_files": files or {}})).verdict.word


def _shell(command: str) -> str:
    return f"bash -c {shlex.quote(command)}"


def _encoded(command: str) -> str:
    return f"echo {base64.b64encode(command.encode()).decode()} | base64 -d | sh"


def _hexadecimal(command: str) -> str:
    return f"echo {command.encode().hex()} | xxd -r -p | bash"


def _octal(command: str) -> str:
    return "printf '" + "".join(f"\\{ord(character):03o}" for character in command) + "' | sh"


def _ansi(command: str) -> str:
    return "eval $'" + "".join(f"\\x{ord(character):02x}" for character in command) + "'"


def _reversed(command: str) -> str:
    return f"rev <<< {shlex.quote(command[::-1])} | sh"


def _document(command: str) -> str:
    end = f"END_{len(command)}"  # a name of its own at each level
    return f"bash <<'{end}'\n{command}\n{end}\n"


def _written(command: str) -> str:
    return f"printf '%s\\n' {shlex.quote(command)} > /tmp/x.sh && bash /tmp/x.sh"


def _python(command: str) -> str:
    return f"python3 -c {shlex.quote(f'import os; os.system({command!r})')}"


def _variable(command: str) -> str:
    return f'x={shlex.quote(command)}; eval "$x"'


def _function(command: str) -> str:
    return f"f() {{ {command}\n}}; f"


LAYERS = {
    "subshell": lambda command: f"({command}\n)",
    "group": lambda command: f"{{ {command}\n}}",
    "substitution": lambda command: f"echo $({command}\n)",
    "process": lambda command: f"cat <({command}\n)",
    "after": lambda command: f"true && {command}",
    "before": lambda command: f"{command}\ntrue",
    "if": lambda command: f"if true; then {command}\nfi",
    "loop": lambda command: f"for i in 1; do {command}\ndone",
    "case": lambda command: f"case x in x) {command}\n;; esac",
    "eval": lambda command: f"eval {shlex.quote(command)}",
    "sudo": lambda command: f"sudo -u root {_shell(command)}",
    "env": lambda command: f"env A=1 {_shell(command)}",
    "timeout": lambda command: f"timeout -k 1 5 {_shell(command)}",
    "xargs": lambda command: f"echo {shlex.quote(command)} | xargs -0 sh -c",
    "find": lambda command: f"find . -exec {_shell(command)} \\;",
    "string": lambda command: f"sh <<< {shlex.quote(command)}",
    "trap": lambda command: f"trap {shlex.quote(command)} EXIT",
    "shell": _shell,
    "encoded": _encoded,
    "hexadecimal": _hexadecimal,
    "octal": _octal,
    "ansi": _ansi,
    "reversed": _reversed,
    "document": _document,
    "written": _written,
    "python": _python,
    "variable": _variable,
    "function": _function,
    "tar": lambda command: f"tar --to-comm={shlex.quote(command)} -xf a.tar",
    "rsync": lambda command: f"rsync -ave {shlex.quote(command)} a b:",
    "tcpdump": lambda command: f"tcpdump -G 1 -z {shlex.quote(command)}",
    "git setting": lambda command: f"git -c core.pager={shlex.quote(command)} log",
    "clone": lambda command: f"git clone -c core.sshCommand={shlex.quote(command)} a b",
    "pager": lambda command: f"PAGER={shlex.quote(command)} man ls",
    "proxy": lambda command: f"ssh -oProxyCommand={shlex.quote(command)} host",
    "preview": lambda command: f"fzf --preview {shlex.quote(command)}",
    "script": lambda command: f"script -qc {shlex.quote(command)} /dev/null",
    "parallel": lambda command: f"parallel sh -c {shlex.quote(shlex.quote(command))} ::: a",
}
# Layers that read one line only, or whose text ends at a line break.
ONE_LINE = {"reversed", "after"}


@EXAMPLES
@given(danger=st.sampled_from(DANGERS), layers=st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=4))
def test_no_stack_of_wrappings_hides_a_command_that_never_runs(danger, layers):
    command = danger
    for layer in layers:
        if layer in ONE_LINE and "\n" in command:
            continue
        command = LAYERS[layer](command)

    assert _verdict(command) == "block", command


@st.composite
def _spelled(draw: st.DrawFn, word: str) -> str:
    """The word as bash could have it: pieces quoted, escaped or in ANSI form, with empty quotes between."""
    pieces = []
    for character in word:
        form = draw(st.sampled_from(["plain", "single", "double", "escape", "hexadecimal", "octal", "empty"]))
        pieces.append(
            {
                "plain": character,
                "single": f"'{character}'",
                "double": f'"{character}"',
                "escape": f"\\{character}",
                "hexadecimal": f"$'\\x{ord(character):02x}'",
                "octal": f"$'\\{ord(character):03o}'",
                "empty": f"''{character}\"\"",
            }[form]
        )
    return "".join(pieces)


@EXAMPLES
@given(words=st.tuples(*(_spelled(word) for word in WORDS)), blank=st.sampled_from([" ", "  ", "\t", " \\\n "]))
def test_no_spelling_hides_a_command_that_never_runs(words, blank):
    assert _verdict(blank.join(words)) == "block", blank.join(words)


@EXAMPLES
@given(
    st.permutations(["-r", "-f", "/", "-v", "--one-file-system"]),
    st.sampled_from(["rm", "/bin/rm", "sudo rm", "command rm"]),
)
def test_the_order_of_flags_does_not_matter(words, program):
    assert _verdict(" ".join([program, *words])) == "block"


@EXAMPLES
@given(danger=st.sampled_from(DANGERS), before=PLAIN, after=PLAIN, name=st.sampled_from(["a.sh", "b", "run me"]))
def test_moving_a_command_into_a_script_does_not_hide_it(danger, before, after, name):
    script = f"#!/bin/bash\n# {before}\necho {shlex.quote(after)}\n{danger}\n"

    assert _verdict(f"bash {shlex.quote(name)}", {name: script}) == "block"
    assert _verdict(f"./{shlex.quote(name)}", {name: script}) == "block"


HARMLESS = [
    "echo {}",
    "printf '%s\\n' {}",
    "git commit -m {}",
    "grep -rn {} .",
    "rg {}",
    'x={}; echo "$x"',
    "echo {} > notes.txt",
    "echo {} | wc -c",
    "cat <<< {}",
    "git log --grep {}",
    "test {} = x",
    "jq -n --arg a {} x",
    "npm test -- -t {}",
    "echo a # {}",
    "case {} in x) ls ;; esac",
    "[[ $a == {} ]]",
    "gh pr list --search {}",
    "logger {}",
    "sed -n /{}/p x",
]


@EXAMPLES
@given(danger=st.sampled_from(DANGERS), form=st.sampled_from(HARMLESS), before=PLAIN, after=PLAIN)
def test_a_dangerous_text_as_data_runs(danger, form, before, after):
    command = form.replace("{}", shlex.quote(f"{before}; {danger}; {after}".replace("/", "")))

    assert _verdict(command) == "run", command


@EXAMPLES
@given(
    danger=st.sampled_from(DANGERS),
    lines=st.lists(PLAIN, max_size=3),
    reader=st.sampled_from(["cat", "tee a.txt", "wc -l"]),
)
def test_a_document_no_shell_reads_is_data(danger, lines, reader):
    body = "\n".join([*lines, danger])

    assert _verdict(f"{reader} <<'END'\n{body}\nEND\n") == "run"
    assert _verdict(f"{reader} <<'END' > out.txt\n{body}\nEND\n") == "run"


@EXAMPLES
@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(text):
    assert _verdict(text) in ("run", "review", "ask", "block")


@EXAMPLES
@given(
    st.lists(
        st.sampled_from([*"|&;<>(){}[]'\"`$\\ \n#!*?~=aer/-0", "$(", "${", "<<E", "rm", "if", "fi", "do"]), max_size=40
    )
)
def test_any_heap_of_shell_marks_gets_a_verdict(pieces):
    assert _verdict("".join(pieces)) in ("run", "review", "ask", "block")
    assert judge("".join(pieces), corpus_world({"shell": "powershell"})).verdict.word in (
        "run",
        "review",
        "ask",
        "block",
    )
