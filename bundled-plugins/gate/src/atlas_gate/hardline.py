"""The commands that never run, whatever was approved before."""

from __future__ import annotations

import re

from atlas_gate.options import read_options
from atlas_gate.parts import Part, Word, is_constant, name_set
from atlas_gate.paths import Ground
from atlas_gate.rules import Rule, RuleList, Verdict

_MKFS = frozenset(
    ["mkfs", "mke2fs", "mkdosfs", "mkntfs", "newfs", "mkswap", "newfs_apfs", "newfs_hfs", "newfs_msdos"]
    + [
        f"mkfs.{kind}"
        for kind in [
            "ext2",
            "ext3",
            "ext4",
            "xfs",
            "btrfs",
            "vfat",
            "fat",
            "msdos",
            "ntfs",
            "exfat",
            "f2fs",
            "minix",
            "cramfs",
            "bfs",
            "reiserfs",
            "jfs",
        ]
    ]
)
_ASKS_ABOUT_ITSELF = name_set("--help -h --version -V /? -?")
_POWER_WORDS = ("poweroff", "reboot", "halt", "kexec", "soft-reboot", "hibernate", "suspend", "exit")
_POWER_TARGETS = re.compile(r"(?:poweroff|reboot|halt|shutdown|kexec|rescue|emergency|runlevel[06])(?:\.target)?")
_DISK_VERBS = (
    "erasedisk",
    "erasevolume",
    "partitiondisk",
    "zerodisk",
    "securerase",
    "secureerase",
    "reformat",
    "randomdisk",
)
_WRITERS = name_set("cp mv install tee ddrescue dd_rescue dcfldd rsync pv")
# They write an image back to the disk they are given.
_RESTORERS = name_set(
    "partclone.restore partclone.dd partclone.ext2 partclone.ext3 partclone.ext4 partclone.xfs partclone.btrfs "
    "partclone.fat partclone.fat16 partclone.fat32 partclone.vfat partclone.exfat partclone.ntfs partclone.ntfsfixboot "
    "partclone.f2fs partclone.hfsplus partclone.hfsp partclone.apfs partclone.jfs partclone.minix partclone.nilfs2 "
    "partclone.reiser4 partclone.udf partclone.vmfs ntfsclone"
)
_LAST_IS_DISK = name_set("qemu-img bmaptool rpi-imager e2image partimage fsarchiver ocs-sr")
_WIPERS = frozenset(["wipefs", "blkdiscard", "shred", "scrub", "badblocks"])


def _asks_about_itself(part: Part) -> bool:
    texts = part.texts
    return bool(texts) and all(text in _ASKS_ABOUT_ITSELF for text in texts)


def _deletes_vital(part: Part, ground: Ground) -> bool:
    options = read_options(part.arguments)
    recursive = part.name in ("rimraf", "del-cli") or options.has("rR", "recursive")
    return recursive and any(ground.is_vital(part, word) for word in options.operands)


def _empties_vital(part: Part, ground: Ground) -> bool:
    """`rsync --delete nothing/ /` deletes what the source does not have."""
    options = read_options(part.arguments, with_value=("e", "rsh", "exclude", "include", "filter", "f"))
    deletes = any(name.startswith("del") for name, _ in options.long)
    return deletes and bool(options.operands) and ground.is_vital(part, options.operands[-1])


def _formats(part: Part, ground: Ground) -> bool:
    if _asks_about_itself(part):
        return False
    options = read_options(part.arguments, with_value=tuple("tLUNbEgGIiJKmMnoOrTsS"))
    if not options.operands:
        return True
    # A file system made inside a plain file harms no disk; the reviewer still sees it.
    paths = [ground.path(part, word) for word in options.operands]
    return any(path.startswith("/dev/") or not is_constant(path) for path in paths)


def _formats_otherwise(part: Part, ground: Ground) -> bool:
    texts = [text.lower() for text in part.texts]
    if not texts or _asks_about_itself(part):
        return False
    match part.name:
        case "diskutil":
            return any(text in _DISK_VERBS for text in texts[:2]) or texts[:2] == ["apfs", "deletecontainer"]
        case "cryptsetup":
            return any(text in ("luksformat", "lukserase", "erase", "reencrypt") for text in texts)
        case "hdparm":
            return any(text.startswith(("--security-erase", "--trim-sector", "--write-sector")) for text in texts)
        case "nvme":
            return texts[0] in ("format", "sanitize", "write", "write-zeroes")
        case "sgdisk" | "gdisk":
            return any(text.startswith(("--zap", "-z", "--clear", "-o")) for text in texts)
        case "parted":
            return "mklabel" in texts or "mktable" in texts or "rm" in texts or "mkpart" in texts
        case "sfdisk":
            return not any(text in ("-l", "-d", "--list", "--dump", "-s", "-v") for text in texts)
        case "mdadm":
            return "--zero-superblock" in texts
        case "zpool":
            return texts[0] in ("destroy", "labelclear")
        case "format":
            return any(re.fullmatch(r"[a-z]:[/\\]?", text) for text in texts)
        case _:
            return False


def _wipes_disk(part: Part, ground: Ground) -> bool:
    texts = part.texts
    if part.name == "wipefs" and not any(re.match(r"-\w*[ao]|--(?:all|offset)", text) for text in texts):
        return False
    if part.name == "badblocks" and not any(re.match(r"-\w*w", text) for text in texts):
        return False
    return any(ground.is_raw_disk(part, word) for word in part.arguments)


def _writes_disk(part: Part, ground: Ground) -> bool:
    if part.name == "dd":
        return any(
            text.startswith("of=") and ground.is_raw_disk(part, Word(text[3:], word.is_pattern))
            for word, text in zip(part.arguments, part.texts, strict=True)
        )
    options = read_options(part.arguments, with_value=("t", "target-directory", "o", "output"))
    if part.name == "tee":
        return any(ground.is_raw_disk(part, word) for word in options.operands)
    return bool(options.operands) and ground.is_raw_disk(part, options.operands[-1])


def _outputs_to_disk(part: Part, ground: Ground) -> bool:
    names = ("o", "O", "output", "output-document", "overwrite", "restore_raw_file")
    options = read_options(part.arguments, with_value=names)
    target = options.value(*names)
    return target is not None and ground.is_raw_disk(part, Word(target))


def _restores_disk(part: Part, ground: Ground) -> bool:
    """`qemu-img convert image /dev/sda`: the disk is the last operand, or behind `dest=`."""
    if part.name == "qemu-img" and part.texts[:1] != ["convert"] and part.texts[:1] != ["dd"]:
        return False
    if part.name == "bmaptool" and part.texts[:1] != ["copy"]:
        return False
    reads = any(text in ("save", "savefs", "savedisk", "probe", "info", "saveparts") for text in part.texts)
    targets = [Word(text.rpartition("=")[2]) for text in part.texts if re.search(r"(?:^|,)(?:dest|of)=", text)]
    operands = read_options(part.arguments, with_value=tuple("fOoSmT")).operands
    return not reads and any(ground.is_raw_disk(part, word) for word in (*targets, *operands[-1:]))


def _sleeps_until(part: Part, ground: Ground) -> bool:
    """`rtcwake -m off`: the machine is gone until a clock wakes it."""
    mode = read_options(part.arguments, with_value=("m", "mode", "d", "device", "s", "seconds", "t", "time", "date"))
    dry = mode.has("n", "dry-run")
    return not dry and (mode.value("m", "mode") or "").lstrip("=") in ("off", "disk", "mem")


def _redirects_to_disk(part: Part, ground: Ground) -> bool:
    return any(redirect.writes and ground.is_raw_disk(part, redirect.target) for redirect in part.redirects)


def _sysrq_redirect(part: Part, ground: Ground) -> bool:
    return any(
        redirect.writes and ground.path(part, redirect.target) == "/proc/sysrq-trigger" for redirect in part.redirects
    )


def _sysrq(part: Part, ground: Ground) -> bool:
    return any("/proc/sysrq-trigger" in text for text in part.texts)


def _kills_all(part: Part, ground: Ground) -> bool:
    texts = part.texts
    if part.name == "killall5":
        return not _asks_about_itself(part)
    if part.name in ("pkill", "killall", "killall.exe"):
        options = read_options(part.arguments, with_value=("s", "signal", "u", "U", "g", "G", "t", "P"))
        return any(re.fullmatch(r"\^?(?:\.\*?|\.\+|\*)?\$?", word.text) for word in options.operands)
    if part.name == "taskkill":
        return "*" in texts
    if not texts or texts[0] in ("-l", "-L", "--list", "--help"):
        return False
    targets = list(texts)
    if targets[0] in ("-s", "-n", "--signal"):
        targets = targets[2:]
    elif targets[0].startswith("-") and targets[0] != "--" and len(targets) > 1:
        targets = targets[1:]
    elif targets[0] == "-1" and len(targets) == 1:
        return False
    return "-1" in targets or "-0" in targets[1:]


def _powers_off(part: Part, ground: Ground) -> bool:
    texts = part.texts
    name = part.name
    if name in ("init", "telinit"):
        return texts[:1] in (["0"], ["6"])
    if name == "kexec":
        return any(text in ("-e", "--exec") for text in texts)
    if name == "shutdown":
        cancels = any(text in ("-c", "/a", "-a", "--show") for text in texts)
        only_logs_off = any(text.lower() in ("/l", "-l") for text in texts)
        return not (cancels or only_logs_off or _asks_about_itself(part))
    return not _asks_about_itself(part) and "--wtmp-only" not in texts and "-w" not in texts


def _manager_powers_off(part: Part, ground: Ground) -> bool:
    operands = [word.text for word in read_options(part.arguments, with_value=tuple("HMtpnos")).operands]
    if not operands:
        return False
    if operands[0] in _POWER_WORDS and operands[0] not in ("suspend", "exit"):
        return True
    return operands[0] in ("start", "isolate", "restart") and any(
        (_POWER_TARGETS.fullmatch(text) and text not in ("shutdown", "reboot", "halt"))
        or (text.endswith((".target",)) and _POWER_TARGETS.fullmatch(text))
        for text in operands[1:]
    )


def _bus_powers_off(part: Part, ground: Ground) -> bool:
    line = " ".join(part.texts)
    return bool(re.search(r"login1|Session|ConsoleKit", line)) and bool(
        re.search(r"\b(?:PowerOff|Reboot|Halt|Shutdown)\b", line)
    )


def _session_powers_off(part: Part, ground: Ground) -> bool:
    return any(text in ("--power-off", "--reboot", "--halt", "-h", "-r") for text in part.texts)


def _instrument_powers_off(part: Part, ground: Ground) -> bool:
    texts = [text.lower() for text in part.texts]
    return "call" in texts and any(text in ("reboot", "shutdown", "win32shutdown") for text in texts)


def _is_fork_bomb(part: Part, ground: Ground) -> bool:
    return part.suspicion == "fork-bomb"


_DELETES = "It deletes the root folder, a system folder or your home recursively, which never runs."
_FORMATS = "It formats a disk, which never runs."
_RAW = "It writes straight to a raw disk, which never runs."
_KILLS = "It kills every process, which never runs."
_POWERS = "It shuts down or reboots the machine, which never runs."

HARDLINE = RuleList(
    Verdict.BLOCK,
    (
        Rule("never.delete-system", _DELETES, _deletes_vital, frozenset(("rm", "rimraf", "srm", "grm", "del-cli"))),
        Rule("never.delete-system", _DELETES, _empties_vital, frozenset(("rsync",))),
        Rule("never.format-disk", _FORMATS, _formats, _MKFS),
        Rule(
            "never.format-disk",
            _FORMATS,
            _formats_otherwise,
            name_set("diskutil cryptsetup hdparm nvme sgdisk gdisk parted sfdisk mdadm zpool format"),
        ),
        Rule("never.raw-disk", _RAW, _writes_disk, _WRITERS | {"dd"}),
        Rule("never.raw-disk", _RAW, _wipes_disk, _WIPERS | {"truncate", "fallocate"}),
        Rule("never.raw-disk", _RAW, _outputs_to_disk, frozenset(("curl", "wget", "sort", "gcc", "git"))),
        Rule("never.raw-disk", _RAW, _outputs_to_disk, _RESTORERS),
        Rule("never.raw-disk", _RAW, _restores_disk, _LAST_IS_DISK),
        Rule("never.power", _POWERS, _sleeps_until, frozenset(("rtcwake",))),
        Rule("never.kill-all", _KILLS, _kills_all, frozenset(("kill", "killall5", "pkill", "killall", "taskkill"))),
        Rule("never.power", _POWERS, _powers_off, name_set("shutdown reboot halt poweroff init telinit kexec")),
        Rule("never.power", _POWERS, _manager_powers_off, frozenset(("systemctl", "loginctl", "rc-service"))),
        Rule("never.power", _POWERS, _bus_powers_off, frozenset(("dbus-send", "busctl", "gdbus", "qdbus"))),
        Rule("never.power", _POWERS, _session_powers_off, frozenset(("gnome-session-quit", "xfce4-session-logout"))),
        Rule("never.power", _POWERS, _instrument_powers_off, frozenset(("wmic",))),
        Rule("never.fork-bomb", "It is a fork bomb, which never runs.", _is_fork_bomb, needs="suspicion"),
        Rule("never.raw-disk", _RAW, _redirects_to_disk, needs="redirects"),
        Rule("never.power", _POWERS, _sysrq_redirect, needs="redirects"),
        Rule("never.power", _POWERS, _sysrq, frozenset(("tee", "cp", "dd"))),
    ),
)
