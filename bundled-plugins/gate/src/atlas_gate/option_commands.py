"""Programs with an option whose value is a command they run, or a setting that holds one.

One table for all: the registry reads these options of every program named here before the program's
own handler looks at the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from atlas_gate.languages import run_code
from atlas_gate.parts import DECODED, FETCHED, Part
from atlas_gate.reader import Handler, Reader


def _by_program(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(options.split()) for names, options in table.items() for name in names.split()}


# Options as they are written: two dashes and a name, one dash and a letter, or a whole word of another kind.
_COMMANDS = _by_program(
    {
        "tar bsdtar gtar": "-I -F --use-compress-program --to-command --info-script --new-volume-script "
        "--checkpoint-action --rsh-command --rmt-command",
        "cpio": "--rsh-command --rmt-command",
        "zip": "-TT --unzip-command",
        "sort gsort": "--compress-program",
        "split gsplit": "--filter",
        "rsync": "-e --rsh --rsync-path",
        "scp sftp": "-S",
        "rg": "--pre --hostname-bin",
        "ag ack bat batcat delta mysql mariadb": "--pager",
        "man": "-P --pager -H --html",
        "nano": "-s --speller",
        "fzf sk": "--preview",
        "wget": "--use-askpass",
        "aria2c": "--on-download-complete --on-download-start --on-download-error --on-download-stop "
        "--on-download-pause --on-bt-download-complete",
        "yt-dlp youtube-dl": "--exec --exec-before-download --netrc-cmd",
        "transmission-cli": "-f --finish",
        "tcpdump": "-z",
        "tshark dumpcap": "-z",
        "nc ncat netcat": "-c -e --exec --sh-exec --lua-exec",
        "openvpn": "--up --down --ipchange --route-up --route-pre-down --tls-verify --auth-user-pass-verify "
        "--client-connect --client-disconnect --learn-address",
        "pppd": "connect disconnect init pty",
        "dhclient": "-sf",
        "udhcpc": "-s --script",
        "wpa_cli": "-a",
        "dpkg": "--pre-invoke --post-invoke --status-logger",
        "gpg gpg2": "--photo-viewer --agent-program --dirmngr-program --pinentry-program",
        "gpg-agent": "--pinentry-program",
        "borg": "--rsh --remote-path",
        "restic rclone": "--password-command",
        "msmtp mbsync": "--passwordeval",
        "svn": "--editor-cmd --diff-cmd --diff3-cmd",
        "cvs": "-e",
        "bazel bazelisk": "--run_under",
        "go": "-exec -toolexec -vettool",
        "gcc g++ cc c++": "-wrapper",
        "hyperfine": "-p -s -c -C --prepare --setup --cleanup --conclude",
        "watchmedo chokidar": "-c --command",
        "watchman-make": "-r --run",
        "bpftrace stap dtrace": "-c",
        "npm pnpm": "--script-shell",
        "ansible": "-a --args",
        "gcloud": "--command",
        "mapfile readarray complete compgen": "-C",
        "fc": "-e",
    }
)
# Options whose value is `name=command`, with the names that hold one.
_SETTINGS: dict[str, tuple[tuple[str, ...], re.Pattern[str]]] = {
    name: (tuple(options.split()), re.compile(pattern, re.IGNORECASE))
    for names, options, pattern in (
        ("ssh scp sftp mosh autossh sshfs", "-o", r"(?:proxy|local|knownhosts)command"),
        ("apt apt-get aptitude", "-o --option", r".*(?:pre|post)-(?:invoke|install-pkgs)(?:-success)?(?:::.*)?"),
        ("hg", "--config", r"ui\.(?:editor|ssh|merge)|alias\..*|hooks\..*|pager\.pager|(?:extdiff|merge-tools)\..*"),
        ("svn", "--config-option", r"\w+:(?:tunnels|helpers):[\w-]+"),
        ("restic", "-o --option", r"sftp\.command"),
        ("postgres pg_ctl", "-c -o", r"(?:-c\s*)?\w*_command"),
        ("cargo", "--config", r".*(?:runner|rustc|rustc-wrapper|rustc-workspace-wrapper|linker|rustdoc)"),
        ("mail mailx mutt neomutt", "-S -e", r"(?:set\s+)?(?:sendmail|editor|shell|mta|inews|visual)"),
    )
    for name in names.split()
}
# Options whose value is a file or a text in a language of its own.
_SOURCES: dict[str, tuple[tuple[str, ...], str]] = {
    "nmap": (("--script",), "lua"),
    **dict.fromkeys(("nvim", "vim"), (("-l",), "lua")),
}
PROGRAMS = frozenset((*_COMMANDS, *_SETTINGS, *_SOURCES))

# A long option may be cut as long as it stays one of a kind; shorter than this it is somebody else's.
_SHORTEST_CUT = len("--xxxx")
# `name=command` and `name command`.
_SETTING_FORMS = (re.compile(r"(.*?)\s*=\s*(.*)", re.DOTALL), re.compile(r"(\S+)\s+(.*)", re.DOTALL))
_QUOTED = re.compile(r"^(['\"])(.*)\1$", re.DOTALL)
# What may stand in front of the command in a value: `exec=rm`, `!rm`, `|rm`.
_INTRODUCTION = re.compile(r"exec=|[!|]\s*")
_WHEN = re.compile(r"(?:before_dl|after_\w+|pre_process|post_process|video|playlist):")


def with_option_commands(handler: Handler) -> Handler:
    """The handler, with the commands in the options read first."""

    def read_both(reader: Reader, part: Part) -> str:
        _run_options(reader, part)
        return handler(reader, part)

    return read_both


def _run_options(reader: Reader, part: Part) -> None:
    for option, value in option_values(part.texts, _COMMANDS.get(part.name, ())):
        command = _WHEN.sub("", value, count=1) if part.name in ("yt-dlp", "youtube-dl") else value
        run_option(reader, part, command.replace(",", " ") if option == "-wrapper" else command, option)
    options, names = _SETTINGS.get(part.name, ((), None))
    for option, value in option_values(part.texts, options):
        for form in _SETTING_FORMS:
            setting = form.fullmatch(value)
            if setting is not None and names is not None and names.fullmatch(setting[1]):
                run_option(reader, part, _QUOTED.sub(r"\2", setting[2]), option)
                break
    options, language = _SOURCES.get(part.name, ((), ""))
    for option, value in option_values(part.texts, options):
        source = reader.read_file(reader.state.path(value))
        if source is not None:
            run_code(reader, source, language, f"{part.name} {option}")


def run_option(reader: Reader, part: Part, value: str, option: str) -> None:
    """Read the command an option holds."""
    command = _INTRODUCTION.sub("", value, count=1) if _INTRODUCTION.match(value) else value
    if FETCHED in command or DECODED in command:
        reader.unread(part, command)
    reader.run_text(command, f"{part.name} {option}")


def option_values(texts: list[str], options: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The values of the options, wherever they stand and however they are joined to them."""
    for at, text in enumerate(texts):
        if text == "--":
            return
        following = texts[at + 1] if at + 1 < len(texts) else ""
        name, equals, value = text.partition("=")
        for option in options:
            if option.startswith("--"):
                is_cut = len(name) >= _SHORTEST_CUT and name.startswith("--") and option.startswith(name)
                if name == option or is_cut:
                    yield option, value if equals else following
            elif len(option) == 2 and option.startswith("-"):
                if text.startswith("-") and not text.startswith("--") and option[1] in text:
                    yield option, text.partition(option[1])[2] or following
            elif name == option:
                yield option, value if equals else following
