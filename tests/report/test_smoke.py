"""The lines of a smoke test."""

from __future__ import annotations

from runner.analysis.smoke import Check, Smoke
from runner.report.smoke import smoke_lines


def check(value: float | None, threshold: float = 0.5) -> Check:
    return Check("recall@5", value, threshold, 0 if value is None else 15)


def test_lines():
    assert smoke_lines(Smoke((check(0.5), check(None)))) == [
        "smoke test, recall@5: reached (0.5, threshold 0.5, n 15)",
        "smoke test, recall@5: not reached (not measured, threshold 0.5, n 0)",
    ]
    # What misses by a hair does not look as if it had reached it.
    assert "not reached (0.49996, threshold 0.5" in smoke_lines(Smoke((check(0.49996),)))[0]
    assert smoke_lines(Smoke((), errors=1))[-1] == (
        "smoke test failed: 1 question could not be scored, and it takes none that fails"
    )
    named = {"first": "q2, search_error: down"}
    one, two = (smoke_lines(Smoke((), errors, **named))[-1] for errors in (1, 2))
    assert "failed: 1 question could not be scored (q2, search_error: down), and" in one
    assert "2 questions could not be scored (first q2, search_error: down), and" in two
