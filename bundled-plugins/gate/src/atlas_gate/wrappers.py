"""Programs that run another program given in their words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, Assignment, Part, Word, is_constant, name_set, program_name
from atlas_gate.reader import Handler, Reader

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


_STARTS_SHELL = frozenset(("-s", "-i", "--shell", "--login"))


_STARTED = re.compile(r"(?:--exec|--startas|-x|-a)[ =](\S+)")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a wrapper's own words end: options that take a value, then so many words, then the command."""

    with_value: tuple[str, ...] = ()
    skips: int = 0
    takes_assignments: bool = False
    command_option: tuple[str, ...] = ()


def _letters(text: str, *names: str) -> tuple[str, ...]:
    return (*text, *names)


WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(
        _letters("ughpCrtTURDa", "user", "group", "host", "prompt", "chdir", "chroot", "role", "type"),
        takes_assignments=True,
    ),
    "doas": Wrapper(_letters("uC")),
    "pkexec": Wrapper(("user",)),
    "su-exec": Wrapper(skips=1),
    "gosu": Wrapper(skips=1),
    "runuser": Wrapper(_letters("ugGs", "user", "group"), command_option=("c", "command")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "nice": Wrapper(_letters("n", "adjustment")),
    "ionice": Wrapper(_letters("cnpPu", "class", "classdata")),
    "chrt": Wrapper(_letters("TPD"), skips=1),
    "taskset": Wrapper(skips=1),
    "timeout": Wrapper(_letters("ks", "kill-after", "signal"), skips=1),
    "gtimeout": Wrapper(_letters("ks", "kill-after", "signal"), skips=1),
    "stdbuf": Wrapper(_letters("ioe", "input", "output", "error")),
    "unbuffer": Wrapper(),
    "time": Wrapper(_letters("fo", "format", "output")),
    "chronic": Wrapper(),
    "ifne": Wrapper(),
    "errno": Wrapper(),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "flock": Wrapper(_letters("wE", "timeout", "wait"), skips=1, command_option=("c", "command")),
    "lockf": Wrapper(_letters("t"), skips=1),
    "strace": Wrapper(_letters("aeEIoOpPsSuX")),
    "ltrace": Wrapper(_letters("aAeFlnopsuwxX")),
    "perf": Wrapper(_letters("eoIr"), skips=1),
    "valgrind": Wrapper(),
    "caffeinate": Wrapper(_letters("tw")),
    "systemd-run": Wrapper(_letters("puMtEH", "unit", "property", "description", "slice", "uid", "gid", "on-active")),
    "systemd-inhibit": Wrapper(),
    "firejail": Wrapper(),
    "fakeroot": Wrapper(_letters("lsib")),
    "proot": Wrapper(_letters("rbw")),
    "chroot": Wrapper(skips=1),
    "unshare": Wrapper(_letters("RwSG")),
    "nsenter": Wrapper(_letters("tSG", "target")),
    "setpriv": Wrapper(("reuid", "regid", "groups")),
    "prlimit": Wrapper(_letters("p", "pid")),
    "setarch": Wrapper(),
    "linux64": Wrapper(),
    "eatmydata": Wrapper(),
    "dbus-run-session": Wrapper(),
    "xvfb-run": Wrapper(_letters("enfps", "server-args")),
    "tsocks": Wrapper(),
    **dict.fromkeys(("proxychains", "proxychains4"), Wrapper(_letters("f"))),
    "run0": Wrapper(_letters("ugD", "user", "group", "unit", "property", "description", "slice", "nice", "chdir")),
    "sg": Wrapper(skips=1, command_option=("c",)),
    "faketime": Wrapper(_letters("f"), skips=1),
    "ssh-agent": Wrapper(_letters("aEOPt")),
    "dbus-launch": Wrapper(("config-file",)),
    "aoss": Wrapper(),
    "daemonize": Wrapper(_letters("cEeolpu")),
    "daemon": Wrapper(_letters("nuUFioeN", "name", "user")),
    "logsave": Wrapper(skips=1),
    "numactl": Wrapper(_letters("NmCipl", "cpunodebind", "membind", "physcpubind", "interleave", "preferred")),
    "cgexec": Wrapper(_letters("g")),
    "sem": Wrapper(_letters("jPS", "id", "jobs")),
    "cross-env": Wrapper(takes_assignments=True),
    "cross-env-shell": Wrapper(takes_assignments=True),
    "env-cmd": Wrapper(_letters("fre", "file", "environments")),
    "envchain": Wrapper(skips=1),
    "schroot": Wrapper(_letters("cud", "chroot", "user", "directory")),
    "nsjail": Wrapper(_letters("cRBTDug")),
    "runcon": Wrapper(_letters("turl")),
    "dbus-update-activation-environment": Wrapper(),
    "choom": Wrapper(_letters("np")),
    "uclampset": Wrapper(_letters("mMp")),
    "pipexec": Wrapper(),
    "ts-retry": Wrapper(),
    "torsocks": Wrapper(),
    "catchsegv": Wrapper(),
    "rlwrap": Wrapper(_letters("CDfHsz")),
    "setuidgid": Wrapper(skips=1),
    "softlimit": Wrapper(_letters("mdsrfoct")),
    "envdir": Wrapper(skips=1),
    "direnv": Wrapper(skips=2),
    "cpulimit": Wrapper(_letters("lp")),
    "watch": Wrapper(_letters("nq", "interval")),
    "entr": Wrapper(),
    "hyperfine": Wrapper(_letters("wmMrpcnSLs", "warmup", "runs", "prepare", "cleanup")),
    "retry": Wrapper(_letters("tdm")),
    "doppler": Wrapper(_letters("pct"), skips=1),
    "tini": Wrapper(),
    "dumb-init": Wrapper(),
    "noglob": Wrapper(),
    "nocorrect": Wrapper(),
    "trickle": Wrapper(_letters("dutlwn")),
    "uvx": Wrapper(_letters("p", "from", "with", "python")),
    "npx": Wrapper(_letters("p", "package"), command_option=("c", "call")),
    "bunx": Wrapper(),
    "pipx": Wrapper(("spec", "python"), skips=1),
    "winpty": Wrapper(),
    "script": Wrapper(_letters("IOBETm"), skips=1, command_option=("c", "command")),
    "wsl": Wrapper(_letters("du", "distribution", "user", "cd")),
}

# `uv run program`: a program, the words that mean "run", and its options with a value.
_RUNNERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "uv": (("run",), ("p", "with", "python", "directory", "project", "group", "extra", "env-file", "package", "from")),
    "poetry": (("run",), ("C", "directory")),
    "pipenv": (("run",), ()),
    "pdm": (("run",), ("p",)),
    "rye": (("run",), ()),
    "hatch": (("run",), ()),
    "conda": (("run",), ("n", "p", "name", "prefix")),
    "mamba": (("run",), ("n", "p", "name", "prefix")),
    "bundle": (("exec",), ()),
    "mise": (("exec", "x"), ()),
    "asdf": (("exec",), ()),
    "rbenv": (("exec",), ()),
    "pyenv": (("exec",), ()),
    "pnpm": (("exec", "dlx"), ("C", "dir", "filter")),
    "yarn": (("exec", "dlx"), ("cwd",)),
    "npm": (("exec", "x"), ("prefix", "package")),
    "bun": (("x",), ()),
    "dotenv": (("run",), ("f", "e", "file")),
    "dotenvx": (("run",), ("f", "env-file")),
    "devbox": (("run",), ("c", "config")),
    "pixi": (("run",), ("e", "environment", "manifest-path")),
    "tox": (("exec",), ("e",)),
    "rustup": (("run",), ()),
    "aws-vault": (("exec",), ("d", "duration", "region")),
    "chamber": (("exec",), ()),
    "infisical": (("run",), ("env", "path", "projectId")),
    "teller": (("run",), ("c", "config")),
    "guix": (("shell", "environment"), ("m", "manifest")),
    "nix": (("shell", "develop", "run"), ()),
    "sops": (("exec-env", "exec-file"), ()),
    "ip": (("netns",), ()),
    "op": (("run",), ("env-file",)),
    "kubectl": (("exec",), ("n", "c", "namespace", "container", "context")),
    "oc": (("exec", "rsh"), ("n", "c", "namespace")),
    "heroku": (("run",), ("a", "app")),
    "vagrant": (("ssh",), ("c",)),
}
# Behind the verb, so many words before the command; a `--` ends them too.
_RUNNER_SKIPS = {"rustup": 1, "aws-vault": 1, "chamber": 1, "sops": 1, "ip": 2}
_TMUX_SHOWS = name_set(
    "rename-window renamew rename-session rename display-message display list-windows lsw list-sessions ls "
    "list-panes lsp select-window selectw select-pane selectp kill-window killw kill-session kill-pane killp "
    "set-option set setw set-window-option set-buffer setb attach attach-session a capture-pane capturep has-session "
    "has show show-options source-file source bind-key info"
)
_LAUNCHERS = name_set(
    "tmux screen nodemon concurrently watchexec gnome-terminal xterm konsole alacritty kitty wezterm dtach abduco "
    "start-stop-daemon capsh zellij terminator xfce4-terminal foot honcho foreman run-one cage sway hyprctl i3-msg"
)
_DESTROYERS = name_set(
    "rm dd shred wipefs mkfs reboot shutdown poweroff halt sh bash zsh dash ksh fish sudo env rimraf"
)
_CONTAINER_VALUES = _letters(
    "veptulwhmnacf", "volume", "mount", "env", "env-file", "publish", "name", "network", "user", "workdir",
    "entrypoint", "label", "memory", "cpus", "platform", "add-host", "cap-add", "cap-drop", "device", "dns", "expose",
    "gpus", "hostname", "ip", "log-driver", "log-opt", "pid", "restart", "runtime", "security-opt", "shm-size", "tmpfs",
    "ulimit", "userns", "volumes-from", "file", "profile", "project-name", "project-directory", "index", "pull",
)  # fmt: skip


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
    rest = words[index:]
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


def shell_split(text: str) -> list[str]:
    """Words of a text by blanks, with quotes and backslashes read."""
    words: list[str] = []
    for match in re.finditer(r"""(?:[^\s'"\\]|\\.|'[^']*'|"(?:\\.|[^"\\])*")+""", text, re.DOTALL):
        words.append(re.sub(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)""", lambda m: m[1] or m[2] or m[3] or "", match[0]))
    return words


def _su(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=_letters("cgGsw", "command", "group", "shell", "session-command"))
    command = options.value("c", "command", "session-command")
    if command is None:
        rest = part.arguments[first_operand(part.arguments) :]
        return reader.run_text(part.input, "su", stdin="") if part.input and len(rest) <= 2 else OUTPUT
    return reader.run_text(command, "su -c", stdin=part.input)


def _xargs(reader: Reader, part: Part) -> str:
    with_value = _letters("IinPLdaEs", "replace", "max-args", "max-procs", "delimiter", "arg-file", "max-lines")
    index = first_operand(part.arguments, with_value=tuple(v for v in with_value if v not in ("i", "replace")))
    options = read_options(part.arguments[:index], with_value=tuple(v for v in with_value if v != "i"))
    source = options.value("a", "arg-file")
    text = part.input if source is None else reader.read_file(reader.state.path(source), is_script=False) or OUTPUT
    command = part.arguments[index:]
    if not command:
        return text
    placeholder = options.value("I", "replace") or ("{}" if options.has("i") else None)
    text = text or OUTPUT
    delimiter = options.value("d", "delimiter")
    if placeholder:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        outputs = [
            reader.run_words([Word(word.text.replace(placeholder, line), word.is_pattern) for word in command], "xargs")
            for line in lines
        ]
        return "".join(outputs)
    if options.has("0", "null"):
        items = [item.rstrip("\n") for item in text.split("\0")]
    elif delimiter is not None:
        items = text.strip("\n").split({"\\n": "\n", "\\0": "\0"}.get(delimiter, delimiter))
    else:
        items = shell_split(text)
    words = [Word(item) for item in items if item]
    return reader.run_words([*command, *words], "xargs")


def _parallel(reader: Reader, part: Part) -> str:
    index = first_operand(part.arguments, with_value=_letters("jNnLSPIda", "jobs", "colsep", "joblog", "tmpdir"))
    words = part.arguments[index:]
    texts = [word.text for word in words]
    cut = next((number for number, text in enumerate(texts) if text in (":::", "::::", ":::+")), len(texts))
    items = [text for text in texts[cut + 1 :] if text not in (":::", ":::+")]
    if cut == len(texts):
        items = [line for line in (part.input or OUTPUT).splitlines() if line]
    elif texts[cut] == "::::":
        items = [OUTPUT]
    command = " ".join(texts[:cut])
    for item in items:
        quoted = Word(item).shown() if is_constant(item) else item
        line = command.replace("{}", quoted) if "{}" in command else f"{command} {quoted}" if command else item
        reader.run_text(line, "parallel")
    return OUTPUT


def _at(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=_letters("fqt"))
    source = options.value("f")
    text = part.input if source is None else reader.read_file(reader.state.path(source)) or OUTPUT
    if text and not options.has("lrdc"):
        reader.unread(part, text)
        reader.run_text(text, "at")
    return OUTPUT


def _runner(reader: Reader, part: Part) -> str:
    verbs, with_value = _RUNNERS[part.name]
    words = part.arguments
    start = first_operand(words, with_value=with_value)
    if part.name == "dotenv" and start < len(words) and words[start].text not in ("run", "get", "set", "list", "unset"):
        return reader.run_words(words[start:], "dotenv", stdin=part.input)
    if start >= len(words) or words[start].text not in verbs:
        return OUTPUT
    rest = words[start + 1 :]
    texts = [word.text for word in rest]
    if part.name in ("npm", "nix", "pnpm"):
        called = read_options(rest, with_value=("c", "call", "command")).value("c", "call")
        if part.name == "nix":
            program = next((text.rpartition("#")[2] for text in texts if "#" in text), None)
            if words[start].text == "run" and program:
                behind = rest[texts.index("--") + 1 :] if "--" in texts else ()
                return reader.run_words((Word(program), *behind), "nix run")
            at = next((at for at, text in enumerate(texts) if text in ("-c", "--command")), None)
            return OUTPUT if at is None else reader.run_words(rest[at + 1 :], "nix", stdin=part.input)
        if called:
            return reader.run_text(called, f"{part.name} {words[start].text} -c")
    if part.name in _RUNNER_SKIPS:
        rest = rest[texts.index("--") + 1 :] if "--" in texts else rest[_RUNNER_SKIPS[part.name] :]
        if part.name == "sops":
            return reader.run_text(rest[0].text, "sops") if rest else OUTPUT
        return reader.run_words(rest, f"{part.name} {words[start].text}", stdin=part.input)
    if part.name in ("guix", "infisical", "teller", "devbox") and "--" in texts:
        return reader.run_words(rest[texts.index("--") + 1 :], part.name, stdin=part.input)
    if part.name in ("kubectl", "oc", "heroku") and "--" in texts:
        return reader.run_words(rest[texts.index("--") + 1 :], part.name)
    if part.name == "vagrant":
        inside = read_options(rest, with_value=("c", "command")).value("c", "command")
        return reader.run_text(inside, "vagrant ssh") if inside else OUTPUT
    index = first_operand(rest, with_value=with_value)
    command = rest[index:]
    if any(word.text in ("-m", "--module") for word in rest[:index]):
        command = (Word("python3"), Word("-m"), *command)
    elif command and command[0].text.endswith(".py"):
        command = (Word("python3"), *command)
    if part.name in ("kubectl", "oc") and command:
        command = command[1:]
    return reader.run_words(command, f"{part.name} {words[start].text}", stdin=part.input)


def _container(reader: Reader, part: Part) -> str:
    """`docker run image command`; a folder of this machine inside it keeps its own name."""
    words = part.arguments
    start = first_operand(words, with_value=_letters("Hcl", "context", "host", "config"))
    verbs = [word.text for word in words[start:]]
    while verbs[:1] in (["compose"], ["container"]):
        start += 1 + first_operand(words[start + 1 :], with_value=_CONTAINER_VALUES)
        verbs = [word.text for word in words[start:]]
    if part.name in ("docker-compose",):
        start = first_operand(words, with_value=_CONTAINER_VALUES)
        verbs = [word.text for word in words[start:]]
    if not verbs or verbs[0] not in ("run", "exec", "create"):
        return OUTPUT
    rest = words[start + 1 :]
    index = first_operand(rest, with_value=_CONTAINER_VALUES)
    options = read_options(rest[:index], with_value=_CONTAINER_VALUES)
    command = list(rest[index + 1 :])
    entry = options.value("entrypoint")
    if entry:
        command = [Word(entry), *command]
    mounts = [value.split(":") for name, value in (*options.values, *options.long) if name in ("v", "volume")]
    for source, target in ((mount[0], mount[1]) for mount in mounts if len(mount) > 1):
        for number, word in enumerate(command):
            if target != "/" and (word.text == target or word.text.startswith(target + "/")):
                command[number] = Word(source.rstrip("/") + "/" + word.text[len(target) + 1 :], word.is_pattern)
    return reader.run_words(command, f"{part.name} {verbs[0]}", stdin=part.input)


def _ssh(reader: Reader, part: Part) -> str:
    with_value = tuple("bcDEeFIiJLlmOopQRSWwBP")
    options = read_options(part.arguments, with_value=with_value)
    for name, value in options.values:
        if name == "o" and value.lower().replace("=", " ").startswith(("proxycommand ", "localcommand ")):
            reader.run_text(value.replace("=", " ").partition(" ")[2], "ssh -o")
    words = part.arguments[first_operand(part.arguments, with_value=with_value) :]
    if len(words) < 2:
        if part.input:
            reader.run_text(part.input, "ssh")
        return OUTPUT
    remote = [word.text for word in words[1:] if word.text != "--"]
    reader.run_text(" ".join(remote), "ssh", stdin=part.input)
    return OUTPUT


def _launch(reader: Reader, part: Part) -> str:
    """A program that starts others in a terminal or again and again: its texts and words are commands."""
    if part.name == "tmux" and _TMUX_SHOWS.intersection(
        part.texts[first_operand(part.arguments, with_value="LSfc") :][:1]
    ):
        return OUTPUT
    program = _STARTED.search(" ".join(part.texts)) if part.name == "start-stop-daemon" else None
    if program is not None:
        rest = part.arguments[part.texts.index("--") + 1 :] if "--" in part.texts else ()
        return reader.run_words((Word(program[1]), *rest), part.name)
    for number, word in enumerate(part.arguments):
        if " " in word.text.strip():
            reader.run_text(word.text, part.name)
        elif names_dangerous(word) and number < len(part.arguments) - 1:
            reader.run_words(part.arguments[number:], part.name)
            break
    return OUTPUT


def _nix_shell(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=("run", "command", "p", "packages", "A", "attr", "I"))
    command = options.value("run", "command")
    return reader.run_text(command, "nix-shell --run") if command else OUTPUT


def _bwrap(reader: Reader, part: Part) -> str:
    """`bwrap` has options with one value and with two; the command begins behind the last of them."""
    words, index = part.arguments, 0
    while index < len(words) and words[index].text.startswith("-"):
        text = words[index].text
        index += 1 + (0 if text in _BWRAP_ALONE or text == "--" else 2 if text in _BWRAP_PAIRS else 1)
        if text == "--":
            break
    return reader.run_words(words[index:], "bwrap", stdin=part.input)


_BWRAP_PAIRS = name_set(
    "--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink --setenv --file --bind-data "
    "--ro-bind-data --chmod"
)
_BWRAP_ALONE = name_set(
    "--unshare-all --share-net --unshare-user --unshare-user-try --unshare-ipc --unshare-pid --unshare-net "
    "--unshare-uts --unshare-cgroup --unshare-cgroup-try --clearenv --new-session --die-with-parent --as-pid-1"
)


def _cargo(reader: Reader, part: Part) -> str:
    """`cargo watch -s text` runs a text whenever a file changes."""
    if part.texts[:1] == ["watch"]:
        options = read_options(part.arguments[1:], with_value=_letters("sxwidC", "shell", "exec", "watch", "ignore"))
        for name, value in (*options.values, *options.long):
            if name in ("s", "shell") and value:
                reader.run_text(value, "cargo watch")
    return OUTPUT


def names_dangerous(word: Word) -> bool:
    """Whether a word names a shell or one of the programs that destroy the most."""
    name = program_name(word.text)
    return name in _DESTROYERS or name.startswith("mkfs.")


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(WRAPPERS, _run_wrapper),
    **dict.fromkeys(_RUNNERS, _runner),
    **dict.fromkeys(_LAUNCHERS, _launch),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), _container),
    "env": _env,
    "nix-shell": _nix_shell,
    "bwrap": _bwrap,
    "cargo": _cargo,
    "su": _su,
    "xargs": _xargs,
    "gxargs": _xargs,
    "parallel": _parallel,
    "at": _at,
    "batch": _at,
    "ssh": _ssh,
    "mosh": _ssh,
    "sshpass": lambda reader, part: reader.run_words(
        part.arguments[first_operand(part.arguments, with_value=_letters("pfdP")) :], "sshpass", stdin=part.input
    ),
}
