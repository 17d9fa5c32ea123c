"""Dates as people say them: absolute ("8 May 2023", "in May", "2023") and relative ("last week", "two days ago").

English only, by pattern: enough to read a question or a turn of a conversation, with no claim to be a parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple


class Span(NamedTuple):
    """A stretch of time, ``start`` included and ``end`` not."""

    start: datetime
    end: datetime


# fmt: off
_MONTH = {
    name: at + 1
    for names in (
        ("january", "february", "march", "april", "may", "june",
         "july", "august", "september", "october", "november", "december"),
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    )
    for at, name in enumerate(names)
} | {"sept": 9}
_WEEKDAY = {
    name: at
    for at, name in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
}
_SEASON = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # first month, northern hemisphere
_NUMBER = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "few": 3, "a few": 3, "couple of": 2, "a couple of": 2,
}
# fmt: on

_M = "(?P<month>" + "|".join(sorted(_MONTH, key=len, reverse=True)) + r")\b\.?"
_Y = r"(?P<year>(?:19|20)\d\d)"
_D = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_N = r"(?P<number>\d{1,3}|" + "|".join(sorted(_NUMBER, key=len, reverse=True)) + ")"
_PATTERNS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("day", rf"\b{_Y}-(?P<month>\d\d)-(?P<day>\d\d)\b"),
        ("day", rf"\b{_D}\s+(?:of\s+)?{_M},?\s+{_Y}\b"),
        ("day", rf"\b{_M}\s+{_D},?\s+{_Y}\b"),
        ("month", rf"\b{_M},?\s+(?:of\s+)?{_Y}\b"),
        ("day", rf"\b{_D}\s+(?:of\s+)?{_M}"),
        ("day", rf"\b{_M}\s+{_D}\b(?!\s*(?:%|people|times|years))"),
        ("season", rf"\b(?P<season>spring|summer|autumn|fall|winter)(?:\s+of)?,?\s+{_Y}\b"),
        ("season", r"\b(?P<which>last|this|next|past)\s+(?P<season>spring|summer|autumn|fall|winter)\b"),
        ("weekday", rf"\b(?P<which>last|this|next|past)\s+(?P<weekday>{'|'.join(_WEEKDAY)})\b"),
        ("unit", r"\b(?P<which>last|this|next|past|previous)\s+(?P<unit>day|week|weekend|month|year)\b"),
        ("ago", rf"\b{_N}\s+(?P<unit>day|week|weekend|month|year)s?\s+(?:ago|back|earlier)\b"),
        ("near", r"\b(?P<near>yesterday|last night|today|tonight|tomorrow)\b"),
        ("bare_month", rf"\b(?:in|during|since|until|early|late|mid|last|this|next|by)[\s-]+(?P<which>){_M}"),
        ("year", rf"\b{_Y}\b"),
    )
)
_WHEN = re.compile(
    r"(?i)\b(when|what (?:date|day|month|year|time)|which (?:date|day|month|year|week)|how long (?:ago|since))\b"
)


def asks_when(text: str) -> bool:
    """Return whether a question asks for a time."""
    return _WHEN.search(text) is not None


def spans(text: str, now: datetime | None) -> list[Span]:
    """Every stretch of time that a text names, in the order of the patterns from exact to vague.

    Parameters
    ----------
    text
        A question or a turn.
    now
        When it was said; without it, relative expressions and dates without a year are left out.
    """
    found: list[Span] = []
    taken: list[tuple[int, int]] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            for span in _resolve(kind, match, now):
                found.append(span)
                taken.append(match.span())
    return found


def _resolve(kind: str, match: re.Match[str], now: datetime | None) -> Iterator[Span]:
    part = {name: value.lower() for name, value in match.groupdict().items() if value is not None}
    try:
        span = _absolute(kind, part, now)
        if span is None and now is not None:
            span = _relative(kind, part, now)
    except (ValueError, OverflowError):  # 31 June, or a year out of range: no date after all
        return
    if span is not None:
        yield span


def _absolute(kind: str, part: dict[str, str], now: datetime | None) -> Span | None:
    year = int(part["year"]) if "year" in part else None
    if kind == "year" and year is not None:
        return Span(datetime(year, 1, 1), datetime(year + 1, 1, 1))
    if kind == "season" and year is not None:
        return _months(year, _SEASON[part["season"]], 3)
    if kind in ("day", "month", "bare_month"):
        name = part["month"]
        month = int(name) if name.isdigit() else _MONTH[name]
        day = int(part["day"]) if kind == "day" else 1
        if year is None:
            if now is None:
                return None
            year = now.year if datetime(now.year, month, day) <= now else now.year - 1  # the last one that was
        start = datetime(year, month, day)
        return Span(start, start + timedelta(days=1)) if kind == "day" else _months(year, month, 1)
    return None


def _relative(kind: str, part: dict[str, str], now: datetime) -> Span | None:
    today = datetime(now.year, now.month, now.day)
    step = {"this": 0, "next": 1}.get(part.get("which", ""), -1)
    if kind == "near":
        offset = {"yesterday": -1, "last night": -1, "tomorrow": 1}.get(part["near"], 0)
        return _days(today + timedelta(days=offset), 1)
    if kind == "ago":
        number = part["number"]
        return _unit(today, part["unit"], -(int(number) if number.isdigit() else _NUMBER[number]))
    if kind == "unit":
        return _unit(today, part["unit"], step)
    if kind == "weekday":
        ahead = (_WEEKDAY[part["weekday"]] - today.weekday()) % 7
        return _days(today + timedelta(days=ahead - 7 if step < 0 else ahead + (7 if step and not ahead else 0)), 1)
    if kind == "season":
        first = _SEASON[part["season"]]
        year = now.year + max(step, 0)
        if step < 0 and _months(year, first, 3).end > today:
            year -= 1
        return _months(year, first, 3)
    return None


def _unit(today: datetime, unit: str, steps: int) -> Span:
    """The day, week (from Monday), weekend, month or year that many steps from now."""
    monday = today - timedelta(days=today.weekday())
    if unit == "day":
        return _days(today + timedelta(days=steps), 1)
    if unit == "week":
        return _days(monday + timedelta(weeks=steps), 7)
    if unit == "weekend":
        return _days(monday + timedelta(weeks=steps, days=5), 2)
    if unit == "month":
        return _months(today.year, today.month + steps, 1)
    return Span(datetime(today.year + steps, 1, 1), datetime(today.year + steps + 1, 1, 1))


def _days(start: datetime, count: int) -> Span:
    return Span(start, start + timedelta(days=count))


def _months(year: int, month: int, count: int) -> Span:
    first, last = year * 12 + month - 1, year * 12 + month - 1 + count
    return Span(datetime(first // 12, first % 12 + 1, 1), datetime(last // 12, last % 12 + 1, 1))
