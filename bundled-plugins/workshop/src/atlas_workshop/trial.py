"""Trying a plugin folder: its own tests, and the promises of the contracts it keeps, in a home thrown away."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_sdk.errors import AtlasError, NotFoundError
from atlas_sdk.values import Json

from .subjects import Subject, subjects

if TYPE_CHECKING:
    from atlas_sdk.testing.folder_plugin import FolderPlugin

TESTS_SECONDS = 600.0
INI_FILES = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
KEPT_VARIABLES = frozenset(
    ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "USERPROFILE", "PYTHONPATH")
)
"""What the tests see of the environment: none of the user's keys."""
NO_TESTS = 5
"""pytest's exit code when it found no test."""


@dataclass(frozen=True)
class SuiteResult:
    """What a conformance suite said of one thing a plugin registers. ``skipped`` says why it was not run."""

    of: str
    name: str
    kept: int = 0
    broken: tuple[str, ...] = ()
    skipped: str = ""


@dataclass
class Result:
    """What a trial found. ``wrong`` are sentences about the plugin as a whole."""

    name: str
    folder: str
    wrong: list[str] = field(default_factory=list)
    suites: list[SuiteResult] = field(default_factory=list)
    tests: str = "none"
    """``passed``, ``failed``, ``none``, ``left`` while it does not load, ``missing`` where there is no pytest."""
    tests_said: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        broken = any(suite.broken for suite in self.suites)
        return not self.wrong and not broken and self.tests in ("passed", "none")

    def as_json(self) -> Json:
        """Return it as JSON."""
        return {**asdict(self), "ok": self.ok}


def refuse_no_plugin(folder: Path) -> None:
    """Raise AtlasError for a folder that is no plugin: with nothing in it to try, all of that would be in order."""
    from atlas_sdk.folder_report import Report
    from atlas_sdk.manifest_file import MANIFEST, plugin_folders, raw_manifest

    report = Report()
    raw_manifest(folder, report)
    if report.refused:
        why = report.refused[0].why.partition(" The rest")[0]
        raise AtlasError(f"{folder / MANIFEST} cannot be taken: {why}", hint="Mend the file.")
    if (folder / MANIFEST).is_file() or any(one.name == folder.name for one in plugin_folders(folder.parent)):
        return
    inner = ", ".join(one.name for one in plugin_folders(folder))
    hint = f"These in it are plugins, each of its own: {inner}." if inner else "atlas plugins new NAME makes one."
    if folder.name == MANIFEST.parent.name:
        hint = f"The plugin is the folder around it: {folder.parent}."
    raise NotFoundError(f"{folder} is no plugin: it holds nothing that Atlas loads.", hint=hint)


async def try_plugin(folder: Path) -> Result:
    """Load the folder twice and run the suites that fit what it registers. Its own tests are ``run_tests``."""
    from atlas_sdk.installed import manifest_at
    from atlas_sdk.testing.examples import read_examples

    manifest = manifest_at(folder)
    result = Result(manifest.name, str(folder))
    try:
        examples = read_examples(folder)
        async with _loaded(folder) as plugin:
            result.wrong += plugin.registered.left_out
            result.wrong += _missing(plugin)
        async with _loaded(folder) as plugin:  # off and on again: what it starts has to be startable twice
            for one in subjects(plugin, examples):
                result.suites.append(await _run(one))
    except AtlasError as error:
        result.wrong.append(str(error))
        result.tests = "left"
    return result


def run_tests(folder: Path, result: Result) -> None:
    """Run the folder's tests with pytest, in a process of their own, and put what came of it into the result."""
    from atlas_sdk.installed import project_of

    folder = project_of(folder)
    tests = folder / "tests"
    if not tests.is_dir() or result.tests == "left":  # each would fail by what is said already
        return
    if importlib.util.find_spec("pytest") is None:
        result.tests = "missing"
        result.tests_said = "pytest is not installed beside Atlas, and it runs a plugin's tests."
        return
    with tempfile.TemporaryDirectory(prefix="atlas-") as scratch:
        ini = next((folder / name for name in INI_FILES if (folder / name).is_file()), Path(scratch) / "pytest.ini")
        if ini.parent != folder:
            ini.write_text("[pytest]\n", "utf-8")  # what lies above the plugin is another project's
        command = [
            sys.executable, "-m", "pytest", "-q", str(tests), "-c", str(ini), "--rootdir", str(folder),
            "--confcutdir", str(folder), "--import-mode=importlib", "-p", "no:cacheprovider", "--tb=short",
        ]  # fmt: skip
        environ = {name: value for name, value in os.environ.items() if name in KEPT_VARIABLES}
        environ["ATLAS_HOME"] = str(Path(scratch) / "home")
        try:
            done = subprocess.run(
                command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, timeout=TESTS_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            result.tests = "failed"
            result.tests_said = f"The tests took over {TESTS_SECONDS / 60:.0f} minutes."
            return
    result.tests = "none" if done.returncode == NO_TESTS else "failed" if done.returncode else "passed"
    result.tests_said = done.stdout.strip()


@contextmanager
def left_as_it_was(folder: Path) -> Iterator[None]:
    """Take away the compiled files that the block leaves: a plugin whose folder changes is loaded again."""
    before = set(folder.rglob("__pycache__"))
    try:
        yield
    finally:
        for made in set(folder.rglob("__pycache__")) - before:
            shutil.rmtree(made, ignore_errors=True)


@asynccontextmanager
async def _loaded(folder: Path) -> AsyncIterator[FolderPlugin]:
    from atlas_sdk.services.store import STORE
    from atlas_sdk.services.vault import VAULT
    from atlas_sdk.testing.fakes import FakeContext, FakeServices, FakeStore, FakeVault
    from atlas_sdk.testing.folder_plugin import load_folder

    with tempfile.TemporaryDirectory(prefix="atlas-", ignore_cleanup_errors=True) as scratch:
        home = Path(scratch)
        services = FakeServices(STORE.by(FakeStore(home)), VAULT.by(FakeVault()))
        plugin = await load_folder(folder, home, ctx=FakeContext(home, folder=folder, services=services))
        try:
            yield plugin
        finally:
            await plugin.unload()


def _missing(plugin: FolderPlugin) -> list[str]:
    """Return a sentence for each name the manifest declares and ``register`` does not register."""
    from atlas_sdk.register import Registered

    if not isinstance(plugin.hooks, Registered) or not (Path(plugin.manifest.folder) / "__init__.py").is_file():
        return []
    what = plugin.registered
    kinds: dict[str, set[str]] = {
        "tools": {one.name for one in what.tools},
        "channels": {one.name for one in what.channels},
        "executors": {one.name for one in what.executors},
        "readers": {one.kind for one in what.readers},
        "hooks": {one.event for one in what.hooks},
        "commands": {one.name for one in what.commands},
        "calls": {one.name for one in what.calls},
    }
    said = "\n".join(what.left_out)
    return [
        f'The manifest names {name} under "{kind}", and register(ctx) does not register it.'
        for kind, names in kinds.items()
        for name in getattr(plugin.manifest, kind)
        if name not in names and name != "*" and f" {name} is left out" not in said
    ]


async def _run(one: Subject) -> SuiteResult:
    from atlas_sdk.testing.suite import BrokenPromiseError

    broken = []
    for promise in one.promises:
        try:
            await promise()
        except BrokenPromiseError as error:
            broken.append(str(error))
        except Exception as error:  # noqa: BLE001  # an author's example may raise anything, and is told
            broken.append(f"{type(error).__name__}: {error}")
    return SuiteResult(one.of, one.name, len(one.promises) - len(broken), tuple(broken), one.lacks)
