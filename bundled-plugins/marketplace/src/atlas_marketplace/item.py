"""An item of the marketplace: what its file says, and what is wrong with it. Pure."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from atlas_sdk.messages import Frozen
from atlas_sdk.refusals import refusal
from atlas_sdk.values import Json

from .server_entry import server_faults
from .strict_yaml import YamlError, load

Kind = Literal["skill", "mcp", "plugin", "executor"]
State = Literal["", "installed", "update", "changed", "gone"]
"""How something that came stands to its item."""
KINDS: tuple[Kind, ...] = ("skill", "mcp", "plugin", "executor")

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/(?!\.\.?$)[A-Za-z0-9_.-]{1,100}")
_SHA = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{1,63}")
_SIGN_INS = "MCP_LOGIN_"
"""How the vault's entries begin that hold what a sign-in to an MCP server granted."""
_TEXT_CHARS = 2_000


class SecretNeed(Frozen):
    """A secret that an MCP server reads, and where one is made."""

    name: str
    description: str = ""
    url: str = ""


class Item(Frozen):
    """One file of the marketplace's ``items``. ``retired`` is why it was taken off, empty while it was not.

    ``digest`` is that of the reviewed folder, as ``atlas marketplace check`` says it; where it is given, nothing else
    installs.
    """

    name: str
    kind: Kind
    title: str = ""
    summary: str = ""
    author: str = ""
    license: str = ""
    repo: str = ""
    sha: str = ""
    path: str = ""
    version: str = ""
    image: str = ""
    digest: str = ""
    retired: str = ""
    server: dict[str, Json] | None = None
    secrets: tuple[SecretNeed, ...] = ()
    faults: tuple[str, ...] = Field(default=())
    """Why it is not installed, however it is listed."""

    @field_validator("version", "sha", "retired", "digest", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def read_item(text: str, *, file: str = "") -> Item:
    """Return an item with its faults. Raises YamlError for a file that is no item at all.

    ``file`` is the file's name without its ending, which is the item's.
    """
    found = load(text)
    if not isinstance(found, dict):
        raise YamlError("It must be names with values.")
    known = {name: value for name, value in found.items() if name in Item.model_fields and name != "faults"}
    try:
        item = Item.model_validate({name: value for name, value in known.items() if value is not None})
    except ValidationError as error:
        raise YamlError(refusal(error, Item)[1]) from error
    return item.model_copy(update={"faults": tuple(_faults(item, file))})


def unknown_fields(text: str) -> list[str]:
    """Return the fields of a file that no Atlas reads."""
    found = load(text)
    return [name for name in found if name not in Item.model_fields or name == "faults"]


def missing_texts(item: Item) -> list[str]:
    """Return what the marketplace asks of an item, and an installation does not."""
    missing = [name for name in ("title", "summary", "author", "license") if not getattr(item, name).strip()]
    if item.kind != "mcp" and not item.version:
        missing.append("version")
    return missing


def is_repository(text: str) -> bool:
    """Return whether a text is ``owner/name``."""
    return _REPO.fullmatch(text) is not None


def _faults(item: Item, file: str) -> list[str]:
    faults = []
    if not NAME.fullmatch(item.name) or len(item.name) > 64:
        faults.append(f"Its name {item.name[:40]!r} must be of lowercase letters, digits and dashes.")
    if file and file != item.name:
        faults.append(f"Its file is called {file[:40]!r}, and the item {item.name[:40]!r}.")
    if any(len(text) > _TEXT_CHARS or not _plain(text) for text in (item.title, item.summary, item.author)):
        faults.append("Its texts are too long, or hold characters that are not shown.")
    if item.image and not item.image.startswith("https://"):
        faults.append("Its image must be at an https address.")
    return faults + (_mcp_faults(item) if item.kind == "mcp" else _code_faults(item))


def _code_faults(item: Item) -> list[str]:
    from atlas_sdk.archives import ArchiveError, checked_name

    faults = []
    if not is_repository(item.repo):
        faults.append(f"Its repo must be owner/name, and it is {item.repo[:60]!r}.")
    if not _SHA.fullmatch(item.sha):
        faults.append(f"Its sha must be a commit's 40 digits, and it is {item.sha[:60]!r}: branches and tags move.")
    if item.digest and not _DIGEST.fullmatch(item.digest):
        faults.append("Its digest must be sha256: and 64 digits.")
    try:
        checked_name(item.path)
    except ArchiveError as error:
        faults.append(f"Its path does not name a folder of the repository. {error.message}")
    if item.server is not None or item.secrets:
        faults.append(f"A {item.kind} has no server and no secrets: that is an item of the kind mcp.")
    return faults


def _mcp_faults(item: Item) -> list[str]:
    faults = [f"{secret.name[:40]!r} is no name of a secret, such as DOCS_KEY." for secret in item.secrets
              if not _SECRET.fullmatch(secret.name)]  # fmt: skip
    faults += [f"Its secret {secret.name[:40]!r} is a sign-in that Atlas keeps, which no server reads."
               for secret in item.secrets if secret.name.startswith(_SIGN_INS)]  # fmt: skip
    if item.server is None:
        return [*faults, "It has no server."]
    return faults + server_faults(item.server, {secret.name for secret in item.secrets})


def _plain(text: str) -> bool:
    return all(letter.isprintable() or letter == "\n" for letter in text)


def to_json(item: Item) -> dict[str, Any]:
    """Return an item as lists and files keep it."""
    return item.model_dump(mode="json", exclude_defaults=True)
