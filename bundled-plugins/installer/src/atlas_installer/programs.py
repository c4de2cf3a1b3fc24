"""Running git, uv and pip: without questions, without what the user keeps secret, and never for ever."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from atlas_sdk.errors import AtlasError

SECONDS = 300.0
"""A large repository over a slow line; a server that says nothing is given up sooner by git itself."""
SIZE_LOOK_SECONDS = 0.5
SAID_BYTES = 64_000

_PASSED_ON = re.compile(
    r"PATH|HOME|USER|LOGNAME|USERPROFILE|APPDATA|LOCALAPPDATA|PROGRAMDATA|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT"
    r"|TMP|TEMP|TMPDIR|LANG|LC_\w+|XDG_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO"
    r"|(?:HTTPS?|NO|ALL)_PROXY|SSH_AUTH_SOCK|SSH_AGENT_PID|PIP_\w+|UV_\w+",
    re.IGNORECASE,
)
_PASSWORD = re.compile(r"(://)[^/\s@]+@")


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what it said on both its outputs."""

    code: int
    out: str
    err: str

    def last_line(self) -> str:
        """Return what it said last, for a message; an address loses its password."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        said = next((line for line in reversed(lines) if line.startswith(("fatal:", "error:", "ERROR:"))), "")
        said = said or (lines[-1] if lines else "it said nothing")
        said = "".join(letter if letter.isprintable() else " " for letter in said)
        return _PASSWORD.sub(r"\1…@", said).rstrip(".")[:300]


def environment(environ: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return what a program is started with: what finds files, hosts and certificates, and no keys."""
    return {**{name: value for name, value in environ.items() if _PASSED_ON.fullmatch(name)}, **more}


async def run(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    watched: Path | None = None,
    most_bytes: int = 0,
    seconds: float = SECONDS,
) -> Ended:
    """Run a program to its end, with nothing on its input. It ends with this call, whatever it started with it.

    ``watched`` is a folder that may not grow over ``most_bytes``. Raises AtlasError for that and for too long.
    """
    name = Path(command[0]).stem
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW
    try:
        process = await anyio.open_process(
            list(command),
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
            creationflags=flags,
        )
    except OSError as error:
        raise AtlasError(f"{name} could not be started: {error.strerror}.", hint=f"Install {name}.") from error
    said = {"out": bytearray(), "err": bytearray()}
    too_much = False

    async def read(stream: anyio.abc.ByteReceiveStream, into: bytearray) -> None:
        async for chunk in stream:
            into += chunk
            del into[: max(0, len(into) - SAID_BYTES)]

    async def watch(scope: anyio.CancelScope) -> None:
        nonlocal too_much
        while watched is not None:
            await anyio.sleep(SIZE_LOOK_SECONDS)
            if await anyio.to_thread.run_sync(_size, watched) > most_bytes:
                too_much = True
                scope.cancel()

    try:
        with anyio.fail_after(seconds):
            async with anyio.create_task_group() as group:
                assert process.stdout is not None
                assert process.stderr is not None
                group.start_soon(watch, group.cancel_scope)
                async with anyio.create_task_group() as reading:
                    reading.start_soon(read, process.stdout, said["out"])
                    reading.start_soon(read, process.stderr, said["err"])
                await process.wait()
                group.cancel_scope.cancel()
    except TimeoutError:
        raise AtlasError(f"{name} took over {seconds:.0f} seconds.", hint="Try it again later.") from None
    finally:
        _end(process)
        with anyio.move_on_after(5, shield=True):
            await process.aclose()
    if too_much:
        raise AtlasError(f"{name} fetched over {most_bytes:,} bytes, which is more than is taken.")
    code = process.returncode if process.returncode is not None else -1
    return Ended(code, said["out"].decode(errors="replace"), said["err"].decode(errors="replace"))


def _end(process: anyio.abc.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _size(folder: Path) -> int:
    total = 0
    for here, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                total += (Path(here) / name).lstat().st_size
    return total
