"""Files that are text as they are: read without anybody's help."""

from __future__ import annotations

from pathlib import Path

MOST_CHARS = 100_000
"""About 25,000 tokens. What is longer is for the tools that page, not for a note that rides in every request."""
TEXT_TYPES = frozenset(
    {
        "application/json", "application/ld+json", "application/xml", "application/yaml", "application/x-yaml",
        "application/toml", "application/javascript", "application/x-javascript", "application/x-sh",
        "application/sql", "application/x-httpd-php", "application/x-ndjson", "image/svg+xml",
    }
)  # fmt: skip
UNSAID_TYPE = "application/octet-stream"
TEXT_ENDINGS = frozenset(
    {
        "txt", "md", "rst", "csv", "tsv", "log", "ini", "cfg", "conf", "toml", "yaml", "yml", "json", "jsonl", "xml",
        "html", "css", "js", "ts", "tsx", "jsx", "py", "rb", "go", "rs", "java", "kt", "c", "h", "cc", "cpp", "hpp",
        "cs", "swift", "sh", "bash", "zsh", "ps1", "sql", "tex", "diff", "patch", "lua", "pl", "r", "scala", "vue",
    }
)  # fmt: skip


def is_text(media_type: str, name: str) -> bool:
    """Whether a file says that it is text, by its type, or by its name where it has no type."""
    kind = media_type.partition(";")[0].strip().lower()
    if kind.startswith("text/") or kind in TEXT_TYPES or kind.endswith(("+json", "+xml")):
        return True
    return kind in (UNSAID_TYPE, "") and name.rpartition(".")[2].lower() in TEXT_ENDINGS


def read_text(path: Path) -> str:
    """Return a file's text, cut where it is very long; empty for what is no text after all."""
    with path.open("rb") as file:
        raw = file.read(4 * MOST_CHARS + 1)
    text = _decoded(raw)
    if len(text) <= MOST_CHARS and len(raw) <= 4 * MOST_CHARS:
        return text
    size = path.stat().st_size
    return (
        f"{text[:MOST_CHARS]}\n\n[The file goes on: these are its first {MOST_CHARS:,} characters, of {size:,} bytes.]"
    )


def _decoded(raw: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if raw.startswith(mark):
            return raw.decode(encoding, "replace")
    if b"\0" in raw:
        return ""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        if error.end >= len(raw) - 3 and len(raw) > 4 * MOST_CHARS:
            return raw[: error.start].decode()  # only the last character was cut
        return raw.decode("cp1252", "replace")
