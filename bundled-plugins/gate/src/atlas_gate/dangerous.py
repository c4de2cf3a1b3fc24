"""Dangerous commands on this machine: the reviewer looks at them first."""

from __future__ import annotations

import re

from atlas_gate.destroyers import RULES as DESTROYERS
from atlas_gate.git_losses import loses_work
from atlas_gate.options import Options, first_operand, read_options
from atlas_gate.parts import Part, Word, is_constant, name_set, without_marks
from atlas_gate.paths import GIT_RUNS, Ground
from atlas_gate.rules import Rule, RuleList, Verdict
from atlas_gate.verb_tables import DESTROYS, PUBLISHES, cloud_deletes, destroys, publishes
from atlas_gate.written_files import unpacked_into, written_words

_SQL_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_SQL_STRING = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\s[^\"]*\"")
_SQL_DESTROYS = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|index|view|role|user|owned|column|keyspace|collection|materialized)"
    r"|truncate\s+(?:table\s+)?\w|delete\s+from\s+[\w.\"`]+\s*(?:;|$)|alter\s+table\s+\S+\s+drop)"
    r"|\bdropDatabase\(|\.drop\(\)|\bdeleteMany\(\s*\{\s*\}",
    re.IGNORECASE,
)
_SQL_PROGRAMS = name_set(
    "psql mysql mariadb sqlite3 sqlite duckdb clickhouse-client clickhouse cockroach sqlcmd mongosh mongo "
    "cqlsh usql pgcli mycli litecli bq wrangler turso supabase snowsql trino presto spark-sql hive beeline impala-shell"
)
_SENSITIVE_SYSTEM = re.compile(
    r"/(?:private/)?etc(?:/.*)?|/boot/.*|/(?:usr/)?(?:s?bin|lib|lib64)/.*|/System/.*|/Library/Launch.*"
)
_SENSITIVE_HOME = re.compile(
    r"\.ssh(?:/.*)?|\.(?:bash|zsh|k?sh)(?:rc|env|_profile|_login|_logout|_aliases)|\.z?profile|\.zlog(?:in|out)|\.inputrc"
    r"|\.config/(?:fish/.*\.fish|autostart/.*|systemd/.*|environment\.d/.*)|Library/LaunchAgents/.*|\.gitconfig"
    r"|\.pam_environment|\.xinitrc|\.xprofile|\.netrc|\.gnupg/.*|\.aws/credentials|\.kube/config|\.docker/config\.json"
)


def _options(part: Part, *with_value: str) -> Options:
    return read_options(part.arguments, with_value=with_value)


def _recursive_delete(part: Part, ground: Ground) -> bool:
    options = _options(part)
    if part.name in ("rimraf", "del-cli"):
        return bool(options.operands)
    return options.has("rR", "recursive")


def _moves_vital(part: Part, ground: Ground) -> bool:
    operands = _options(part).operands
    to_nowhere = bool(operands) and ground.path(part, operands[-1]) == "/dev/null"
    return to_nowhere or any(ground.is_vital(part, word) for word in operands[:-1])


def _opens_to_all(part: Part, ground: Ground) -> bool:
    texts = part.texts
    recursive = _options(part).has("R", "recursive")
    for text in texts:
        if re.fullmatch(r"0?[0-7]?(?:777|666)", text) or re.fullmatch(r"0?[24567][0-7]{3}", text):
            return True
        if re.fullmatch(r"(?:[ugoa]*[+=][rwxXst]*,?)+", text):
            clauses = text.split(",")
            if any(re.match(r"(?:\w*[oa]\w*)[+=]\w*w", clause) for clause in clauses):
                return True
            if any(re.match(r"[ua]*\+\w*s", clause) for clause in clauses):
                return True
    operands = [word for word in part.arguments if not word.text.startswith("-")]
    nothing_left = any(re.fullmatch(r"0+", text) for text in texts)
    return recursive and (nothing_left or any(ground.is_vital(part, word) for word in operands))


def _changes_owner(part: Part, ground: Ground) -> bool:
    options = _options(part)
    if not options.has("R", "recursive"):
        return False
    to_root = any(word.text.split(":")[0] in ("root", "0") for word in options.operands[:1])
    return to_root or any(ground.is_vital(part, word) for word in options.operands[1:])


def _copies_blocks(part: Part, ground: Ground) -> bool:
    for text in part.texts:
        if text.startswith("of=") and text[3:] not in ("/dev/null", "/dev/stdout"):
            return True
        if text.startswith("if=") and ground.is_raw_disk(part, Word(text[3:])):
            return True
    return False


def _kills_by_force(part: Part, ground: Ground) -> bool:
    texts = [text.upper() for text in part.texts]
    if part.name == "taskkill":
        return "/F" in texts or "-F" in texts
    if part.name == "fuser":
        return any(re.fullmatch(r"-[A-Z]*K[A-Z]*|--KILL", text) for text in texts)
    if part.name == "killall" and any(text in ("-U", "--USER") for text in texts):
        return True
    for before, text in zip(["", *texts], texts, strict=False):
        if re.fullmatch(r"-(?:9|(?:SIG)?KILL)", text) or re.fullmatch(r"(?:--SIGNAL=|-S|-N)(?:9|(?:SIG)?KILL)", text):
            return True
        if before in ("-S", "-N", "--SIGNAL") and re.fullmatch(r"9|(?:SIG)?KILL", text):
            return True
    return False


def _stops_service(part: Part, ground: Ground) -> bool:
    names = [word.text for word in _options(part, "H", "M", "t", "p", "n", "o", "s").operands]
    match part.name:
        case "systemctl":
            return names[:1] and names[0] in ("stop", "disable", "mask", "kill", "isolate", "rescue", "emergency")  # type: ignore[return-value]  # an empty list is false
        case "service" | "rc-service":
            return names[1:2] == ["stop"]
        case "launchctl":
            return names[:1] and names[0] in ("unload", "bootout", "remove", "stop", "disable", "kill", "reboot")  # type: ignore[return-value]  # an empty list is false
        case "brew":
            return names[:2] == ["services", "stop"]
        case _:
            return names[:1] == ["stop"]


def _stops_by_script(part: Part, ground: Ground) -> bool:
    return part.words[0].text.startswith("/etc/init.d/") and part.texts[:1] == ["stop"] if part.words else False


def _prunes_containers(part: Part, ground: Ground) -> bool:
    words = part.arguments
    start = first_operand(words, with_value=("H", "c", "l", "context", "host"))
    options = read_options(
        words[start:], with_value=("v", "volume", "name", "e", "p", "w", "u", "mount", "network", "f", "file")
    )
    plain = read_options(words[start:])
    names = [word.text for word in plain.operands]
    match names[:2]:
        case [_, "prune"] | ["system", "reset"] | ["machine", "rm" | "reset"] | ["buildx", "rm"]:
            return True
        case ["volume" | "network" | "secret" | "config" | "stack" | "swarm" | "context", "rm" | "remove" | "leave"]:
            return True
        case ["compose", *_] if part.name != "docker-compose" or names[:1] == ["down"]:
            return ("down" in names and plain.has("v", "volumes", "rmi")) or (
                "rm" in names and plain.has("fsv", "force")
            )
        case ["container", "rm"] | ["image", "rm"]:
            return plain.has("f", "force")
        case ["rm" | "rmi", *_]:
            return plain.has("fv", "force", "volumes")
        case ["down", *_] if part.name == "docker-compose":
            return plain.has("v", "volumes", "rmi")
        case ["run" | "create", *_]:
            mounts = [value for name, value in (*options.values, *options.long) if name in ("v", "volume")]
            return options.has("", "privileged") or any(
                re.match(r"/(?::|etc|root|var/run/docker)", one) for one in mounts
            )
        case _:
            return False


def _sql(part: Part, ground: Ground) -> bool:
    texts = [*part.texts, part.input] if part.input else part.texts
    for text in texts:
        plain = _SQL_STRING.sub("''", _SQL_COMMENT.sub(" ", text))
        if _SQL_DESTROYS.search(plain.strip()):
            return True
    return False


def _truncates(part: Part, ground: Ground) -> bool:
    return _options(part).has("s", "size") or any(text.startswith("-s") for text in part.texts)


def _mirrors(part: Part, ground: Ground) -> bool:
    return any(re.match(r"--del(?:ete)?(?:$|-)|--remove-source-files", text) for text in part.texts) and not any(
        re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-run", text) for text in part.texts
    )


def _schedules(part: Part, ground: Ground) -> bool:
    options = _options(part, "u")
    return options.has("r") or bool(options.operands) or (not options.letters and bool(part.input))


def _schedules_windows(part: Part, ground: Ground) -> bool:
    return any(text.lower() in ("/create", "/delete", "/change") for text in part.texts)


def _mirrors_windows(part: Part, ground: Ground) -> bool:
    return any(text.lower() in ("/mir", "/purge", "/move") for text in part.texts)


def _opens_windows(part: Part, ground: Ground) -> bool:
    return (
        any(re.match(r"(?:everyone|\*s-1-1-0):", text, re.IGNORECASE) for text in part.texts) or part.name == "takeown"
    )


def _firewall(part: Part, ground: Ground) -> bool:
    return _options(part, "t").has("FXPD", "flush", "delete-chain", "policy")


def _asks_vacuum(part: Part, ground: Ground) -> bool:
    return any(text.startswith("--vacuum") for text in part.texts)


def _partitions(part: Part, ground: Ground) -> bool:
    return bool(part.texts) and not any(
        text in ("-l", "--list", "-s", "-v", "-V", "--help", "--version", "-h", "print") for text in part.texts
    )


def _formats_file(part: Part, ground: Ground) -> bool:
    return not all(text in ("--help", "-h", "--version", "-V") for text in part.texts)


def _manages(part: Part, ground: Ground) -> bool:
    """`manage.py flush` and its kind, as arguments of Python."""
    names = [text for text in part.texts if not text.startswith("-")]
    return len(names) > 1 and names[0].endswith("manage.py") and names[1] in ("flush", "reset_db", "sqlflush")


def _forgets(part: Part, ground: Ground) -> bool:
    return any(re.fullmatch(r"-\w*[cd]\w*", text) for text in part.texts)


def _writes_sensitive(part: Part, ground: Ground) -> bool:
    for target in written_words(part):
        if part.name in ("chmod", "chown", "chgrp", "mkdir"):
            continue
        path = ground.path(part, target)
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            return True
        inside = ground.within_home(path)
        if inside is not None and _SENSITIVE_HOME.fullmatch(inside):
            return True
        if (inside is None and _SENSITIVE_SYSTEM.fullmatch(path)) or GIT_RUNS.search(path):
            return True
    return False


def _unpacks_into_home(part: Part, ground: Ground) -> bool:
    """An archive may hold a start-up file or keys: in the home itself, or above it, they take the place of yours."""
    home = ground.plain_home
    paths = [ground.path(part, word).rstrip("/") for word in unpacked_into(part)]
    return any(path == home or home.startswith(path + "/") for path in paths)


def _opens_network(part: Part, ground: Ground) -> bool:
    return any(redirect.target.text.startswith(("/dev/tcp/", "/dev/udp/")) for redirect in part.redirects)


def _connects_shell(part: Part, ground: Ground) -> bool:
    return any(re.fullmatch(r"-\w*[ec]|--exec|--sh-exec", text) for text in part.texts) or any(
        re.match(r"(?:exec|system):", text, re.IGNORECASE) for text in part.texts
    )


def _preloads(part: Part, ground: Ground) -> bool:
    names = [assignment.name for assignment in part.assignments]
    if part.name in ("export", "declare", "typeset", "env"):
        names += [text.partition("=")[0] for text in part.texts if "=" in text]
    return any(name in ("LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "LD_AUDIT") for name in names)


def _runs_fetched(part: Part, ground: Ground) -> bool:
    return part.unread == "fetched"


def _runs_decoded(part: Part, ground: Ground) -> bool:
    return part.unread == "decoded"


def _runs_unknown(part: Part, ground: Ground) -> bool:
    return part.unread == "unknown"


def _deletes_unknown(part: Part, ground: Ground) -> bool:
    """A program that is not known, with the flags of a recursive deletion."""
    if not part.words or is_constant(part.words[0].text):
        return False
    return not without_marks(part.words[0].text) and bool(re.match(r"-(?:rf|fr|Rf|fR)$", " ".join(part.texts[:1])))


_SENSITIVE = "It changes a system file, your keys or a start-up file."
_UNPACKS = "It unpacks an archive over your home, start-up files and keys included."
_VARIOUS = "It destroys data or a service that would be hard to get back."

DANGEROUS = RuleList(
    Verdict.REVIEW,
    (
        Rule("danger.fetched", "It runs a text from the network that nobody has read.", _runs_fetched, needs="unread"),
        Rule(
            "danger.decoded",
            "It decodes a text and runs it without anybody having read it.",
            _runs_decoded,
            needs="unread",
        ),
        Rule("danger.unread", "It runs a text that is not known before it runs.", _runs_unknown, needs="unread"),
        Rule("danger.unread", "It runs a program that is not known with flags of a deletion.", _deletes_unknown),
        Rule(
            "danger.delete",
            "It deletes a folder and everything in it.",
            _recursive_delete,
            frozenset(("rm", "grm", "srm", "rimraf", "del-cli")),
        ),
        Rule("danger.move", "It moves a system folder or your home.", _moves_vital, frozenset(("mv",))),
        Rule("danger.git", "It throws away work that Git cannot easily give back.", loses_work, frozenset(("git",))),
        Rule(
            "danger.permissions",
            "It opens files to everybody, or closes them to all.",
            _opens_to_all,
            frozenset(("chmod",)),
        ),
        Rule(
            "danger.permissions",
            "It changes the owner of a whole folder.",
            _changes_owner,
            frozenset(("chown", "chgrp")),
        ),
        Rule(
            "danger.blocks",
            "It copies blocks straight to or from a file or a disk.",
            _copies_blocks,
            frozenset(("dd",)),
        ),
        Rule(
            "danger.kill",
            "It ends processes by force.",
            _kills_by_force,
            name_set("kill pkill killall fuser skill taskkill"),
        ),
        Rule(
            "danger.service",
            "It stops a service or turns it off.",
            _stops_service,
            name_set("systemctl service rc-service launchctl brew initctl"),
        ),
        Rule(
            "danger.containers",
            "It deletes containers, images or volumes, or opens the machine to one.",
            _prunes_containers,
            frozenset(("docker", "podman", "nerdctl", "docker-compose")),
        ),
        Rule("danger.service", "It stops a service or turns it off.", _stops_by_script),
        Rule("danger.publish", "It publishes a package for everybody.", publishes, frozenset(PUBLISHES)),
        Rule("danger.destroy", _VARIOUS, destroys, frozenset(DESTROYS)),
        *DESTROYERS,
        Rule("danger.destroy", _VARIOUS, cloud_deletes, frozenset(("aws", "az", "doctl", "hcloud", "linode-cli"))),
        Rule("danger.sql", "It drops or empties tables of a database.", _sql, _SQL_PROGRAMS),
        Rule("danger.truncate", "It empties a file.", _truncates, frozenset(("truncate",))),
        Rule(
            "danger.mirror", "It deletes what the other side does not have.", _mirrors, frozenset(("rsync", "rclone"))
        ),
        Rule("danger.schedule", "It changes what the machine runs by itself.", _schedules, frozenset(("crontab",))),
        Rule(
            "danger.schedule",
            "It changes what the machine runs by itself.",
            _schedules_windows,
            frozenset(("schtasks",)),
        ),
        Rule(
            "danger.mirror", "It deletes what the other side does not have.", _mirrors_windows, frozenset(("robocopy",))
        ),
        Rule("danger.permissions", "It opens files to everybody.", _opens_windows, frozenset(("icacls", "takeown"))),
        Rule("danger.firewall", "It drops rules of the firewall.", _firewall, frozenset(("iptables", "ip6tables"))),
        Rule("danger.logs", "It deletes logs.", _asks_vacuum, frozenset(("journalctl",))),
        Rule(
            "danger.partitions",
            "It changes the partitions of a disk.",
            _partitions,
            frozenset(("fdisk", "cfdisk", "parted")),
        ),
        Rule(
            "danger.format",
            "It makes a file system, which empties what was there.",
            _formats_file,
            name_set("mkfs mke2fs mkfs.ext4 mkfs.ext3 mkfs.ext2 mkfs.xfs mkfs.vfat mkfs.btrfs mkswap"),
        ),
        Rule("danger.sql", "It empties the database of an application.", _manages, frozenset(("python", "python3"))),
        Rule("danger.history", "It deletes the history of the shell.", _forgets, frozenset(("history",))),
        Rule(
            "danger.network-shell",
            "It connects a program to the network.",
            _connects_shell,
            frozenset(("nc", "ncat", "netcat", "socat")),
        ),
        Rule("danger.network-shell", "It connects a shell to the network.", _opens_network, needs="redirects"),
        Rule("danger.preload", "It makes programs load code of somebody else.", _preloads),
        Rule("danger.sensitive-file", _SENSITIVE, _writes_sensitive),
        Rule("danger.sensitive-file", _UNPACKS, _unpacks_into_home),
    ),
)
