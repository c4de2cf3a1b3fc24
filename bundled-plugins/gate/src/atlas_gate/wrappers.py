"""Programs that run another program given in their words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, Assignment, Part, Word, name_set
from atlas_gate.reader import Handler, Reader
from atlas_gate.words import shell_split

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")

_STARTS_SHELL = frozenset(("-s", "-i", "--shell", "--login"))


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper's own words end: options that take a value, then so many words, then the command."""

    with_value: tuple[str, ...] = ()
    skips: int = 0
    takes_assignments: bool = False
    command_option: tuple[str, ...] = ()


# The loader runs the program it is given, and so does an emulator.
_LOADERS = name_set(
    "ld.so ld-linux.so.2 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1 ld-linux-armhf.so.3 ld-musl-x86_64.so.1 "
    "ld-musl-aarch64.so.1"
)
_EMULATORS = name_set("qemu-x86_64 qemu-i386 qemu-arm qemu-aarch64 qemu-riscv64 box64 wine")

WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(
        (*"ughpCrtTURDa", "user", "group", "host", "prompt", "chdir", "chroot", "role", "type"), takes_assignments=True
    ),
    "doas": Wrapper(tuple("uC")),
    "pkexec": Wrapper(("user",)),
    "su-exec": Wrapper(skips=1),
    "gosu": Wrapper(skips=1),
    "runuser": Wrapper((*"ugGs", "user", "group"), command_option=("c", "command")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "nice": Wrapper((*"n", "adjustment")),
    "ionice": Wrapper((*"cnpPu", "class", "classdata")),
    "chrt": Wrapper(tuple("TPD"), skips=1),
    "taskset": Wrapper(skips=1),
    "timeout": Wrapper((*"ks", "kill-after", "signal"), skips=1),
    "gtimeout": Wrapper((*"ks", "kill-after", "signal"), skips=1),
    "stdbuf": Wrapper((*"ioe", "input", "output", "error")),
    "unbuffer": Wrapper(),
    "time": Wrapper((*"fo", "format", "output")),
    "chronic": Wrapper(),
    "ifne": Wrapper(),
    "errno": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "flock": Wrapper((*"wE", "timeout", "wait"), skips=1, command_option=("c", "command")),
    "lockf": Wrapper(tuple("t"), skips=1),
    "strace": Wrapper((*"aeEIoOpPsSuX", "trace", "output", "string-limit", "signal", "status", "env", "user")),
    "ltrace": Wrapper(tuple("aAeFlnopsuwxX")),
    "valgrind": Wrapper(),
    "caffeinate": Wrapper(tuple("tw")),
    "systemd-run": Wrapper(
        (
            *"puMtEH",
            "unit",
            "property",
            "description",
            "slice",
            "uid",
            "gid",
            "setenv",
            "working-directory",
            "nice",
            "on-active",
            "on-boot",
            "on-startup",
            "on-unit-active",
            "on-calendar",
            "timer-property",
            "service-type",
            "machine",
            "host",
        )
    ),
    "systemd-inhibit": Wrapper(),
    "firejail": Wrapper(),
    "fakeroot": Wrapper(tuple("lsib")),
    "proot": Wrapper(tuple("rbw")),
    "chroot": Wrapper(skips=1),
    "unshare": Wrapper((*"RwSG", "root", "wd", "setuid", "setgid", "propagation", "setgroups", "map-user")),
    "nsenter": Wrapper((*"tSG", "target")),
    "setpriv": Wrapper(("reuid", "regid", "groups")),
    "prlimit": Wrapper((*"p", "pid")),
    "setarch": Wrapper(),
    "linux64": Wrapper(),
    "eatmydata": Wrapper(),
    "dbus-run-session": Wrapper(),
    "xvfb-run": Wrapper((*"enfps", "server-args")),
    "tsocks": Wrapper(),
    **dict.fromkeys(("proxychains", "proxychains4"), Wrapper(tuple("f"))),
    "run0": Wrapper((*"ugD", "user", "group", "unit", "property", "description", "slice", "nice", "chdir")),
    "sg": Wrapper(skips=1, command_option=("c",)),
    "faketime": Wrapper(tuple("f"), skips=1),
    "ssh-agent": Wrapper(tuple("aEOPt")),
    "dbus-launch": Wrapper(("config-file",)),
    "aoss": Wrapper(),
    "daemonize": Wrapper(tuple("cEeolpu")),
    "daemon": Wrapper((*"nuUFioeN", "name", "user")),
    "logsave": Wrapper(skips=1),
    "numactl": Wrapper((*"NmCipl", "cpunodebind", "membind", "physcpubind", "interleave", "preferred")),
    "cgexec": Wrapper(tuple("g")),
    "sem": Wrapper((*"jPS", "id", "jobs")),
    "cross-env": Wrapper(takes_assignments=True),
    "cross-env-shell": Wrapper(takes_assignments=True),
    "env-cmd": Wrapper((*"fre", "file", "environments")),
    "envchain": Wrapper(skips=1),
    "schroot": Wrapper((*"cud", "chroot", "user", "directory")),
    "nsjail": Wrapper(tuple("cRBTDug")),
    "runcon": Wrapper(tuple("turl")),
    "dbus-update-activation-environment": Wrapper(),
    "choom": Wrapper(tuple("np")),
    "uclampset": Wrapper(tuple("mMp")),
    "pipexec": Wrapper(),
    "ts-retry": Wrapper(),
    "torsocks": Wrapper(),
    "catchsegv": Wrapper(),
    "rlwrap": Wrapper(tuple("CDfHsz")),
    "setuidgid": Wrapper(skips=1),
    "softlimit": Wrapper(tuple("mdsrfoct")),
    "envdir": Wrapper(skips=1),
    "direnv": Wrapper(skips=2),
    "cpulimit": Wrapper(tuple("lp")),
    "watch": Wrapper((*"nq", "interval")),
    "entr": Wrapper(),
    "hyperfine": Wrapper((*"wmMrpcnSLs", "warmup", "runs", "prepare", "cleanup")),
    "retry": Wrapper(tuple("tdm")),
    "doppler": Wrapper(tuple("pct"), skips=1),
    "tini": Wrapper(),
    "dumb-init": Wrapper(),
    "noglob": Wrapper(),
    "nocorrect": Wrapper(),
    "trickle": Wrapper(tuple("dutlwn")),
    "uvx": Wrapper((*"p", "from", "with", "python")),
    "npx": Wrapper((*"p", "package"), command_option=("c", "call")),
    "bunx": Wrapper(),
    "pipx": Wrapper(("spec", "python"), skips=1),
    "winpty": Wrapper(),
    "chpst": Wrapper(tuple("uUbedop/nlLmcrtf")),
    **dict.fromkeys(("s6-setuidgid", "s6-envdir", "s6-setlock"), Wrapper(skips=1)),
    "timelimit": Wrapper(tuple("tTsS")),
    "heaptrack": Wrapper(tuple("oD")),
    "reflex": Wrapper(tuple("rRgG")),
    "flatpak-spawn": Wrapper(),
    "distrobox-host-exec": Wrapper(),
    **dict.fromkeys(_LOADERS, Wrapper(("library-path", "preload", "argv0"))),
    **dict.fromkeys(_EMULATORS, Wrapper(("L", "cpu", "E", "U", "B", "g"))),
    "script": Wrapper(tuple("IOBETm"), skips=1, command_option=("c", "command")),
    "wsl": Wrapper((*"du", "distribution", "user", "cd")),
}


def _run_wrapper(reader: Reader, part: Part) -> str:
    wrapper = WRAPPERS[part.name]
    words = part.arguments
    if wrapper.command_option:
        command = read_options(words, with_value=(*wrapper.with_value, *wrapper.command_option)).value(
            *wrapper.command_option
        )
        if command is not None:
            return reader.run_text(command, f"{part.name} -c", stdin=part.input)
    index = first_operand(words, with_value=wrapper.with_value) + wrapper.skips
    if wrapper.skips and index < len(words) and words[index].text == "--":
        index += 1
    while wrapper.takes_assignments and index < len(words) and _ASSIGNMENT.match(words[index].text):
        index += 1
    if part.name == "pipx":
        # Its own options stand behind its verb.
        index += first_operand(words[index:], with_value=(*wrapper.with_value, "index-url", "pip-args"))
    rest = words[index:]
    if part.name == "entr" and rest and any(re.fullmatch(r"-\w*s\w*", word.text) for word in words[:index]):
        return reader.run_text(rest[0].text, "entr -s")
    if not rest and part.name in ("sudo", "doas", "run0") and part.input:
        return reader.run_text(part.input, part.name) if _STARTS_SHELL.intersection(part.texts) else OUTPUT
    if (
        part.name in ("watch", "hyperfine", "sg", "cross-env-shell")
        and len(rest) >= 1
        and any(" " in word.text for word in rest)
    ):
        outputs = [reader.run_text(word.text, part.name) for word in rest]
        return "".join(outputs)
    return reader.run_words(rest, part.name, stdin=part.input)


def _env(reader: Reader, part: Part) -> str:
    words = part.arguments
    folder = reader.state.folder
    index = 0
    while index < len(words):
        text = words[index].text
        index += 1
        split = None
        if text.startswith(("--split-string=", "-S")) and text != "-S":
            split = text.partition("=")[2] if text.startswith("--") else text[2:]
        elif re.fullmatch(r"-[i0v]*S|--split-string", text) and index < len(words):
            split = words[index].text
            index += 1
        elif re.fullmatch(r"-[i0v]*S.+", text):
            split = text.partition("S")[2]
        if split is not None:
            again = Part((part.words[0], *_split_string(reader, split), *words[index:]), input=part.input)
            return _env(reader, again)
        if text in ("-u", "-C", "--unset", "--chdir"):
            if text in ("-C", "--chdir") and index < len(words):
                folder = reader.state.path(words[index])
            index += 1
        elif text.startswith("--chdir="):
            folder = reader.state.path(text.partition("=")[2])
        elif text != "--" and not text.startswith("-") and not _ASSIGNMENT.match(text):
            index -= 1
            break
    before = [word.text.partition("=") for word in words[:index] if _ASSIGNMENT.match(word.text)]
    assignments = tuple(Assignment(name, value) for name, _, value in before)
    before_folder, reader.state.folder = reader.state.folder, folder
    try:
        return reader.run_words(words[index:], "env", stdin=part.input, assignments=assignments)
    finally:
        reader.state.folder = before_folder


def _split_string(reader: Reader, text: str) -> list[Word]:
    """`env -S` splits on blanks and knows quotes, but expands nothing."""
    return [Word(word) for word in shell_split(text)]


def _su(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=(*"cgGsw", "command", "group", "shell", "session-command"))
    command = options.value("c", "command", "session-command")
    if command is None:
        rest = part.arguments[first_operand(part.arguments) :]
        return reader.run_text(part.input, "su", stdin="") if part.input and len(rest) <= 2 else OUTPUT
    return reader.run_text(command, "su -c", stdin=part.input)


HANDLERS: dict[str, Handler] = {**dict.fromkeys(WRAPPERS, _run_wrapper), "env": _env, "su": _su}
