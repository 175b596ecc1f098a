"""RFC 3339 in, `2026-11-16T05:40:00.123Z` out; precision below a millisecond is dropped."""

from __future__ import annotations

import re
from datetime import date

_FORM = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII)
_CYCLE = 146_097
"""Days in 400 years, after which the calendar repeats."""


def normal_time(text: str) -> str | None:
    """None if the text is no date and time."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(found[group]) for group in range(1, 7))
    offset_hour, offset_minute = int(found[9] or 0), int(found[10] or 0)
    if hour > 23 or minute > 59 or second > 60 or offset_hour > 23 or offset_minute > 59:
        return None
    days = _days(year, month, day)
    if days is None:
        return None
    offset = (offset_hour * 60 + offset_minute) * (-1 if found[8] == "-" else 1)
    millis = int((found[7] or "")[:3].ljust(3, "0"))
    return _told(((days * 24 + hour) * 60 + minute - offset) * 60_000 + second * 1000 + millis)


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 0001-01-01. Python's dates end where ours do not, so years are taken within their 400."""
    cycle, of_cycle = divmod(year - 1, 400)
    try:
        return cycle * _CYCLE + date(of_cycle + 1, month, day).toordinal() - 1
    except ValueError:
        return None


def _told(millis: int) -> str:
    days, in_day = divmod(millis, 86_400_000)
    cycle, of_cycle = divmod(days, _CYCLE)
    day = date.fromordinal(of_cycle + 1)
    year = min(max(cycle * 400 + day.year, 0), 9999)
    seconds, millis = divmod(in_day, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}Z"
    return f"{year:04}-{day.month:02}-{day.day:02}T{clock}"
