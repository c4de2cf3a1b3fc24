"""What looks like a secret, and which values of a .env file are some. Nothing here ever returns a value."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SHAPES = {
    "an AWS key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,})"),
    "a GitLab token": re.compile(r"\bglpat-[\w-]{20,}"),
    "an Anthropic key": re.compile(r"\bsk-ant-[\w-]{20,}"),
    "an OpenAI key": re.compile(r"\bsk-(?!ant-)(?:proj-)?[A-Za-z0-9_-]{20,}"),
    "a Google key": re.compile(r"\bAIza[\w-]{35}"),
    "a Slack token": re.compile(r"\bxox[abpors]-[\w-]{10,}"),
    "a Stripe key": re.compile(r"\b[sr]k_live_[A-Za-z0-9]{16,}"),
    "an npm token": re.compile(r"\bnpm_[A-Za-z0-9]{36}"),
    "a private key": re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"),
}
NAME = r"[\w-]*(?:secret|token|passw(?:or)?d|api[_-]?key|private[_-]?key|credential)[\w-]*"
ASSIGNED = re.compile(rf"""(?i)["']?\b({NAME})["']?\s*[:=]\s*["']?([^\s"',;]{{12,}})""")
# What stands where a secret will be, or says where it is read from.
PLACEHOLDER = re.compile(
    r"(?i)^(?:\$|<|\{|%|os\.|process\.|env|getenv|config|settings|self\.|secrets?\.)"
    r"|x{4,}|\*{3,}|change.?me|your|example|placeholder|dummy|secret_name|\.\.\.|[()]"
)
ENTROPY_BITS = 3.0
"""Words and paths have less in each character, keys made by a machine have more."""
LEAST_CHARS = 12
"""Shorter values of a .env file are ports, modes and names, and stand everywhere."""
NO_SECRETS = re.compile(r"(?i)^(?:https?://[^:@/]+(?:[:/].*)?|true|false|[\d.]+|/[\w./-]*)$")


def found_in(text: str) -> str:
    """Say what secret a text holds, or return nothing."""
    for what, shape in SHAPES.items():
        match = shape.search(text)
        if match and not PLACEHOLDER.search(match.group()):
            return what
    for name, value in ASSIGNED.findall(text):
        if not PLACEHOLDER.search(value) and _entropy(value) >= ENTROPY_BITS and re.search(r"\d", value):
            return f"a value for {name}"
    return ""


def copied_from(folder: Path, text: str) -> str:
    """Say which variable of the folder's .env files a text holds the value of, or return nothing."""
    for name, value in _values(folder):
        if value in text:
            return f"the value of {name}"
    return ""


def _values(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.glob(".env*")):
        if file.name.endswith((".example", ".sample", ".template", ".dist")) or not file.is_file():
            continue
        for line in file.read_text("utf-8", "replace").splitlines():
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            value = value.strip().strip("\"'")
            if equals and not name.startswith("#") and len(value) >= LEAST_CHARS and not NO_SECRETS.match(value):
                yield name.strip(), value


def _entropy(value: str) -> float:
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)
