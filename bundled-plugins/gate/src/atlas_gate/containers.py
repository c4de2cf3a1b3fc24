"""Programs that run a command inside a container or a sandbox of this machine."""

from __future__ import annotations

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, Part, Word, name_set
from atlas_gate.reader import Handler, Reader

_CONTAINER_VALUES = (
    *"veptulwhmnacf", "volume", "mount", "env", "env-file", "publish", "name", "network", "user", "workdir",
    "entrypoint", "label", "memory", "cpus", "platform", "add-host", "cap-add", "cap-drop", "device", "dns", "expose",
    "gpus", "hostname", "ip", "log-driver", "log-opt", "pid", "restart", "runtime", "security-opt", "shm-size", "tmpfs",
    "ulimit", "userns", "volumes-from", "file", "profile", "project-name", "project-directory", "index", "pull",
)  # fmt: skip

_BWRAP_PAIRS = name_set(
    "--bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink --setenv --file --bind-data "
    "--ro-bind-data --chmod"
)

_BWRAP_ALONE = name_set(
    "--unshare-all --share-net --unshare-user --unshare-user-try --unshare-ipc --unshare-pid --unshare-net "
    "--unshare-uts --unshare-cgroup --unshare-cgroup-try --clearenv --new-session --die-with-parent --as-pid-1"
)


def _container(reader: Reader, part: Part) -> str:
    """`docker run image command`; a folder of this machine inside it keeps its own name."""
    words = part.arguments
    start = first_operand(words, with_value=(*"Hcl", "context", "host", "config"))
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
        if source == "~" or source.startswith("~/"):
            source = reader.world.home + source[1:]
        for number, word in enumerate(command):
            if target != "/" and (word.text == target or word.text.startswith(target + "/")):
                command[number] = Word(source.rstrip("/") + "/" + word.text[len(target) + 1 :], word.is_pattern)
    return reader.run_words(command, f"{part.name} {verbs[0]}", stdin=part.input)


def _bwrap(reader: Reader, part: Part) -> str:
    """`bwrap` has options with one value and with two; the command begins behind the last of them."""
    words, index = part.arguments, 0
    while index < len(words) and words[index].text.startswith("-"):
        text = words[index].text
        index += 1 + (0 if text in _BWRAP_ALONE or text == "--" else 2 if text in _BWRAP_PAIRS else 1)
        if text == "--":
            break
    return reader.run_words(words[index:], "bwrap", stdin=part.input)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), _container),
    "bwrap": _bwrap,
}
