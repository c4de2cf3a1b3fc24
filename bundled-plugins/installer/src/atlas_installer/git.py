"""Fetching a repository with git, without its running anything of the repository's or asking anybody.

Nothing is checked out: the commit comes as an archive, which is unpacked as every other one, so no filter, hook or
submodule of the repository has a say. Of the user's own settings only ssh's are used.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from atlas_sdk.errors import AtlasError

from .programs import Ended, environment, run

MOST_BYTES = 512 * 1024 * 1024
"""The packed history of what is fetched: one commit, where the server can send one."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT = re.compile(r"[0-9a-f]{7,64}")
_QUIET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oPermitLocalCommand=no -oClearAllForwardings=yes -oConnectTimeout=20",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
}
_SETTINGS = (
    f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "core.askPass=", "credential.helper=",
    "fetch.recurseSubmodules=false", "submodule.recurse=false", "gc.auto=0",
    "maintenance.auto=false", "http.followRedirects=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=30",
)  # fmt: skip


class Git:
    """One repository, fetched into ``folder``, which is its own. ``also`` is a protocol of this computer alone."""

    def __init__(self, folder: Path, *, also: str = "") -> None:
        self._folder = folder
        program = shutil.which("git")
        if program is None:
            raise AtlasError("git is not installed, and this address needs it.", hint="Install git and try again.")
        self._program = program
        protocols = ":".join(filter(None, ("https", "ssh", also)))
        self._environment = environment(os.environ, {**_QUIET, "GIT_ALLOW_PROTOCOL": protocols})

    async def fetch(self, address: str, ref: str, archive: Path) -> str:
        """Write the archive of a branch, tag or commit, and return the commit. Raises AtlasError."""
        self._folder.mkdir(parents=True)
        await self._must("init", "--quiet", "--bare", "--template=", ".")
        commit = await self._fetched(address, ref)
        if not _COMMIT.fullmatch(commit):
            raise AtlasError(f"git did not say which commit {ref or 'the default branch'} is.")
        await self._must("archive", "--format=tar.gz", f"--output={archive}", commit)
        return commit

    async def _fetched(self, address: str, ref: str) -> str:
        wanted = ref or "HEAD"
        first = await self._fetch("--depth=1", address, wanted)
        if first.code and "shallow" in first.err:
            first = await self._fetch(address, wanted)
        if not first.code:
            return (await self._must("rev-parse", "--verify", "--end-of-options", "FETCH_HEAD^{commit}")).out.strip()
        if not _SHORT.fullmatch(ref):
            raise self._refused(address, ref, first)
        # A commit that the server does not give by its name is in the history of a branch or a tag.
        every = await self._fetch(address, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
        found = await self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if every.code or found.code:
            raise self._refused(address, ref, every if every.code else first)
        return found.out.strip()

    def _refused(self, address: str, ref: str, ended: Ended) -> AtlasError:
        what = f"{ref} of {address}" if ref else address
        return AtlasError(
            f"git could not fetch {what}: {ended.last_line()}.",
            hint="Check the address and --ref. A private repository is reached by ssh, with a key that asks nothing.",
        )

    async def _fetch(self, *arguments: str) -> Ended:
        options = [one for one in arguments if one.startswith("--")]
        rest = [one for one in arguments if not one.startswith("--")]
        return await self._git("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *options, "--", *rest)

    async def _must(self, *arguments: str) -> Ended:
        ended = await self._git(*arguments)
        if ended.code:
            raise AtlasError(f"git {arguments[0]} failed: {ended.last_line()}.")
        return ended

    async def _git(self, *arguments: str) -> Ended:
        settings = [part for one in _SETTINGS for part in ("-c", one)]
        command = [self._program, *settings, *arguments]
        return await run(
            command, folder=self._folder, environment=self._environment, watched=self._folder, most_bytes=MOST_BYTES
        )
