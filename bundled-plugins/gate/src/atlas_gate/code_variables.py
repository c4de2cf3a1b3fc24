"""Variables of the environment that name code some program loads before its own."""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.git_program import run_git_settings
from atlas_gate.languages import run_code
from atlas_gate.option_commands import option_values
from atlas_gate.parts import UNKNOWN, Part, name_set
from atlas_gate.reader import Reader
from atlas_gate.words import shell_split

_NODE_LOADS: Final = ("--require", "-r", "--import", "--loader", "--experimental-loader")
_GIT_FILES: Final = frozenset(("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG"))
CODE_VARIABLES: Final = _GIT_FILES | name_set(
    "NODE_OPTIONS PYTHONSTARTUP PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS BASH_ENV ENV"
)
# Perl's and Ruby's own, which load nothing that is not theirs.
_PERL_OWN: Final = re.compile(r"-[CTtWXw]\w*|-M-?(?:strict|warnings|utf8|open|feature|bytes|diagnostics)(?:=.*)?")
_NOTHING: Final = frozenset(("", "/dev/null", "NUL"))


def read_code_variable(reader: Reader, part: Part, name: str, value: str) -> None:
    """Read the code a variable names; what cannot be read is noted as run unread."""
    if value in _NOTHING:
        return
    if name in _GIT_FILES:
        text = reader.read_file(reader.state.path(value))
        if text is None:
            reader.unread(part, UNKNOWN)
        else:
            run_git_settings(reader, text)
    elif name == "NODE_OPTIONS":
        for _, module in option_values(shell_split(value), _NODE_LOADS):
            _load(reader, part, module, "javascript")
    elif name == "PYTHONSTARTUP":
        _load(reader, part, f"./{value}" if "/" not in value else value, "python")
    elif name == "PERL5OPT":
        for word in shell_split(value):
            if not _PERL_OWN.fullmatch(word):
                reader.unread(part, UNKNOWN)
    elif name == "RUBYOPT":
        for module in re.findall(r"(?:^|\s)-r\s*+(\S++)", value):
            _load(reader, part, module, "perl")
    elif name.endswith("_OPTIONS"):
        if re.search(r"-(?:javaagent|agentpath|agentlib):(?!jdwp)|@", value):
            reader.unread(part, UNKNOWN)
    elif (name == "BASH_ENV" or "/" in value) and reader.read_file(reader.state.path(value)) is None:
        reader.unread(part, UNKNOWN)  # a file that can be read is read where the shell starts


def _load(reader: Reader, part: Part, module: str, language: str) -> None:
    """A file by its path. A name alone is a package the project depends on, like those its source names."""
    path = re.sub(r"^file://", "", module)
    if not path.startswith(("/", ".", "~", UNKNOWN)) and path.isascii():
        return
    text = reader.read_file(reader.state.path(path))
    if text is None:
        reader.unread(part, UNKNOWN)
    else:
        reader.unread(part, text, is_code=True)
        run_code(reader, text, language, module)
