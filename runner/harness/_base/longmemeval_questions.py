"""LongMemEval's types of question, its dates and its judge templates, which MemoryAgentBench uses as well."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from runner.data.fields import FieldReader

# Order of the published tables.
TYPES: Final = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "temporal-reasoning",
    "knowledge-update",
)
PREFERENCE: Final = "single-session-preference"
UPDATE: Final = "knowledge-update"
TEMPORAL: Final = "temporal-reasoning"
ABSTENTION: Final = "_abs"  # in the id of a question that cannot be answered

_TEMPLATES: Final = {
    PREFERENCE: "longmemeval_preference",
    TEMPORAL: "longmemeval_temporal",
    UPDATE: "longmemeval_update",
}
_PLAIN: Final = "longmemeval_plain"
_ABSTAIN: Final = "longmemeval_abstention"
RUBRICS: Final = (_PLAIN, *_TEMPLATES.values(), _ABSTAIN)  # files of conf/judge/rubrics

_DATE: Final = re.compile(r"(\d{4})/(\d{2})/(\d{2}) \(([A-Z][a-z]{2})\) (\d{2}):(\d{2})")
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def rubric_of(kind: str, *, abstain: bool) -> str:
    """Return the judge template of a type of question; one that cannot be answered has its own."""
    return _ABSTAIN if abstain else _TEMPLATES.get(kind, _PLAIN)


def parse_date(where: FieldReader, value: object) -> tuple[datetime, bool]:
    """Read a date, and tell whether the weekday that it names is its own.

    Raises
    ------
    DatasetError
        When the text is not a date.
    """
    match = _DATE.fullmatch(where.text(value))
    try:
        if match is None:
            raise ValueError
        year, month, day, hour, minute = (int(match[group]) for group in (1, 2, 3, 5, 6))
        time = datetime(year, month, day, hour, minute)
    except ValueError:
        raise where.fail(f"the date {str(value)[:40]!r} is not like '2023/05/30 (Tue) 23:40'") from None
    return time, match[4] == _DAYS[time.weekday()]
