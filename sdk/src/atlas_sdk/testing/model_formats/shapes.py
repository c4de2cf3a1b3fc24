"""What the formats share: a refusal, cutting text into deltas, and the checks every real server makes."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Any
Event: TypeAlias = tuple[str | None, Json]
"""The SSE event name (None sends only data) and its JSON; text is sent as it is."""

IMAGE_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


@dataclass
class BadRequestError(Exception):
    """A request the real server would refuse with 400 (or `status`)."""

    message: str
    param: str | None = None
    code: str | None = None
    status: int = 400


@dataclass(frozen=True)
class Refused:
    """The answer to a request that is not served: what the HTTP layer sends."""

    status: int
    body: Json


def pieces(text: str, size: int = 7) -> Iterator[str]:
    """Cut text into deltas at places no parser would choose, so that one that expects whole JSON fails."""
    for start in range(0, len(text), size):
        yield text[start : start + size]


def need(condition: bool, message: str, param: str | None = None, code: str | None = None) -> None:
    """Refuse unless the condition holds."""
    if not condition:
        raise BadRequestError(message, param, code)


def check_name(name: Json, where: str, pattern: str) -> None:
    """Refuse a tool name outside the format's alphabet."""
    if not isinstance(name, str) or not re.fullmatch(pattern, name):
        raise BadRequestError(
            f"Invalid '{where}': string does not match pattern. Expected a string that matches the "
            f"pattern '^{pattern}$'.",
            where,
            "invalid_value",
        )


def check_arguments(text: Json, where: str) -> None:
    """Refuse tool arguments that are not a JSON object in text. OpenAI is lax here; Gemini and vLLM are not."""
    need(isinstance(text, str), f"Invalid type for '{where}': expected a string, but got an object instead.", where)
    try:
        value = json.loads(text)
    except ValueError:
        raise BadRequestError(f"Invalid '{where}': the arguments are not valid JSON.", where) from None
    need(isinstance(value, dict), f"Invalid '{where}': the arguments are not a JSON object.", where)


def check_image(media_type: Json, data: Json, where: str) -> None:
    """Refuse an image of another format, of broken base64, or whose bytes are not what its type says."""
    if media_type not in IMAGE_SIGNATURES:
        raise BadRequestError(
            f"You uploaded an unsupported image. Please make sure your image has one of the following formats: "
            f"['png', 'jpeg', 'gif', 'webp']. ({media_type} at {where})",
            where,
            "invalid_image_format",
        )
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise BadRequestError(f"Invalid base64 image_url. ({where})", where, "invalid_base64_image") from None
    if not raw.startswith(IMAGE_SIGNATURES[media_type]):
        raise BadRequestError(
            f"The image does not match its media type {media_type}. ({where})", where, "invalid_image"
        )


def check_image_url(url: Json, where: str) -> None:
    """Refuse an image address that is neither https nor a sound data: URL."""
    need(isinstance(url, str), f"Missing required parameter: '{where}'.", where)
    if url.startswith(("http://", "https://")):
        return
    found = re.fullmatch(r"data:([\w/+.-]+);base64,(.*)", url, re.DOTALL)
    if found is None:
        raise BadRequestError(f"Failed to download image from {url[:40]!r}. ({where})", where, "invalid_image_url")
    check_image(found[1], found[2], where)
