"""Variables of the environment that some program runs as a command, or takes options from."""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.code_variables import CODE_VARIABLES, read_code_variable
from atlas_gate.parts import Part, Word, name_set
from atlas_gate.reader import Reader
from atlas_gate.words import shell_split

COMMAND_VARIABLES: Final = name_set(
    "GIT_EDITOR GIT_PAGER GIT_SSH_COMMAND GIT_SSH GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_ASKPASS "
    "GIT_PROXY_COMMAND PAGER EDITOR VISUAL MANPAGER LESSOPEN LESSCLOSE BROWSER GH_PAGER GH_EDITOR "
    "GH_BROWSER PROMPT_COMMAND SUDO_EDITOR SUDO_ASKPASS SSH_ASKPASS SYSTEMD_PAGER SYSTEMD_EDITOR FCEDIT PSQL_PAGER "
    "PSQL_EDITOR MYSQL_PAGER BAT_PAGER DELTA_PAGER AWS_PAGER BUNDLER_EDITOR KUBE_EDITOR COMPOSE_EDITOR HGEDITOR "
    "SVN_EDITOR CVSEDITOR TEXEDIT VIPE_EDITOR RSYNC_RSH CVS_RSH SVN_SSH HGSSH BORG_RSH BORG_PASSCOMMAND "
    "RESTIC_PASSWORD_COMMAND RCLONE_PASSWORD_COMMAND FZF_DEFAULT_COMMAND NULLCMD READNULLCMD CC CXX LD RUSTC "
    "RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER RUSTDOC MAKESHELL CONFIG_SHELL"
)
# A program takes the words of its variable as if they stood in front of its own.
_OPTION_VARIABLES: Final = {
    "TAR_OPTIONS": ("tar", "gtar"),
    "FZF_DEFAULT_OPTS": ("fzf", "sk"),
    "RUBYOPT": ("ruby", "irb", "rake", "rails"),
    "MAKEFLAGS": ("make", "gmake"),
    "LESS": ("less", "man", "git"),
    "RSYNC_OPTIONS": ("rsync",),
}
_READERS: Final = {"LESS": "less", "RUBYOPT": "ruby"}


def run_command_variables(reader: Reader, part: Part) -> None:
    """Read what the variables in front of a command make it run."""
    values = {one.name: one.value for one in part.assignments if one.value}
    for name, value in values.items():
        if name in COMMAND_VARIABLES:
            reader.run_text(value.lstrip("|-"), name)
        elif part.name in _OPTION_VARIABLES.get(name, ()):
            words = [Word(word) for word in shell_split(value)]
            reader.run_words([Word(_READERS.get(name, part.name)), *words], name)
        if name in CODE_VARIABLES:
            read_code_variable(reader, part, name, value)
        elif name.startswith("GIT_CONFIG_KEY_"):
            setting = f"{value}={values.get(name.replace('_KEY_', '_VALUE_'), '')}"
            reader.run_words([Word("git"), Word("-c"), Word(setting), Word("status")], name)
        elif name == "GIT_CONFIG_PARAMETERS":
            settings = [
                word for setting in shell_split(value) for word in (Word("-c"), Word(re.sub("'='", "=", setting)))
            ]
            reader.run_words([Word("git"), *settings, Word("status")], name)
