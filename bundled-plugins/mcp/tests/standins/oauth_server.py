"""A server that wants its user to sign in, and the authorization server it names, true to the wire, on loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit


class OAuthServer:
    """Grants tokens that last ``lasts`` seconds; ``refuses`` is what it says instead of granting one."""

    def __init__(self) -> None:
        self.lasts = 3600
        self.refuses = ""
        self.requests: list[str] = []
        self.granted: list[str] = []
        self.valid: set[str] = set()
        self.clients: list[dict[str, Any]] = []
        self._codes: dict[str, str] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    def __enter__(self) -> OAuthServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    # --- what it answers -----------------------------------------------------------------------

    def about(self, path: str) -> Any:
        if path == "/.well-known/oauth-protected-resource/mcp":
            return {"resource": self.url, "authorization_servers": [f"{self.base}/auth"]}
        if path == "/.well-known/oauth-authorization-server/auth":
            return {
                "issuer": f"{self.base}/auth",
                "authorization_endpoint": f"{self.base}/auth/authorize",
                "token_endpoint": f"{self.base}/auth/grant",
                "registration_endpoint": f"{self.base}/auth/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            }
        return None

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser is sent back to: the user agrees at once."""
        assert asked["code_challenge_method"] == "S256"
        back = {"state": asked["state"]}
        if self.refuses:
            return f"{asked['redirect_uri']}?{urlencode({**back, 'error': 'access_denied', 'error_description': self.refuses})}"
        self._codes[f"code-{len(self._codes)}"] = asked["code_challenge"]
        return f"{asked['redirect_uri']}?{urlencode({**back, 'code': list(self._codes)[-1]})}"

    def grant(self, asked: dict[str, str]) -> dict[str, Any] | None:
        if asked["grant_type"] == "authorization_code":
            digest = hashlib.sha256(asked["code_verifier"].encode()).digest()
            if self._codes.pop(asked["code"], "") != base64.urlsafe_b64encode(digest).decode().rstrip("="):
                return None
        elif asked.get("refresh_token") not in self.granted:
            return None
        token = f"token-{len(self.granted)}"
        self.granted += [token, f"refresh-{len(self.granted)}"]
        self.valid = {token}
        return {
            "access_token": token, "token_type": "Bearer", "expires_in": self.lasts, "refresh_token": self.granted[-1],
        }  # fmt: skip

    def answer(self, message: dict[str, Any]) -> Any:
        match message["method"]:
            case "initialize":
                info = {"name": "notes", "version": "1"}
                return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                return {"tools": [{"name": "who", "description": "Says who.", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                return {"content": [{"type": "text", "text": "You are Robin."}]}
            case _:
                return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                owner.requests.append(f"GET {parts.path}")
                if parts.path == "/auth/authorize":
                    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
                    self._say(302, b"", location=owner.authorize(asked))
                elif (found := owner.about(parts.path)) is not None:
                    self._json(200, found)
                else:
                    self._say(405 if parts.path == "/mcp" else 404, b"")

            def do_DELETE(self) -> None:
                self._say(200, b"")

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                owner.requests.append(f"POST {self.path}")
                if self.path == "/auth/register":
                    client = {**json.loads(body), "client_id": f"client-{len(owner.clients)}"}
                    client["token_endpoint_auth_method"] = "none"
                    owner.clients.append(client)
                    self._json(201, client)
                elif self.path == "/auth/grant":
                    asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                    granted = owner.grant(asked)
                    self._json(200 if granted else 400, granted or {"error": "invalid_grant"})
                elif self.headers.get("authorization", "").removeprefix("Bearer ") not in owner.valid:
                    about = f"{owner.base}/.well-known/oauth-protected-resource/mcp"
                    self._say(401, b"", www_authenticate=f'Bearer resource_metadata="{about}"')
                else:
                    message = json.loads(body)
                    if "id" not in message:
                        self._say(202, b"")
                    elif (result := owner.answer(message)) is not None:
                        self._json(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})
                    else:
                        error = {"code": -32601, "message": "Method not found"}
                        self._json(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})

            def _json(self, status: int, found: Any) -> None:
                self._say(status, json.dumps(found).encode(), content_type="application/json")

            def _say(self, status: int, body: bytes, **headers: str) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        return Handler
