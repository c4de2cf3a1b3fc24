"""The author's guide, done as it says: its files written, its commands run; and its list of names, held whole."""

from __future__ import annotations

import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from atlas.plugins import acp, sdk
from atlas_sdk import API_VERSION, hookspecs
from atlas_sdk.testing.model_script import Reply, call, say
from atlas_sdk.testing.model_server import ModelServer

DOCS = Path(__file__).resolve().parents[2] / "docs" / "plugins"
_STEP = re.compile(
    r"^[^\n]*`([\w./-]+)`[^\n]*:\n\n```(?:json|python|markdown)\n(.*?)^```$|^```bash\n(.*?)^```$", re.M | re.S
)


# --- the names -----------------------------------------------------------------------------------


def named() -> set[str]:
    """Return the names that stand in the first column of the guide's tables."""
    return set(re.findall(r"^\| `([^`]+)` \|", (DOCS / "sdk.md").read_text("utf-8"), re.M))


def test_each_name_that_exists_is_in_the_guide() -> None:
    members = {
        f"ctx.{name}"
        for name, _ in inspect.getmembers(sdk.PluginContext)
        if not name.startswith("_") and name != "close"
    }
    guide = {re.sub(r"\(.*", "", name) for name in named()}

    assert set(sdk.__all__) | set(acp.__all__) | members | {"ctx.llm.complete"} <= guide


def test_each_name_in_the_guide_exists() -> None:
    before_tests = (DOCS / "sdk.md").read_text("utf-8").partition("## In tests")[0]
    for name in re.findall(r"^\| `([^`]+)` \|", before_tests, re.M):
        short = re.sub(r"\(.*", "", name)
        if short.startswith("ctx."):
            assert short == "ctx.llm.complete" or hasattr(sdk.PluginContext, short.removeprefix("ctx.")), name
        else:
            assert short in {*sdk.__all__, *acp.__all__}, name
            assert hasattr(sdk, short) or hasattr(acp, short), name


def test_the_face_is_the_version_of_the_sdk() -> None:
    assert sdk.API_VERSION == API_VERSION == 23


def test_each_hook_has_a_page() -> None:
    hooks = {name for name in vars(hookspecs) if name.startswith("atlas_")}

    assert {path.stem for path in (DOCS / "hooks").glob("*.md")} == hooks


# --- the first plugin ----------------------------------------------------------------------------


class Weather(BaseHTTPRequestHandler):
    """The weather service, as the guide's plugin asks it."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Lisbon: +18 C")

    def log_message(self, *said: object) -> None:
        """Print nothing."""


@pytest.fixture
def weather() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Weather)
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def model() -> Iterator[ModelServer]:
    script = [Reply(calls=[call("weather_now", {"city": "Lisbon"})]), say("It is mild in Lisbon, 18 degrees.")]
    with ModelServer(script) as server:
        yield server


@pytest.mark.timeout(400)
@pytest.mark.slow  # it does all that a new author does, in processes of their own
def test_the_first_plugin_is_made_tested_and_used_as_the_guide_says(
    tmp_path: Path, weather: str, model: ModelServer
) -> None:
    home = tmp_path / ".atlas"
    home.mkdir()
    (home / "models.toml").write_text(
        f'[providers.standin]\nbase_url = "{model.url}/v1"\n\n'
        '[[models]]\nprovider = "standin"\nid = "stand-in-1"\ndefault = true\n'
    )
    (home / "config.toml").write_text('[model]\nprovider = "standin"\n[titles]\nenabled = false\n')
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ATLAS_", "PYTEST"))}
    environ |= {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}

    def atlas(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "atlas_kernel", *arguments],
            capture_output=True, text=True, check=False, env=environ, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=150,
        )  # fmt: skip
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    said: list[str] = []
    folder = home / "plugins" / "weather"
    for path, text, commands in _STEP.findall((DOCS / "first-plugin.md").read_text("utf-8")):
        if path:
            (folder / path).write_text(text.replace("https://wttr.in", weather), "utf-8")
            continue
        for line in commands.splitlines():
            words = [word.replace("~", str(tmp_path)) for word in shlex.split(line)]
            assert words[0] == "atlas"
            if words[1:3] == ["plugins", "enable"]:
                words.append("--yes")
            said.append(atlas(*words[1:]))

    whole = "\n".join(said)
    assert whole.count("weather is in order.") == 2
    assert "weather_now keeps its 13 promises" in whole
    assert "weather loads: 1 skill, Python." in whole
    assert "weather is on." in whole
    assert "It is mild in Lisbon, 18 degrees." in said[-1]
    asked = json.dumps([request.body["messages"][-1] for request in model.requests], ensure_ascii=False)
    assert "Lisbon: +18 C" in asked


@pytest.mark.timeout(200)
@pytest.mark.slow  # it makes a plugin of each kind, in processes of their own
def test_the_page_of_kinds_makes_and_tests_them_as_it_says(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("ATLAS_", "PYTEST"))}
    environ |= {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    text = (DOCS / "kinds.md").read_text("utf-8")
    said: list[str] = []
    for block in re.findall(r"^```bash\n(.*?)^```$", text, re.M | re.S):
        for line in block.splitlines():
            words = [word.replace("~", str(tmp_path)) for word in shlex.split(line)]
            more = ["--yes"] if words[2] == "enable" else []
            done = subprocess.run(
                [sys.executable, "-m", "atlas_kernel", *words[1:], *more],
                capture_output=True, text=True, check=False, env=environ, cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=60,
            )  # fmt: skip
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            said.append(done.stdout)
    whole = "\n".join(said)

    assert "lobby is in order." in whole
    assert "Nothing that came with Atlas uses its executors (crane) in this version." in whole
    for shown in re.findall(r"^```text\n(.*?)^```$", text, re.M | re.S):
        assert shown in whole
    made = {path.name for path in (tmp_path / ".atlas" / "plugins").iterdir()}
    assert {"lobby", "shed-models", "ears", "crane", "pane"} <= made
    assert all(
        "atlas docs plugins/kinds" in (tmp_path / ".atlas" / "plugins" / one / "README.md").read_text() for one in made
    )
