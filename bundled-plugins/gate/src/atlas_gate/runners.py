"""Package managers and their kind, which run a program behind a verb: `uv run`, `npm exec`."""

from __future__ import annotations

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, Part, Word, name_set
from atlas_gate.reader import Handler, Reader

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
    "ip": (("netns", "vrf"), ("n", "netns")),
    "op": (("run",), ("env-file",)),
    "kubectl": (("exec", "run", "debug"), ("n", "c", "namespace", "container", "context", "image")),
    "oc": (("exec", "rsh", "run", "debug"), ("n", "c", "namespace", "image")),
    "heroku": (("run",), ("a", "app")),
    **dict.fromkeys(("lxc", "incus"), (("exec",), ("cwd", "env", "user", "group", "project"))),
    "multipass": (("exec",), ("d", "working-directory")),
    "distrobox": (("enter",), ("n", "name", "a")),
    "toolbox": (("run",), ("c", "container", "r", "release", "d", "distro")),
    "machinectl": (("shell",), ("M", "machine", "uid", "setenv", "E")),
    "meson": (("devenv",), ("C", "w", "workdir")),
    "perf": (("record", "stat", "trace", "mem", "c2c", "lock"), (*"eoFIrCGm", "event", "output", "freq", "repeat")),
    "rr": (("record",), (*"opv", "output-trace-dir")),
    "trace-cmd": (("record", "profile"), tuple("eofplPOsmB")),
    "vagrant": (("ssh",), ("c",)),
}

# Behind the verb, so many words before the command; a `--` ends them too.
_RUNNER_SKIPS = {"rustup": 1, "aws-vault": 1, "chamber": 1, "sops": 1, "ip": 2, "machinectl": 1}


# Programs that put `--` in front of the command, and those that name a machine in front of it.
_BEHIND_DASHES = name_set("kubectl oc heroku lxc incus multipass distrobox toolbox machinectl meson perf rr trace-cmd")
_NAMES_FIRST = name_set("kubectl oc lxc incus multipass distrobox")


def _runner(reader: Reader, part: Part) -> str:
    verbs, with_value = _RUNNERS[part.name]
    words = part.arguments
    start = first_operand(words, with_value=with_value)
    if part.name == "dotenv" and start < len(words) and words[start].text not in ("run", "get", "set", "list", "unset"):
        return reader.run_words(words[start:], "dotenv", stdin=part.input)
    if part.name == "uv" and [word.text for word in words[start : start + 2]] == ["tool", "run"]:
        start += 1
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
    if part.name in _BEHIND_DASHES and "--" in texts:
        return reader.run_words(rest[texts.index("--") + 1 :], part.name, stdin=part.input)
    if part.name in ("kubectl", "oc") and words[start].text in ("run", "debug"):
        return OUTPUT
    if part.name == "vagrant":
        inside = read_options(rest, with_value=("c", "command")).value("c", "command")
        return reader.run_text(inside, "vagrant ssh") if inside else OUTPUT
    index = first_operand(rest, with_value=with_value)
    command = rest[index:]
    if any(word.text in ("-m", "--module") for word in rest[:index]):
        command = (Word("python3"), Word("-m"), *command)
    elif command and command[0].text.endswith(".py"):
        command = (Word("python3"), *command)
    if part.name in _NAMES_FIRST and command:
        command = command[1:]
    return reader.run_words(command, f"{part.name} {words[start].text}", stdin=part.input)


def _nix_shell(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=("run", "command", "p", "packages", "A", "attr", "I"))
    command = options.value("run", "command")
    return reader.run_text(command, "nix-shell --run") if command else OUTPUT


def _cargo(reader: Reader, part: Part) -> str:
    """`cargo watch -s text` runs a text whenever a file changes."""
    if part.texts[:1] == ["watch"]:
        options = read_options(part.arguments[1:], with_value=(*"sxwidC", "shell", "exec", "watch", "ignore"))
        for name, value in (*options.values, *options.long):
            if name in ("s", "shell") and value:
                reader.run_text(value, "cargo watch")
    return OUTPUT


HANDLERS: dict[str, Handler] = {**dict.fromkeys(_RUNNERS, _runner), "nix-shell": _nix_shell, "cargo": _cargo}
