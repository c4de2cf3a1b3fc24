"""What Git runs: its settings, hooks and aliases, and the verbs that take a command."""

from __future__ import annotations

import re

from atlas_gate.git_hooks import run_hooks
from atlas_gate.option_commands import option_values
from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, Part, Word, name_set
from atlas_gate.path_forms import plain_path
from atlas_gate.reader import Handler, Reader

_GIT_COMMAND_SETTINGS = re.compile(
    r"(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|sequence\.editor|diff\.external|gpg\.program"
    r"|pager\.\w+|.*\.(?:textconv|clean|smudge|process|cmd|command|driver)|credential\.helper)$",
    re.IGNORECASE,
)

_GIT_RUNS_HOOKS = name_set("commit push pull merge rebase checkout switch am gc cherry-pick revert")

_SECTION = re.compile(r"\s*+\[\s*+([\w.-]++)(?:\s++\"([^\"]*)\")?\s*+\]")
_SENDS = ("to-cmd", "cc-cmd", "header-cmd", "sendmail-cmd", "smtp-server")
_GIT_VALUES = ("C", "c", "git-dir", "work-tree", "namespace", "exec-path", "config-env")


def _git(reader: Reader, part: Part) -> str:
    words = part.arguments
    start = first_operand(words, with_value=_GIT_VALUES)
    options = read_options(words[:start], with_value=_GIT_VALUES)
    hooks_folder: str | None = None
    folder = reader.state.folder
    for name, value in (*options.values, *options.long):
        if name == "c":
            setting, _, command = value.partition("=")
            _git_setting(reader, setting, command)
            if setting.lower() == "core.hookspath":
                hooks_folder = command
        elif name == "C":
            folder = plain_path(value, folder)
    if start >= len(words):
        return OUTPUT
    verb, rest = words[start].text, words[start + 1 :]
    texts = [word.text for word in rest]
    if verb in _GIT_RUNS_HOOKS and reader.state.files:
        for path, hook in list(reader.state.files.items()):
            if "/.git/hooks/" in path:
                reader.run_text(hook, "git hook")
    run_hooks(reader, verb, texts, folder, hooks_folder)
    match verb:
        case "rebase":
            between = read_options(rest, with_value=("x", "exec")).value("x", "exec")
            if between:
                reader.run_text(between, "git rebase -x")
        case "difftool":
            shown = read_options(rest, with_value=("x", "extcmd", "t")).value("x", "extcmd")
            if shown:
                reader.run_text(shown, "git difftool -x")
        case "bisect" if texts[:1] == ["run"]:
            reader.run_words(rest[1:], "git bisect run")
        case "submodule" if "foreach" in texts:
            after = [text for text in texts[texts.index("foreach") + 1 :] if text != "--recursive"]
            reader.run_text(" ".join(after), "git submodule foreach")
        case "filter-branch":
            for at, text in enumerate(texts[:-1]):
                if text.endswith("-filter"):
                    reader.run_text(texts[at + 1], f"git {text}")
        case "send-email":
            given = read_options(rest)
            for name, value in given.long:
                if name in _SENDS and (name != "smtp-server" or value.startswith(("/", "./", "~"))):
                    reader.run_text(value, f"git send-email --{name}")
        case "clone" | "fetch" | "pull" | "push" | "ls-remote" | "archive":
            asked = read_options(rest, with_value=("u", "upload-pack", "receive-pack", "exec"))
            names = ("upload-pack", "receive-pack", "exec", *(("u",) if verb == "clone" else ()))
            for command in [value for name, value in (*asked.values, *asked.long) if name in names and value]:
                reader.run_text(command, f"git {verb}")
            if verb == "clone":
                for _, value in option_values(texts, ("-c", "--config")):
                    setting, _, command = value.partition("=")
                    _git_setting(reader, setting, command)
            for text in texts:
                if text.startswith("ext::"):
                    reader.run_text(text[5:], "git ext")
        case "grep":
            shown = read_options(rest, with_value=("e", "f")).value("open-files-in-pager")
            shown = shown or next((text[2:] for text in texts if re.match(r"-O.", text)), None)
            if shown:
                reader.run_text(shown, "git grep -O")
        case "config":
            plain = [text for text in texts if not text.startswith("-") and text != "set"]
            if len(plain) > 1:
                _git_setting(reader, plain[0], plain[1])
        case _:
            aliased = reader.state.variables.get(f"git alias.{verb}")
            if isinstance(aliased, str):
                _run_git_alias(reader, aliased, rest)
    return OUTPUT


def run_git_settings(reader: Reader, text: str) -> None:
    """Read what a file of Git's settings makes it run."""
    section = ""
    for line in text.splitlines():
        header = _SECTION.match(line)
        if header is not None:
            section = f"{header[1]}.{header[2]}" if header[2] else header[1]
            continue
        name, equals, value = line.partition("=")
        if equals:
            _git_setting(reader, f"{section}.{name.strip()}", value.strip().strip('"'))


def _git_setting(reader: Reader, setting: str, command: str) -> None:
    if setting.lower().startswith("alias."):
        reader.set_variable("git " + setting.lower(), command)
        if command.startswith("!"):
            reader.run_text(command[1:], "git alias")
    elif _GIT_COMMAND_SETTINGS.match(setting) and command not in ("", "true", "false"):
        reader.run_text(command.removeprefix("!"), f"git {setting}")


def _run_git_alias(reader: Reader, aliased: str, rest: tuple[Word, ...]) -> None:
    words = " ".join(word.shown() for word in rest)
    if aliased.startswith("!"):
        reader.run_text(f"{aliased[1:]} {words}", "git alias")
    else:
        reader.run_text(f"git {aliased} {words}", "git alias")


HANDLERS: dict[str, Handler] = {"git": _git}
