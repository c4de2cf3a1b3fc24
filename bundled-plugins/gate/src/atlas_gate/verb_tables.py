"""Programs that publish or destroy by a verb, as tables: the program, then the words that begin the command."""

from __future__ import annotations

import re

from atlas_gate.parts import Part, name_set
from atlas_gate.paths import Ground

PUBLISHES: dict[str, tuple[tuple[str, ...], ...]] = {
    "npm": (
        ("publish",),
        ("unpublish",),
        ("deprecate",),
        ("dist-tag", "add"),
        ("dist-tag", "rm"),
        ("owner", "add"),
        ("owner", "rm"),
    ),
    "pnpm": (("publish",), ("unpublish",)),
    "yarn": (("publish",), ("npm", "publish")),
    "bun": (("publish",),),
    "cargo": (("publish",), ("yank",), ("owner",)),
    "twine": (("upload",),),
    "uv": (("publish",),),
    "poetry": (("publish",),),
    "hatch": (("publish",),),
    "pdm": (("publish",),),
    "flit": (("publish",),),
    "maturin": (("publish",), ("upload",)),
    "gem": (("push",), ("yank",)),
    "lerna": (("publish",),),
    "changeset": (("publish",),),
    "semantic-release": ((),),
    "vsce": (("publish",), ("unpublish",)),
    "ovsx": (("publish",),),
    "goreleaser": (("release",),),
    "mvn": (("deploy",),),
    "dotnet": (("nuget", "push"), ("nuget", "delete")),
    "nuget": (("push",),),
    "helm": (("push",),),
    "jsr": (("publish",),),
    "deno": (("publish",),),
    "mix": (("hex.publish",),),
    "pod": (("trunk", "push"),),
    "dart": (("pub", "publish"),),
    "flutter": (("pub", "publish"),),
}
DESTROYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "kubectl": (("delete",), ("drain",), ("replace", "--force")),
    "oc": (("delete",),),
    "helm": (("uninstall",), ("delete",)),
    "terraform": (
        ("destroy",),
        ("apply", "-auto-approve"),
        ("apply", "-destroy"),
        ("state", "rm"),
        ("workspace", "delete"),
    ),
    "tofu": (("destroy",), ("apply", "-auto-approve"), ("state", "rm")),
    "pulumi": (("destroy",), ("stack", "rm")),
    "vagrant": (("destroy",),),
    "minikube": (("delete",),),
    "kind": (("delete",),),
    "dropdb": ((),),
    "dropuser": ((),),
    "mysqladmin": (("drop",),),
    "redis-cli": (("flushall",), ("flushdb",)),
    "lvremove": ((),),
    "vgremove": ((),),
    "pvremove": ((),),
    "zfs": (("destroy",), ("rollback",)),
    "btrfs": (("subvolume", "delete"),),
    "userdel": ((),),
    "deluser": ((),),
    "groupdel": ((),),
    "chpasswd": ((),),
    "visudo": ((),),
    "shred": ((),),
    "srm": ((),),
    "wipe": ((),),
    "ssh-copy-id": ((),),
    "setenforce": (("0",),),
    "csrutil": (("disable",),),
    "tmutil": (("delete",), ("disable",)),
    "tmux": (("kill-server",),),
    "ufw": (("disable",), ("reset",)),
    "nft": (("flush",), ("delete",)),
    "firebase": (("deploy",), ("firestore:delete",)),
    "sequelize": (("db:drop",),),
    "sequelize-cli": (("db:drop",),),
    "pg_restore": (("--clean",), ("-c",)),
    "bq": (("rm",),),
    "loginctl": (("terminate-user",), ("terminate-session",), ("kill-user",), ("kill-session",)),
    "rails": (("db:drop",), ("db:reset",)),
    "rake": (("db:drop",), ("db:reset",)),
    "prisma": (("migrate", "reset"), ("db", "push", "--force-reset")),
    "pm2": (("delete",), ("kill",)),
    "supervisorctl": (("stop",), ("shutdown",)),
    "gsutil": (("rm",), ("mv",), ("rb",)),
    "heroku": (("apps:destroy",), ("pg:reset",), ("destroy",)),
    "sc": (("stop",), ("delete",), ("config",)),
    "net": (("stop",), ("user",), ("localgroup",)),
    "reg": (("delete",), ("import",)),
    "bcdedit": (("/set",), ("/delete",)),
    "vssadmin": (("delete",), ("resize",)),
    "wevtutil": (("cl",), ("clear-log",)),
    "diskpart": ((),),
    "netsh": (("advfirewall",), ("firewall",)),
    "set-executionpolicy": ((),),
    "set-mppreference": ((),),
    "clear-eventlog": ((),),
    "clear-recyclebin": ((),),
    "clear-history": ((),),
    "remove-localuser": ((),),
    "register-scheduledtask": ((),),
    "unregister-scheduledtask": ((),),
    "remove-itemproperty": ((),),
    "disable-netadapter": ((),),
    "set-netfirewallprofile": ((),),
    "fly": (("destroy",), ("apps", "destroy")),
    "flyctl": (("destroy",), ("apps", "destroy")),
}


def publishes(part: Part, ground: Ground) -> bool:
    return _begins(part, PUBLISHES) and not any(
        text in ("--dry-run", "--help", "-h", "-n", "--snapshot") for text in part.texts
    )


def destroys(part: Part, ground: Ground) -> bool:
    return _begins(part, DESTROYS) and not any(
        text in ("--help", "-h", "--version", "--dry-run", "--dry-run=client", "--dry-run=server")
        for text in part.texts
    )


def _begins(part: Part, table: dict[str, tuple[tuple[str, ...], ...]]) -> bool:
    texts = [text.lower() for text in part.texts]
    names = [text for text in texts if not text.startswith("-")]
    for wanted in table[part.name]:
        flags = [text for text in wanted if text.startswith("-")]
        verbs = [text for text in wanted if not text.startswith("-")]
        first = names[: len(verbs)] == verbs or (
            len(verbs) == 1 and verbs[0] in names[:3] and part.name in _TAKES_VALUES
        )
        if first and all(flag in texts for flag in flags):
            return bool(texts) or not wanted
    return False


_TAKES_VALUES = name_set("kubectl oc helm redis-cli mvn terraform gsutil")


def cloud_deletes(part: Part, ground: Ground) -> bool:
    names = [text for text in part.texts if not text.startswith("-")]
    if part.name == "aws" and names[:2] in (["s3", "rm"], ["s3", "rb"], ["s3", "mv"]):
        return True
    if part.name == "aws" and names[:2] == ["s3", "sync"]:
        return "--delete" in part.texts
    return any(re.match(r"(?:delete|terminate|destroy|purge|deregister)(?:-|$)", name) for name in names[1:4])
