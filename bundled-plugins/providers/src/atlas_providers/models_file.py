"""``models.toml``: the models and providers the user adds. Strict, so that a typo never passes in silence."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from atlas_sdk.errors import SettingsError
from atlas_sdk.providers import ModelInfo
from atlas_sdk.refusals import refusal
from atlas_sdk.regular_file import read_regular_text

from .catalog import BUILT_IN, UNKNOWN_WINDOW, Endpoint, Model
from .price import Price

FILE_NAME = "models.toml"
ID = r"[a-z0-9][a-z0-9_-]*"
CUSTOM_ORDER = 50
"""The user's own providers come after the known ones with a key, and before servers found on this machine."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelEntry(_Strict):
    """One ``[[models]]`` of the file. Prices are US dollars per million tokens."""

    provider: str
    id: str = Field(min_length=1)
    name: str = ""
    default: bool = False
    context_window: int | None = Field(default=None, gt=0)
    max_output_tokens: int | None = Field(default=None, gt=0)
    sees_images: bool = False
    reasons: bool = False
    input_price: float | None = Field(default=None, ge=0)
    cached_price: float | None = Field(default=None, ge=0)
    output_price: float | None = Field(default=None, ge=0)


class ProviderEntry(_Strict):
    """One ``[providers.<id>]`` of the file: a server that speaks Chat Completions at ``base_url``.

    ``key`` is the name of its key in the vault; without one it is asked without a key. ``local`` says that its calls
    cost nothing. For a provider Atlas knows, only the address of a local server may change.
    """

    name: str = ""
    base_url: str = Field(pattern=r"^https?://[^\s]+$")
    key: str = Field(default="", pattern=r"^([A-Z][A-Z0-9_]*)?$")
    local: bool = False


def read_endpoints(home: Path) -> tuple[Endpoint, ...]:
    """Return every provider: those Atlas knows, with what the home's file adds. Raises SettingsError."""
    path = home / FILE_NAME
    if not path.exists():
        return BUILT_IN
    try:
        table = tomllib.loads(read_regular_text(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise _refused(path, f"is not valid TOML: {wrong}.", "Correct it at that place.") from None
    except OSError as wrong:
        raise _refused(path, f"cannot be read: {wrong.strerror}.", "Mend its permissions.") from None
    return parse_endpoints(table, path)


def parse_endpoints(table: Mapping[str, Any], path: Path) -> tuple[Endpoint, ...]:
    """Return every provider with what this table adds. Raises SettingsError that names the field and those known."""
    unknown = sorted(set(table) - {"models", "providers"})
    if unknown:
        raise _refused(path, f"has an unknown field {unknown[0]!r}.", "It knows `[[models]]` and `[providers.<id>]`.")
    endpoints = {one.id: one for one in BUILT_IN}
    providers, models = table.get("providers", {}), table.get("models", [])
    if not isinstance(providers, dict) or not isinstance(models, list):
        raise _refused(path, "does not have the shape it needs.", "It knows `[[models]]` and `[providers.<id>]`.")
    for id, values in providers.items():
        endpoints[id] = _endpoint(id, _parse(ProviderEntry, values, path, f"[providers.{id}]"), endpoints, path)
    for number, values in enumerate(models, 1):
        entry = _parse(ModelEntry, values, path, f"[[models]] number {number}")
        if entry.provider not in endpoints:
            known = ", ".join(endpoints)
            raise _refused(
                path,
                f"names a provider {entry.provider!r} in [[models]] number {number}.",
                f"It knows {known}; add [providers.{entry.provider}] with its base_url for another.",
            )
        endpoints[entry.provider] = endpoints[entry.provider].with_models(_model(entry))
    return tuple(endpoints.values())


class DescribedEntry(ProviderEntry):
    """A provider of a plugin's manifest: as ``[providers.<id>]``, with its models beside it."""

    models: tuple[str | dict[str, Any], ...] = ()


def described_endpoint(id: str, values: Any, path: Path) -> Endpoint:
    """Return the provider a plugin's manifest describes. Raises SettingsError that names the field."""
    place = f"atlas.providers.{id}"
    entry = _parse(DescribedEntry, values, path, place)
    if any(one.id == id for one in BUILT_IN):
        raise _refused(path, f"redefines {id} in {place}.", f"Give your provider another id, such as my-{id}.")
    models = [
        _model(_parse(ModelEntry, {**({"id": one} if isinstance(one, str) else one), "provider": id}, path, place))
        for one in entry.models
    ]
    return _endpoint(id, entry, {}, path).with_models(*models)


def _endpoint(id: str, entry: ProviderEntry, known: Mapping[str, Endpoint], path: Path) -> Endpoint:
    if not re.fullmatch(ID, id):
        raise _refused(path, f"names a provider {id!r}.", "Use lower-case letters, digits, - and _.")
    base_url = entry.base_url.rstrip("/")
    old = known.get(id)
    if old is None:
        return Endpoint(id, entry.name or id, base_url, key_name=entry.key, local=entry.local, order=CUSTOM_ORDER)
    if not old.local:
        raise _refused(
            path, f"redefines {old.name} in [providers.{id}].", "Give your provider another id, such as my-" + id + "."
        )
    return Endpoint(
        id, entry.name or old.name, base_url, key_name=entry.key, local=entry.local or not entry.key,
        server=old.server, order=old.order,
    )  # fmt: skip


def _model(entry: ModelEntry) -> Model:
    info = ModelInfo(
        entry.id, entry.name or entry.id, entry.default, entry.context_window or UNKNOWN_WINDOW, entry.sees_images,
        entry.reasons, entry.input_price, entry.cached_price, entry.output_price, entry.context_window is not None,
    )  # fmt: skip
    return Model(info, Price(entry.input_price, entry.output_price, entry.cached_price), entry.max_output_tokens)


def _parse(kind: type[Any], values: Any, path: Path, place: str) -> Any:
    try:
        return kind.model_validate(values)
    except ValidationError as wrong:
        # A misspelt field also leaves the right one missing; the misspelling is what to tell of.
        first = min(wrong.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden")
        field = ".".join(str(part) for part in first["loc"]) or "the table"
        known = f"It knows {', '.join(kind.model_fields)}."
        if first["type"] == "extra_forbidden":
            raise _refused(path, f"has an unknown field {field!r} in {place}.", known) from None
        said = refusal(wrong, kind)[1].removeprefix(f"{field} is wrong: ")
        raise _refused(path, f"has a wrong {field!r} in {place}: {said}", known) from None


def _refused(path: Path, problem: str, hint: str) -> SettingsError:
    return SettingsError(f"{path} {problem}", hint=hint, code="models_file")
