"""Make `.venv` hold what this checkout needs; do nothing when it already does.

Plain standard library, because it runs before anything is installed.
Third-party packages come from the hashed `requirements.txt`; those of the workspace are installed editable.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
OLDEST_PYTHON = (3, 11)

_STAMP = VENV / "atlas-stamp"
_UNFINISHED = VENV / "atlas-unfinished"
_LOCK = ROOT / ".venv.lock"
_PACKAGES = ("sdk", "kernel", "bundled-plugins/*", "plugins-contrib/*", ".")


class SetupError(Exception):
    """A sentence for the person at the terminal."""


def prepare() -> None:
    """Bring `.venv` up to date, or exit with a sentence that says why it could not be done.

    Two that start at once wait for each other; one that was killed half-way is begun afresh by the next.
    """
    # Ctrl+C leaves a set-up half done, which the next one begins afresh; there is nothing to show for it.
    sys.excepthook = _quietly_interrupted
    _need_python()
    if _is_current():
        return
    try:
        with _locked():
            if not _is_current():
                _install()
    except SetupError as error:
        sys.exit(f"Setting up .venv failed. {error}")


def program(name: str) -> str:
    """Return the path of a program of `.venv`."""
    return str(BIN / (f"{name}.exe" if os.name == "nt" else name))


def become(command: Sequence[str]) -> NoReturn:
    """Hand this process over to `command`, a list that begins with a program's path."""
    if os.name != "nt":
        os.execv(command[0], list(command))
    import subprocess

    # On Windows exec returns to the shell before the new process ends.
    sys.exit(subprocess.call(list(command)))


def find_uv() -> str | None:
    """Return the path of a uv that works: the one on PATH, else the one of `.venv`, else None."""
    import shutil
    import subprocess

    for candidate in (shutil.which("uv"), program("uv")):
        # A version manager's shim can be on PATH with nothing behind it, so ask it.
        if candidate and Path(candidate).exists():
            with contextlib.suppress(OSError):
                if subprocess.run([candidate, "--version"], capture_output=True).returncode == 0:
                    return candidate
    return None


def members() -> list[Path]:
    """Return the folder of every package of the workspace, the bundle last."""
    found = [file.parent for pattern in _PACKAGES for file in sorted(ROOT.glob(f"{pattern}/pyproject.toml"))]
    return [folder.resolve() for folder in found]


def _need_python() -> None:
    if sys.version_info >= OLDEST_PYTHON:
        return
    import shutil

    for minor in range(20, OLDEST_PYTHON[1] - 1, -1):
        newer = shutil.which(f"python3.{minor}")
        if newer:
            become([newer, *sys.argv])
    sys.exit("Atlas needs Python 3.11 or newer. Install one and run this again with it.")


def _fingerprint() -> str:
    digest = hashlib.sha256(str(ROOT).encode())  # a moved checkout has a .venv that points elsewhere
    files = [ROOT / "requirements.txt", Path(__file__), *(folder / "pyproject.toml" for folder in members())]
    for file in files:
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _is_current() -> bool:
    try:
        return _STAMP.read_text() == _fingerprint() and Path(program("python")).exists()
    except OSError:
        return False


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Hold the one lock of this checkout. The system lets go of it when the process dies."""
    with _LOCK.open("a+") as file:
        if os.name == "nt":
            import msvcrt
            import time

            while True:
                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]
                    break
                except OSError:  # it gives up after ten tries, one a second
                    time.sleep(0.1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install() -> None:
    import time

    began = time.monotonic()
    _say("Setting up .venv (about half a minute the first time).")
    fingerprint = _fingerprint()
    uv = _make_venv()
    python = program("python")
    packages = [item for folder in members() for item in ("--editable", str(folder))]
    if uv:
        into = ("--quiet", "--python", python)
        _run([uv, "pip", "sync", *into, "--compile-bytecode", "--require-hashes", "requirements.txt"])
        _run([uv, "pip", "install", *into, "--no-deps", "--no-build-isolation", *packages])
    else:
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--require-hashes", "--requirement", "requirements.txt"])
        _run([*pip, "--no-deps", "--no-build-isolation", *packages])
    sources = [str(folder / "src") for folder in members() if (folder / "src").is_dir()]
    with contextlib.suppress(SetupError):  # a file being edited may not parse; that is for the checks to say
        _run([python, "-m", "compileall", "-q", *sources])
    _UNFINISHED.unlink()
    _replace(_STAMP, fingerprint)
    _say(f"Ready after {time.monotonic() - began:.0f} s.")


def _make_venv() -> str | None:
    """Make `.venv` where it is missing or damaged, and return the uv that will fill it, or None for pip."""
    _STAMP.unlink(missing_ok=True)
    uv = find_uv()
    # pip never removes what is no longer wanted, so without uv a stale .venv is made anew.
    if VENV.exists() and (_UNFINISHED.exists() or not uv or not Path(program("python")).exists()):
        _remove_venv()
        uv = find_uv()
    VENV.mkdir(exist_ok=True)
    _UNFINISHED.touch()
    if not Path(program("python")).exists():
        maker = getattr(sys, "_base_executable", None) or sys.executable
        try:
            _run([maker, "-m", "venv", *(["--without-pip"] if uv else []), str(VENV)])
        except SetupError as error:
            hint = "On Debian and Ubuntu the package is python3-venv."
            raise SetupError(f"Python could not make a virtual environment. {hint}\n{error}") from None
    if not uv:
        pip = [program("python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # No uv for this platform is no failure: pip does the same, slower.
        with contextlib.suppress(SetupError):
            _run([*pip, "--only-binary", ":all:", "--require-hashes", "--requirement", "tools/uv.txt"])
    return uv or find_uv()


def _remove_venv() -> None:
    """Take `.venv` out of the way in one step, so that a kill leaves no half of it under its name."""
    import shutil
    import tempfile

    if Path(sys.prefix).resolve() == VENV.resolve():
        become([getattr(sys, "_base_executable", sys.executable), *sys.argv])  # saw off no branch we sit on
    with tempfile.TemporaryDirectory(prefix=".venv-old-", dir=ROOT, ignore_cleanup_errors=True) as old:
        VENV.replace(Path(old) / "venv")
        shutil.rmtree(Path(old) / "venv", ignore_errors=True)


def _run(command: Sequence[str]) -> None:
    """Run a step of the set-up in the repository's root; its output is shown only when it fails."""
    import subprocess

    own = {"VIRTUAL_ENV": str(VENV), "PYTHONNOUSERSITE": "1"}
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "PYTHONPATH")}
    done = subprocess.run(
        list(command),
        cwd=ROOT,
        env={**environment, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        step = " ".join(command[:4])
        raise SetupError(f"This step exited {done.returncode}: {step} …\n{done.stdout.strip()}")


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(path.name + "-new")
    beside.write_text(text)
    beside.replace(path)


def _quietly_interrupted(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if issubclass(kind, KeyboardInterrupt):
        raise SystemExit(130)
    sys.__excepthook__(kind, error, trace)  # type: ignore[arg-type]  # what the hook is given


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


if __name__ == "__main__":
    prepare()
