"""A program of the user's that says which headers a server gets: ``headersHelper``, as Claude Code has it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio

from atlas_sdk.errors import MisuseError
from atlas_sdk.values import read_json

from .config import ServerConfig
from .placeholders import basic_environment

HELPER_SECONDS = 10.0
"""As Claude Code has it (2026-11)."""
_SAID_CHARS = 200


async def helped(config: ServerConfig) -> dict[str, str]:
    """Return a server's headers with those its helper says, which count more. Raises MisuseError.

    It is run anew for every connection, so that a token that ends is fetched again.
    """
    headers = dict(config.headers)
    if not config.headers_helper:
        return headers
    names = {"CLAUDE_CODE_MCP_SERVER_NAME": config.name, "CLAUDE_CODE_MCP_SERVER_URL": config.url}
    environment = {**basic_environment(), **names}
    who = f"The headersHelper of the MCP server {config.name}"
    try:
        with anyio.fail_after(HELPER_SECONDS):
            done = await anyio.run_process(
                config.headers_helper, env=environment, cwd=config.folder, check=False, start_new_session=True
            )
    except TimeoutError:
        raise MisuseError(f"{who} took over {HELPER_SECONDS:.0f} seconds.") from None
    except OSError as error:
        raise MisuseError(f"{who} could not be started: {error.strerror}.") from error
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:_SAID_CHARS]
        raise MisuseError(f"{who} ended with {done.returncode}. It said: {said or 'nothing'}")
    found: Any = None
    with suppress(ValueError):
        found = read_json(done.stdout.decode("utf-8", "replace"))
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise MisuseError(f"{who} must print a JSON object of texts.")
    return {**headers, **found}
