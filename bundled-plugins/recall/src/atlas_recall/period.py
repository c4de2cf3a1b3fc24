"""Times in words: ``after`` and ``before`` as they are given, and the dates that a question names. Pure."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta, tzinfo

from atlas_sdk.errors import MisuseError

_AGO = re.compile(r"(\d{1,5})\s*([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTH = "|".join(_MONTHS)
_DATES = (
    re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?\b"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH})(?:,? (?P<year>\d{{4}}))?\b"),
    re.compile(rf"\b(?P<month>{_MONTH}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{{4}}))?"),
    re.compile(rf"\b(?P<month>{_MONTH}),? (?P<year>\d{{4}})\b"),
    # "may" and "march" alone are more often no months.
    re.compile(rf"\b(?:in|during|since|until|of|last|this|early|mid|late) (?:early |mid |late )?(?P<month>{_MONTH})\b"),
)
Span = tuple[float, float]
"""From a moment until before another, in seconds since 1970."""


def moment(text: str, *, now: datetime, name: str) -> datetime:
    """Return the time that ``7d``, ``24h``, ``2w`` ago was, or that an ISO date or time is, in the zone of ``now``."""
    given = text.strip().lower()
    if ago := _AGO.fullmatch(given):
        try:
            return now - int(ago[1]) * _UNITS[ago[2]]
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise MisuseError(
            f"{name} takes an ISO date such as 2026-03-02, or 7d, 24h or 2w ago, and not {text[:40]!r}."
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=now.tzinfo)


def months_in(text: str, where: tzinfo | None) -> tuple[Span | int, ...]:
    """Return the months that a question names: as a span where it says the year, else as the month's number."""
    low = text.lower()
    found: list[Span | int] = []
    for pattern in _DATES:
        for match in pattern.finditer(low):
            parts = match.groupdict()
            month = _MONTHS.get(parts["month"]) or int(parts["month"])
            if not 1 <= month <= 12:
                continue
            year = parts.get("year")
            found.append(_month(int(year), month, where) if year and 1970 <= int(year) <= 9000 else month)
        if found:
            break
    return tuple(found)


def is_of(at: float, months: tuple[Span | int, ...], where: tzinfo | None) -> bool:
    """Whether a moment is in one of the months."""
    for month in months:
        if isinstance(month, int):
            if datetime.fromtimestamp(at, where).month == month:
                return True
        elif month[0] <= at < month[1]:
            return True
    return False


def _month(year: int, month: int, where: tzinfo | None) -> Span:
    first = datetime(year, month, 1, tzinfo=where)
    after = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=where)
    return first.timestamp(), after.timestamp()
