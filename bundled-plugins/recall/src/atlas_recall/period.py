"""Times in words: ``after`` and ``before`` as they are given, and the dates that a question names. Pure."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

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


@dataclass(frozen=True)
class Named:
    """A month that a question names, with the year and the day where it says them."""

    month: int
    year: int | None = None
    day: int | None = None

    def is_month_of(self, at: datetime) -> bool:
        """Whether a moment is in the month."""
        return at.month == self.month and self.year in (None, at.year)

    def is_day_of(self, at: datetime) -> bool:
        """Whether a moment is on the day, where there is one."""
        return self.day == at.day and self.is_month_of(at)


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


def named_in(text: str) -> tuple[Named, ...]:
    """Return the months and days that a question names."""
    low = text.lower()
    found: list[Named] = []
    for pattern in _DATES:
        for match in pattern.finditer(low):
            parts = match.groupdict()
            month = _MONTHS.get(parts["month"]) or int(parts["month"])
            if 1 <= month <= 12:
                year, day = parts.get("year"), parts.get("day")
                found.append(Named(month, int(year) if year else None, int(day) if day else None))
        if found:
            break
    return tuple(found)
