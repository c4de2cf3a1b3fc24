"""The form a server has the user fill in: fields of plain kinds, and what an answer means for each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Field:
    """One field. ``options`` are the ids and labels of what may be picked; without any, words are welcome."""

    name: str
    kind: str
    said: str
    options: tuple[tuple[str, str], ...] = ()
    is_required: bool = False

    def value(self, answer: Sequence[str]) -> str | int | float | bool | list[str]:
        """Return what was answered as the server wants it. Raises ValueError, which says what would fit."""
        ids = [id for id, _ in self.options]
        if ids and not set(answer) <= set(ids):
            raise ValueError(f"one of {', '.join(ids)}")
        try:
            match self.kind:
                case "array":
                    return list(answer)
                case "boolean":
                    return answer[0] == "yes"
                case "integer":
                    return int(answer[0])
                case "number":
                    return float(answer[0])
                case _:
                    return answer[0]
        except ValueError:
            raise ValueError("a whole number" if self.kind == "integer" else "a number") from None


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a form, in its order. What it says oddly is left out rather than refused."""
    properties, required = schema.get("properties"), schema.get("required")
    found = properties.items() if isinstance(properties, Mapping) else ()
    must = required if isinstance(required, list) else []
    return [_field(str(name), one, name in must) for name, one in found if isinstance(one, Mapping)]


def _field(name: str, schema: Mapping[str, Any], is_required: bool) -> Field:
    kind = str(schema.get("type", "string"))
    said = str(schema.get("description") or schema.get("title") or name)
    if kind == "boolean":
        return Field(name, kind, said, (("yes", "Yes"), ("no", "No")), is_required)
    items = schema.get("items") if kind == "array" else schema
    return Field(name, kind, said, _options(items if isinstance(items, Mapping) else {}), is_required)


def _options(schema: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the choices of a field in each of the shapes the protocol has had for them."""
    values, labels = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        named = labels if isinstance(labels, list) and len(labels) == len(values) else values
        return tuple((str(value), str(label)) for value, label in zip(values, named, strict=True))
    shapes = schema.get("oneOf") or schema.get("anyOf")
    if not isinstance(shapes, list):
        return ()
    const = [one for one in shapes if isinstance(one, Mapping) and "const" in one]
    return tuple((str(one["const"]), str(one.get("title", one["const"]))) for one in const)
