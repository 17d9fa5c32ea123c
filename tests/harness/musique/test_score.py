"""Support F1, on cases worked out by hand."""

from __future__ import annotations

import pytest

from runner.harness.musique.score import support_f1


@pytest.mark.parametrize(
    ("found", "gold", "f1"),
    [
        ("ab", "ab", 1),
        ("abcd", "ab", 2 / 3),  # precision ½, recall 1
        ("ac", "ab", 1 / 2),
        ("c", "ab", 0),
        ("", "ab", 0),
        ("ab", "", 0),
        ("", "", 1),
    ],
)
def test_support_f1(found: str, gold: str, f1: float) -> None:
    assert support_f1(list(found), list(gold)) == pytest.approx(f1)
