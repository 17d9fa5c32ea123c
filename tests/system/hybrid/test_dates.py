"""Dates as people say them. 30 November 2023 was a Thursday."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from runner.system.hybrid.dates import Span, asks_when, spans
from runner.system.hybrid.timeline import Timeline
from runner.types import Event

NOW = datetime(2023, 11, 30, 18, 0)


def span(*numbers: int) -> Span:
    return Span(datetime(*numbers[:3]), datetime(*numbers[3:]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 2023-05-08", span(2023, 5, 8, 2023, 5, 9)),
        ("on 8 May, 2023", span(2023, 5, 8, 2023, 5, 9)),
        ("on the 8th of May 2023", span(2023, 5, 8, 2023, 5, 9)),
        ("on May 8th, 2023", span(2023, 5, 8, 2023, 5, 9)),
        ("on Sept. 1", span(2023, 9, 1, 2023, 9, 2)),
        ("on 24 December", span(2022, 12, 24, 2022, 12, 25)),  # the last one that was
        ("in July 2023", span(2023, 7, 1, 2023, 8, 1)),
        ("in December", span(2022, 12, 1, 2023, 1, 1)),
        ("on 31 June 2023", span(2023, 6, 1, 2023, 7, 1)),  # no such day: the month that was meant
        ("in 2022", span(2022, 1, 1, 2023, 1, 1)),
        ("yesterday", span(2023, 11, 29, 2023, 11, 30)),
        ("last night", span(2023, 11, 29, 2023, 11, 30)),
        ("last week", span(2023, 11, 20, 2023, 11, 27)),
        ("this week", span(2023, 11, 27, 2023, 12, 4)),
        ("last weekend", span(2023, 11, 25, 2023, 11, 27)),
        ("next month", span(2023, 12, 1, 2024, 1, 1)),
        ("last year", span(2022, 1, 1, 2023, 1, 1)),
        ("two weeks ago", span(2023, 11, 13, 2023, 11, 20)),
        ("a couple of days ago", span(2023, 11, 28, 2023, 11, 29)),
        ("3 years ago", span(2020, 1, 1, 2021, 1, 1)),
        ("13 months ago", span(2022, 10, 1, 2022, 11, 1)),
        ("last Friday", span(2023, 11, 24, 2023, 11, 25)),
        ("next Friday", span(2023, 12, 1, 2023, 12, 2)),
        ("last Thursday", span(2023, 11, 23, 2023, 11, 24)),
        ("summer 2022", span(2022, 6, 1, 2022, 9, 1)),
        ("last summer", span(2023, 6, 1, 2023, 9, 1)),
        ("last winter", span(2022, 12, 1, 2023, 3, 1)),
    ],
)
def test_one_date(text: str, expected: Span) -> None:
    assert spans(f"What happened {text}?", NOW) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "She may 1ike it",
        "I may go",
        "at 19:30",
        "call 2023456",
        "",
        "March on!",
        "0 May 2023x",
        "99999 days ago",
    ],
)
def test_no_date(text: str) -> None:
    assert spans(text, NOW) == []


def test_a_relative_date_needs_a_now() -> None:
    assert spans("last week, on 8 May, in June and in 2021", None) == [span(2021, 1, 1, 2022, 1, 1)]


def test_absurd_distances_are_no_date() -> None:
    assert spans("999 years ago", datetime(900, 1, 1)) == []


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("When did it rain?", True),
        ("What year was it?", True),
        ("How long ago?", True),
        ("Whenever", False),
        ("Who?", False),
    ],
)
def test_a_question_for_a_time(text: str, asked: bool) -> None:
    assert asks_when(text) is asked


def test_distance_in_days() -> None:
    timeline = Timeline(
        [
            Event(id="a", text="no date", time=datetime(2023, 5, 10)),
            Event(id="b", text="we met yesterday", time=datetime(2023, 6, 1, 12)),
            Event(id="c", text="never"),
            Event(id="d", text="on 4 May 2023"),
        ]
    )
    away = timeline.distance([span(2023, 5, 1, 2023, 5, 8)])
    # b names 31 May, 23 days after the week ends; a is two days after it.
    np.testing.assert_allclose(away, [2.0, 23.0, np.inf, 0.0])
    assert timeline.speaks.tolist() == [False, True, False, True]
