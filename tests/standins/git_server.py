"""A host of git repositories on loopback: git's own program speaks the protocol, over a small HTTP server."""

from __future__ import annotations

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType


class GitServer:
    """Serves the repositories below a folder, and makes them of texts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[str] = []
        folder.mkdir(parents=True, exist_ok=True)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{name}.git"

    def commit(self, name: str, files: dict[str, str | None], *, tag: str = "") -> str:
        """Commit texts by their path (None takes one away) to a repository, tag it, and return the commit."""
        work = self.folder / f"{name}-work"
        if not work.is_dir():
            self._git(self.folder, "init", "--quiet", "--initial-branch=main", str(work))
            self._git(self.folder, "init", "--quiet", "--bare", "--initial-branch=main", f"{name}.git")
        for path, text in files.items():
            file = work / path
            if text is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
        self._git(work, "add", "--all")
        self._git(work, "commit", "--quiet", "--message", "Change")
        refs = ["main"]
        if tag:
            self._git(work, "tag", "--force", tag)
            refs.append(f"refs/tags/{tag}")
        self._git(work, "push", "--quiet", "--force", str(self.folder / f"{name}.git"), *refs)
        return self._git(work, "rev-parse", "HEAD").strip()

    def _git(self, folder: Path, *arguments: str) -> str:
        environ = {
            **{name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TMPDIR") if name in os.environ},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": str(self.folder),
        }
        for who in ("AUTHOR", "COMMITTER"):
            environ |= {f"GIT_{who}_NAME": "Robin", f"GIT_{who}_EMAIL": "robin@example.test"}
            environ[f"GIT_{who}_DATE"] = "2026-07-01T10:00:00Z"
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=environ, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._backend(b"")

            def do_POST(self) -> None:
                self._backend(self.rfile.read(int(self.headers.get("content-length", 0))))

            def _backend(self, body: bytes) -> None:
                owner.requests.append(self.path)
                path, _, query = self.path.partition("?")
                environ = {
                    "PATH": os.environ["PATH"],
                    "GIT_PROJECT_ROOT": str(owner.folder),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "GIT_CONFIG_GLOBAL": os.devnull,
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "REQUEST_METHOD": self.command,
                    "CONTENT_TYPE": self.headers.get("content-type", ""),
                    "CONTENT_LENGTH": str(len(body)),
                    "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
                    "REMOTE_ADDR": "127.0.0.1",
                }
                done = subprocess.run(
                    ["git", "http-backend"], input=body, env=environ, stdout=subprocess.PIPE, check=False
                )
                head, _, rest = done.stdout.partition(b"\r\n\r\n")
                fields = [line.partition(": ") for line in head.decode().splitlines()]
                status = next((value for name, _, value in fields if name.lower() == "status"), "200 OK")
                self.send_response(int(status.split()[0]))
                for name, _, value in fields:
                    if name.lower() != "status":
                        self.send_header(name, value)
                self.send_header("content-length", str(len(rest)))
                self.end_headers()
                self.wfile.write(rest)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def __enter__(self) -> GitServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
