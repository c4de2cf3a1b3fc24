"""``ctx.http()`` against a real server on loopback, and the log of what it asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from atlas_sdk.audit import LIMIT_BYTES, MOST_CHARS, Audit
from atlas_sdk.http import http_client
from atlas_sdk.manifest import DeclaredSetting, Manifest
from atlas_sdk.register import run_register
from atlas_sdk.testing.fakes import FakeContext

pytestmark = pytest.mark.anyio
UNNAMED = "asked, and the manifest's network does not name it"


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        where = f"http://localhost:{self.server.server_port}/there"  # type: ignore[attr-defined]  # it is an HTTPServer
        self.send_response(302 if self.path.startswith("/moved") else 200)
        if self.path.startswith("/moved"):
            self.send_header("Location", where)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


async def asks(ctx: FakeContext, manifest: Manifest, url: str, **options: Any) -> str:
    """Have a plugin's tool ask for an address, and return the text of the answer."""
    kept: list[Any] = []
    await run_register(SimpleNamespace(register=kept.append), ctx, manifest)
    async with kept[0].http(**options) as http:
        return str((await http.get(url)).text)


async def test_each_host_that_is_asked_is_in_the_log_a_redirects_too(atlas_context: FakeContext, port: int) -> None:
    manifest = Manifest("sample-plugin", network=("localhost",))

    said = await asks(atlas_context, manifest, f"http://127.0.0.1:{port}/moved?key=a-secret", follow_redirects=True)

    assert said == "hello"
    assert atlas_context.asked == ((f"127.0.0.1:{port}", UNNAMED), (f"localhost:{port}", "asked"))


async def test_a_host_that_cannot_be_reached_is_in_the_log_all_the_same(atlas_context: FakeContext) -> None:
    import httpx2

    with pytest.raises(httpx2.ConnectError):
        await asks(atlas_context, Manifest("sample-plugin"), "http://127.0.0.1:9/")

    assert atlas_context.asked == (("127.0.0.1:9", UNNAMED),)


@pytest.mark.parametrize(
    ("network", "setting", "outcome"),
    [
        (("127.0.0.1:{port}",), "", "asked"),
        (("http://127.0.0.1/api",), "", "asked"),
        (("127.*",), "", "asked"),
        (("*.example.com", "["), "", UNNAMED),
        ((), "http://127.0.0.1:{port}/mine", "asked"),
        ((), "http://[", UNNAMED),
    ],
)
async def test_what_the_manifest_or_a_setting_names_is_known(
    atlas_context: FakeContext, port: int, network: tuple[str, ...], setting: str, outcome: str
) -> None:
    atlas_context.settings["address"] = setting.format(port=port)
    named = tuple(one.format(port=port) for one in network)
    manifest = Manifest("sample-plugin", network=named, settings=(DeclaredSetting("address", "", ""),))

    await asks(atlas_context, manifest, f"http://127.0.0.1:{port}/")

    assert [said for _, said in atlas_context.asked] == [outcome]


async def test_hooks_of_the_author_run_too(atlas_context: FakeContext, port: int) -> None:
    seen: list[str] = []

    async def mine(request: Any) -> None:
        seen.append(request.method)

    async with http_client(atlas_context, event_hooks={"request": [mine]}) as http:
        await http.get(f"http://127.0.0.1:{port}/")

    assert seen == ["GET"]
    assert len(atlas_context.asked) == 1


def test_a_name_makes_no_line_of_its_own(atlas_context: FakeContext, tmp_path: Path) -> None:
    log = Audit(tmp_path, "a", atlas_context.clock)
    forged = '\n{"at": "2026-01-01T00:00:00+00:00", "kind": "secret", "what": "X"}\r\u2028\x1b[2J\ud83d'

    log.note("host", forged + "a" * 10_000, forged, conversation=forged)

    (line,) = log.lines(10)
    assert all(text.isprintable() for text in line.values())
    assert len(line["what"]) == MOST_CHARS
    assert len((tmp_path / "logs/plugins/a.jsonl").read_bytes().splitlines()) == 1


def test_a_log_keeps_its_size_and_its_newest_lines(atlas_context: FakeContext, tmp_path: Path) -> None:
    log = Audit(tmp_path, "a", atlas_context.clock)
    folder = tmp_path / "logs" / "plugins"
    log.note("tool", "first")
    for number in range(3):
        with (folder / "a.jsonl").open("a") as file:
            file.write("half a line\n" + "[]\n" + "x" * LIMIT_BYTES + "\n")
        log.note("tool", f"number {number}")

    assert [line["what"] for line in log.lines(2)] == ["number 1", "number 2"]
    assert sum(file.stat().st_size for file in folder.iterdir()) < 3 * LIMIT_BYTES
    assert (folder / "a.jsonl").stat().st_mode & 0o077 == 0
