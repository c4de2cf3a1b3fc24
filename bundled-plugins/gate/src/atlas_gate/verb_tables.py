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
_ARTISAN = ("migrate:fresh", "migrate:refresh", "migrate:reset", "db:wipe")
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
    "pulumi": (("destroy",), ("down",), ("stack", "rm"), ("state", "delete")),
    "terragrunt": (("destroy",), ("run-all", "destroy"), ("run", "destroy"), ("apply", "-auto-approve")),
    "cdk": (("destroy",),),
    "cdktf": (("destroy",),),
    "eksctl": (("delete",),),
    "kops": (("delete",),),
    "k3d": (("cluster", "delete"),),
    "colima": (("delete",),),
    **dict.fromkeys(("limactl", "multipass"), (("delete",), ("purge",))),
    **dict.fromkeys(("serverless", "sls", "sst"), (("remove",),)),
    "sam": (("delete",),),
    "amplify": (("delete",),),
    "copilot": (("app", "delete"), ("env", "delete"), ("svc", "delete")),
    "supabase": (
        ("db", "reset", "--linked"),
        ("db", "reset", "--db-url"),
        ("projects", "delete"),
        ("secrets", "unset"),
    ),
    "wrangler": (
        ("delete",),
        ("d1", "delete"),
        ("kv", "namespace", "delete"),
        ("kv", "key", "delete"),
        ("kv", "bulk", "delete"),
        ("kv:namespace", "delete"),
        ("kv:key", "delete"),
        ("kv:bulk", "delete"),
        ("r2", "bucket", "delete"),
        ("r2", "object", "delete"),
        ("queues", "delete"),
        ("secret", "delete"),
        ("pages", "project", "delete"),
        ("vectorize", "delete"),
        ("hyperdrive", "delete"),
        ("d1", "time-travel", "restore"),
    ),
    "vercel": (("remove",), ("rm",), ("project", "rm")),
    "netlify": (("sites:delete",), ("env:unset",)),
    "railway": (("down",), ("delete",)),
    "borg": (("delete",), ("prune",), ("recreate",)),
    "borgmatic": (("prune",), ("delete",), ("--prune",)),
    "restic": (("forget",), ("prune",), ("key", "remove")),
    "rustic": (("forget",), ("prune",)),
    "kopia": (("snapshot", "delete"), ("snapshot", "expire", "--delete"), ("repository", "disconnect")),
    "duplicity": (("remove-all-but-n-full",), ("remove-older-than",), ("remove-all-inc-of-but-n-full",)),
    "rclone": (("purge",), ("delete",), ("deletefile",), ("rmdir",), ("rmdirs",), ("cleanup",)),
    "mc": (("rm",), ("rb",)),
    "s3cmd": (("del",), ("rm",), ("rb",)),
    "b2": (("delete-bucket",), ("rm",), ("bucket", "delete")),
    "azcopy": (("remove",), ("rm",)),
    "artisan": tuple((verb,) for verb in _ARTISAN),
    "sail": tuple((*before, verb) for verb in _ARTISAN for before in (("artisan",), ("art",), ("php", "artisan"))),
    "console": (("doctrine:database:drop",), ("doctrine:schema:drop",), ("d:d:d",), ("d:s:d",)),
    "drush": (("sql-drop",), ("sql:drop",), ("site:install",), ("site-install",)),
    "wp": (("db", "reset"), ("db", "drop"), ("db", "clean"), ("site", "empty"), ("site", "delete")),
    "mix": (("ecto.drop",), ("ecto.reset",)),
    "typeorm": (("schema:drop",),),
    "drizzle-kit": (("drop",),),
    "knex": (("migrate:rollback", "--all"),),
    "alembic": (("downgrade",),),
    "flask": (("db", "downgrade"),),
    "mongorestore": (("--drop",),),
    "pg_dropcluster": ((),),
    "etcdctl": (("del",),),
    "consul": (("kv", "delete"), ("snapshot", "restore")),
    "nomad": (("job", "stop"), ("stop",), ("namespace", "delete"), ("volume", "delete")),
    "vault": (
        ("delete",),
        ("kv", "delete"),
        ("kv", "destroy"),
        ("kv", "metadata", "delete"),
        ("secrets", "disable"),
        ("auth", "disable"),
    ),
    "rabbitmqctl": (("reset",), ("force_reset",), ("delete_queue",), ("delete_vhost",), ("purge_queue",)),
    **dict.fromkeys(("kafka-topics", "kafka-topics.sh"), (("--delete",),)),
    "influx": (("bucket", "delete"), ("delete",)),
    "velero": (("backup", "delete"),),
    "argocd": (("app", "delete"),),
    "flux": (("uninstall",), ("delete",)),
    "istioctl": (("uninstall",),),
    "virsh": (("undefine",), ("destroy",), ("vol-delete",), ("pool-delete",), ("snapshot-delete",)),
    "vboxmanage": (("unregistervm",), ("closemedium", "--delete")),
    "vmrun": (("deletevm",), ("deletesnapshot",)),
    **dict.fromkeys(("qm", "pct"), (("destroy",),)),
    **dict.fromkeys(("lxc", "incus"), (("delete",), ("image", "delete"), ("storage", "delete"))),
    **dict.fromkeys(
        ("gpg", "gpg2"),
        (("--delete-secret-keys",), ("--delete-secret-key",), ("--delete-secret-and-public-keys",), ("--delete-keys",)),
    ),
    "fastboot": (("erase",), ("format",), ("flash",), ("-w",), ("oem", "unlock"), ("flashing", "unlock")),
    "snapper": (("delete",), ("rollback",)),
    "timeshift": (("--delete",), ("--delete-all",), ("--restore",)),
    "etckeeper": (("uninit",),),
    "keytool": (("-delete",),),
    "security": (("delete-keychain",), ("delete-generic-password",), ("delete-certificate",)),
    **dict.fromkeys(("7z", "7za", "7zr", "7zz"), (("d",), ("a", "-sdel"))),
    "pass": (("rm",),),
    "ollama": (("rm",),),
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


_TAKES_VALUES = name_set(
    "kubectl oc helm redis-cli mvn terraform terragrunt gsutil pulumi rclone restic rustic borg mc etcdctl virsh cdk wp"
)


def cloud_deletes(part: Part, ground: Ground) -> bool:
    names = [text for text in part.texts if not text.startswith("-")]
    if part.name == "aws" and names[:2] in (["s3", "rm"], ["s3", "rb"], ["s3", "mv"]):
        return True
    if part.name == "aws" and names[:2] == ["s3", "sync"]:
        return "--delete" in part.texts
    return any(re.match(r"(?:delete|terminate|destroy|purge|deregister)(?:-|$)", name) for name in names[1:4])
