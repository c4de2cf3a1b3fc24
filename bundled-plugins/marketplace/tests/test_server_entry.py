"""A server of the marketplace is one exact version of something, or an https address."""

from __future__ import annotations

from typing import Any

import pytest

from atlas_marketplace.server_entry import server_faults

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    "server",
    [
        {"command": "npx", "args": ["-y", "docs-mcp@1.2.3"]},
        {"command": "npx.cmd", "args": ["--yes", "@team/docs@1.2.3-beta.1", "--port", "80"]},
        {"command": "npx", "args": ["-y", "--package=docs@1.2.3", "docs"]},
        {"command": "uvx", "args": ["docs-mcp==1.2.3", "--verbose"]},
        {"command": "uvx", "args": ["--from", "docs[all]==1.2", "--with", "x==2.0", "docs"]},
        {"command": "docker", "args": ["run", "-i", "--rm", "-e", "DOCS_KEY", f"ghcr.io/team/docs@{DIGEST}", "serve"]},
        {"command": "docker", "args": ["run", "--rm", f"registry:5000/docs:1@{DIGEST}"], "env": {"K": "${DOCS_KEY}"}},
        {
            "command": "docker",
            "args": [
                "run",
                "-i",
                "--rm",
                "--network=none",
                "-u",
                "1000:1000",
                "--memory",
                "512m",
                "--cap-drop=ALL",
                "--security-opt=no-new-privileges",
                f"x@{DIGEST}",
            ],
        },
        {"command": "npx", "args": ["a@1.2.3"], "env": {"NODE_ENV": "production", "HOMEPAGE": "x", "LOG_PATH": "y"}},
        {"command": "uvx", "args": ["--python", "3.12", "docs-mcp==1.2.3"]},
        {"type": "http", "url": "https://docs.example.test/mcp", "headers": {"Authorization": "Bearer ${DOCS_KEY}"}},
        {"url": "https://docs.example.test/mcp", "trust": "untrusted", "alwaysLoad": True},
    ],
)
def test_what_is_pinned_is_taken(server: dict[str, Any]) -> None:
    assert server_faults(server, {"DOCS_KEY"}) == []


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"command": "npx", "args": ["-y", "docs-mcp@latest"]}, "docs-mcp@latest"),
        ({"command": "npx", "args": ["docs-mcp"]}, "one exact version"),
        ({"command": "npx", "args": ["docs-mcp@^1.2.3"]}, "one exact version"),
        ({"command": "npx", "args": ["docs-mcp@1.2"]}, "one exact version"),
        ({"command": "npx", "args": ["github:team/docs"]}, "one exact version"),
        ({"command": "npx", "args": ["-c", "docs"]}, "'-c'"),
        ({"command": "npx", "args": []}, "one exact version"),
        ({"command": "npx", "args": ["-p", "a@1.2.3", "-p", "b", "docs"]}, "'b'"),
        ({"command": "uvx", "args": ["docs-mcp"]}, "one exact version"),
        ({"command": "uvx", "args": ["docs-mcp>=1"]}, "one exact version"),
        ({"command": "uvx", "args": ["--from", "git+https://x.example.test", "docs"]}, "one exact version"),
        ({"command": "uvx", "args": ["--with", "x", "docs==1.0"]}, "'x'"),
        ({"command": "uvx", "args": ["--index-url", "https://x.example.test", "docs==1.0"]}, "--index-url"),
        ({"command": "docker", "args": ["run", "team/docs:1.2"]}, "by its digest"),
        ({"command": "docker", "args": ["run", "-e", f"X=x@{DIGEST}", "team/docs"]}, "by its digest"),
        ({"command": "docker", "args": ["run", "--privileged", f"x@{DIGEST}"]}, "--privileged"),
        ({"command": "docker", "args": ["exec", "x"]}, "docker run"),
        ({"command": "bash", "args": ["-c", "x"]}, "'bash'"),
        ({"command": "/usr/bin/npx", "args": ["a@1.2.3"]}, "only npx"),
        ({"url": "http://docs.example.test/mcp"}, "https"),
        ({"url": "https://user:x@docs.example.test/mcp"}, "https"),
        ({"url": "https://docs.example.test/mcp", "headers": {"A": "${OTHER}"}}, "'OTHER'"),
        ({"url": "https://x.example.test", "command": "npx"}, "a command or a url"),
        ({}, "a command or a url"),
        ({"command": "npx", "args": "docs@1.2.3"}, "list of texts"),
        ({"command": "npx", "args": ["a@1.2.3"], "cwd": "/"}, "'cwd'"),
        ({"url": "https://x.example.test", "headers": {"Authorization": "Bearer " + "ghp_" + "a8Kd03mQzR7vLxW2yTn5" * 2}},
         "like a secret"),
        ({"command": "npx", "args": ["a@1.2.3"], "env": {"npm_config_registry": "http://x"}}, "'npm_config_registry'"),
        ({"command": "uvx", "args": ["a==1.2.3"], "env": {"UV_INDEX_URL": "http://x"}}, "'UV_INDEX_URL'"),
        ({"command": "npx", "args": ["a@1.2.3"], "env": {"NODE_OPTIONS": "-r ./x"}}, "'NODE_OPTIONS'"),
        ({"command": "docker", "args": ["run", "--entrypoint", "sh", "a@sha256:" + "0" * 64]}, "'--entrypoint'"),
    ],
)  # fmt: skip
def test_what_is_not_pinned_is_refused_with_the_reason(server: dict[str, Any], said: str) -> None:
    faults = server_faults(server, {"DOCS_KEY"})

    assert any(said in fault for fault in faults), faults


@pytest.mark.parametrize(
    "options",
    [
        "-v /:/host", "--volume=/:/host", "--mount type=bind,src=/,dst=/host", "--network host", "--network=host",
        "--network container:x", "--security-opt seccomp=unconfined", "--security-opt=apparmor=unconfined", "-u 0",
        "--user root", "--user=0:0", "--user 1000:0", "--tmpfs /x", "--pid host", "--cap-add ALL", "--device /dev/sda",
        "-it=x", "-ev", "-u0", "--env-file /etc/x", "--memory",
    ],
)  # fmt: skip
def test_an_option_of_docker_that_lets_something_of_this_computer_in_is_refused(options: str) -> None:
    faults = server_faults({"command": "docker", "args": ["run", "-i", *options.split(), f"x@{DIGEST}"]}, set())

    assert len(faults) == 1, faults
    assert "docker run has" in faults[0]


@pytest.mark.parametrize(
    "name",
    [
        "HOME", "home", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "USERPROFILE", "APPDATA", "NPM_CONFIG_USERCONFIG",
        "npm_config_prefix", "UV_CONFIG_FILE", "UV_PYTHON", "PIP_CONFIG_FILE", "PREFIX", "NETRC", "COMSPEC", "SHELL",
        "COREPACK_NPM_REGISTRY", "DOCKER_HOST", "DOCKER_CONFIG", "CONTAINER_HOST", "PATHEXT", "TMPDIR", "NODE_PATH",
        "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "SSL_CERT_DIR", "FTP_PROXY", "A B", "LD_AUDIT", "VIRTUAL_ENV", "x=y",
    ],
)  # fmt: skip
def test_a_variable_that_may_steer_who_fetches_is_refused(name: str) -> None:
    faults = server_faults({"command": "npx", "args": ["a@1.2.3"], "env": {name: "/x"}}, set())

    assert len(faults) == 1, faults


def test_uvx_runs_a_version_of_python_and_no_program() -> None:
    faults = server_faults({"command": "uvx", "args": ["--python", "/tmp/evil", "docs==1.0"]}, set())

    assert faults == ["uvx must run a version of Python, such as 3.12, and not '/tmp/evil'."]
