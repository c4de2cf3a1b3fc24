"""Made-plain paths and what they name: a vital folder, a raw disk, or something of Atlas's own home."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from atlas_gate.deadline import Deadline
from atlas_gate.parts import ANY, Part, Word, is_constant, name_set
from atlas_gate.path_forms import is_windows_path, plain_path, windows_path
from atlas_gate.patterns import matches
from atlas_gate.world import World

SYSTEM_FOLDERS: Final = name_set(
    "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /root /run /sbin /srv "
    "/sys /usr /var /usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/libexec /usr/local /usr/share /var/lib "
    "/boot/efi /Applications /Library /Network /System /System/Library /Users /Volumes /cores /private "
    "/private/etc /private/var /nix /nix/store /snap /gnu"
)
_WINDOWS_VITAL = re.compile(
    r"[a-z]:(?:/(?:windows(?:/system32|/syswow64)?|users|program files(?: \(x86\))?|programdata|boot|recovery)?)?"
)
_WINDOWS_NAMES: Final = frozenset(
    ("c:/windows", "c:/users", "c:/program files", "c:/programdata", "c:/windows/system32")
)
_DRIVE_IN_LINUX = re.compile(r"/(?:mnt|cygdrive)/[a-z]|/[a-z]:")
# A name that nearly every file matches: stars and marks with no letter of its own.
_BROAD = re.compile(r"(?=[^*]*+\*)(?:[*?.]|\[[^\]]{0,255}+\])++")
_RAW_DISK = re.compile(
    r"/dev/(?:(?:sd|hd|vd|xvd)[a-z]+\d*|nvme\d+(?:n\d+(?:p\d+)?)?|mmcblk\d+(?:p\d+|boot\d)?|r?disk\d+(?:s\d+)*|dm-\d+"
    r"|md\d+|loop\d+|sr\d+|nbd\d+|zd\d+|mapper/.+|disk/.+|block/.+|mem|kmem|port|root|bcache\d+|pmem\d+|mtd.*)",
    re.IGNORECASE,
)
_WINDOWS_DISK = re.compile(r"//\./(?:physicaldrive\d+|[a-z]:)", re.IGNORECASE)
_GLOB = re.compile(r"[*?\[]")
# Parts of Atlas's home that nothing touches without being asked, and files nothing writes unasked.
ATLAS_CLOSED: Final = ("plugins", "plugin-data", "secrets", "run")
# Files that stand for what is closed: a filter that lets none of them through reads none.
ATLAS_CLOSED_FILES: Final = ("secrets/vault.json", "secrets/vault.key", "run/server.json", "atlas.db")
ATLAS_SETTINGS: Final = ("config.toml", "mcp.json", "models.toml")
# Files of a repository that hold commands Git runs by itself.
GIT_RUNS: Final = re.compile(
    r"/\.git/(?:(?:modules|worktrees)/(?:(?!hooks/)[^/]++/)++)?(?:hooks/.|config(?:\.worktree)?$)", re.IGNORECASE
)
_TOKEN_FILES = re.compile(
    r"/\.config/(?:gh/hosts\.ya?ml|gws/.*(?:credential|token).*|gcloud/(?:access_tokens\.db|credentials\.db"
    r"|application_default_credentials\.json|legacy_credentials(?:/.*)?))$"
)


@dataclass(frozen=True)
class Ground:
    """The folders a part is judged against."""

    world: World
    deadline: Deadline

    @property
    def is_windows(self) -> bool:
        """Whether paths are Windows paths."""
        return self.world.shell == "powershell"

    @cached_property
    def vital(self) -> frozenset[str]:
        """Folders whose recursive deletion never runs."""
        home = self.plain_home
        parent = home.rpartition("/")[0] or "/"
        return SYSTEM_FOLDERS | {home, parent}

    @cached_property
    def plain_home(self) -> str:
        """The user's home, in the form paths are compared in."""
        return windows_path(self.world.home, None) if self.is_windows else self.world.home.rstrip("/")

    @cached_property
    def atlas_home(self) -> str:
        """Atlas's own home, in lower case."""
        return self.atlas_homes[0]

    @cached_property
    def atlas_homes(self) -> tuple[str, ...]:
        """Every home of Atlas on this machine, the open one first."""
        homes = (self.world.atlas_home, *self.world.other_homes)
        return tuple(windows_path(home, None) if self.is_windows else home.rstrip("/").lower() for home in homes)

    def homes_under(self, path: str) -> list[str]:
        """The homes of Atlas that a folder holds, at any depth."""
        above = path.rstrip("/").lower() + "/"
        return [home for home in self.atlas_homes if home.startswith(above)]

    def in_atlas_home(self, path: str, *, is_pattern: bool = False) -> bool:
        """Whether a path is a home of Atlas or anything in one."""
        plain = path.lower()
        for home in self.atlas_homes:
            if plain == home or plain.startswith(home + "/"):
                return True
            if is_pattern or ANY in plain:
                depth = home.count("/") + 1
                above = "/".join(plain.replace(ANY, "*").split("/")[:depth])
                if _GLOB.search(above) and matches_path(above, home):
                    return True
        return False

    def path(self, part: Part, word: Word | str) -> str:
        """A path made plain, from the folder the part runs in."""
        self.deadline.step()
        text = word if isinstance(word, str) else word.text
        return plain_path(text, part.folder, part.links)

    def is_vital(self, part: Part, word: Word) -> bool:
        """Whether a word names a system folder, the root or the home, or everything in one."""
        path = self.path(part, word)
        if ANY in path:
            path, word = path.replace(ANY, "*"), Word(word.text, True)
        if self._names_vital(path, is_pattern=word.is_pattern):
            return True
        if is_constant(path) and word.text.endswith(("/", "/*", "/.")):
            real = self.world.real_path(path.removesuffix("/*"))
            return real != path and self._names_vital(real, is_pattern=False)
        return False

    def _names_vital(self, path: str, *, is_pattern: bool) -> bool:
        if not is_constant(path):
            return False
        if path in self.vital or _DRIVE_IN_LINUX.fullmatch(path):
            return True
        if is_windows_path(path) and _WINDOWS_VITAL.fullmatch(path.lower()):
            return True
        if not is_pattern or not _GLOB.search(path):
            return False
        parent, _, name = path.rpartition("/")
        if _BROAD.fullmatch(name):
            while parent and _BROAD.fullmatch(parent.rpartition("/")[2]):
                parent = parent.rpartition("/")[0]
            if self._names_vital(parent or "/", is_pattern=True):
                return True
        vital = self.vital | _WINDOWS_NAMES if is_windows_path(path) else self.vital
        plain = _GLOB.split(path, maxsplit=1)[0]
        return any(folder.startswith(plain) and matches_path(path, folder) for folder in vital)

    def is_raw_disk(self, part: Part, word: Word) -> bool:
        """Whether a word names a disk or a partition as a device."""
        path = self.path(part, word)
        if _RAW_DISK.fullmatch(path):
            return True
        if self.is_windows:
            return bool(_WINDOWS_DISK.fullmatch(word.text.replace("\\", "/")))
        return word.is_pattern and any(matches_path(path, disk) for disk in ("/dev/sda", "/dev/nvme0n1"))

    def within_home(self, path: str) -> str | None:
        """The path inside the user's home, or None when it is elsewhere."""
        home = self.plain_home
        return path[len(home) + 1 :] if path.startswith(home + "/") else None

    def atlas_object(self, path: str, *, is_pattern: bool = False) -> str | None:
        """What of Atlas's home a path names: `closed`, `settings`, `home`, or None for anything else."""
        plain = path.lower()
        for home in self.atlas_homes:
            found = _object_of(home, plain, is_pattern=is_pattern)
            if found is not None:
                return found
        return None

    def holds_token(self, path: str) -> bool:
        """Whether a file holds a token of `gh`, `gws` or `gcloud`."""
        return bool(_TOKEN_FILES.search(path))

    @cached_property
    def workspace(self) -> str:
        """The folder inside a home that is the user's to work in, in lower case; empty where it lies elsewhere."""
        found = self.world.workspace
        found = windows_path(found, None) if self.is_windows else found.rstrip("/").lower()
        return found if found not in self.atlas_homes and self.in_atlas_home(found) else ""

    @cached_property
    def home_mention(self) -> re.Pattern[str]:
        """Finds a home of Atlas, and what is behind it, inside a longer text, such as code or a connection string."""
        name = "|".join(sorted({re.escape(home.rpartition("/")[2]) for home in self.atlas_homes}))
        home = "|".join(re.escape(home) for home in self.atlas_homes)
        somewhere = rf"(?:~|\$\{{?HOME\}}?|%USERPROFILE%|\$env:USERPROFILE)[/\\](?:{name})|\$\{{?ATLAS_HOME\}}?"
        return re.compile(rf"(?:{home}|{somewhere})(?![\w-])[^\s'\"]*", re.IGNORECASE)

    @cached_property
    def atlas_mention(self) -> re.Pattern[str]:
        """Finds a closed object of Atlas's home inside a longer text, such as a connection string."""
        name = "|".join(sorted({re.escape(home.rpartition("/")[2]) for home in self.atlas_homes}))
        names = "|".join(re.escape(closed) for closed in ATLAS_CLOSED)
        home = "|".join(re.escape(home) for home in self.atlas_homes)
        somewhere = rf"(?:~|\$\{{?HOME\}}?|%USERPROFILE%|\$env:USERPROFILE)[/\\](?:{name})|\$\{{?ATLAS_HOME\}}?"
        return re.compile(rf"(?:{home}|{somewhere})[/\\](?:(?:{names})(?![\w-])|atlas\.db)", re.IGNORECASE)


def _object_of(home: str, plain: str, *, is_pattern: bool) -> str | None:
    """What of one home of Atlas a path names."""
    if plain == home:
        return "home"
    if plain.startswith(home + "/"):
        inside = plain[len(home) + 1 :]
        if inside.startswith("homes/"):
            # A home made a moment ago is on no list: it is known by where it lies.
            inside = inside.split("/", 2)[2] if inside.count("/") > 1 else ""
        first = inside.split("/")[0]
        if first in ATLAS_CLOSED or first.startswith("atlas.db"):
            return "closed"
        if inside in ATLAS_SETTINGS:
            return "settings"
        if not is_pattern:
            return None
    if is_pattern and _GLOB.search(plain):
        for name in (*ATLAS_CLOSED, "atlas.db"):
            target = f"{home}/{name}".split("/")
            pattern = plain.split("/")
            shared = min(len(target), len(pattern))
            if len(pattern) >= len(target) and matches_path("/".join(pattern[:shared]), "/".join(target)):
                return "closed"
        if any(matches_path(plain, f"{home}/{name}") for name in ATLAS_SETTINGS):
            return "settings"
    return None


def matches_path(pattern: str, path: str) -> bool:
    """Whether a pattern with as many folders as the path matches it, name by name."""
    patterns, names = pattern.split("/"), path.split("/")
    return len(patterns) == len(names) and all(matches(name, one) for name, one in zip(names, patterns, strict=True))
