from __future__ import annotations

import re

import numpy as np
import pytest

from runner.errors import Refused
from runner.stats.paired import judge_pairs
from runner.stats.verdict import Verdict, band_from_null, excludes_zero, verdict_of


@pytest.mark.parametrize(
    ("mean", "low", "high", "min_delta", "expected"),
    [
        (0.04, 0.01, 0.07, 0.0, ("pass", None, False)),
        (0.10, 0.00, 0.20, 0.0, ("unresolved", "under_powered", False)),  # a bound that only reaches it
        (-0.10, -0.20, 0.00, 0.0, ("unresolved", "under_powered", False)),
        (-0.10, -0.20, -0.01, 0.0, ("fail", None, False)),
        (0.067, -0.017, 0.167, 0.0, ("unresolved", "under_powered", False)),
        (0.017, 0.0, 0.05, 0.0, ("unresolved", "noise_floor", False)),
        (0.04, -0.01, 0.09, 0.0, ("unresolved", "noise_floor", False)),  # on the edge of the band is inside
        (0.01, -0.02, 0.04, 0.0, ("unresolved", "noise_floor", True)),
        (-0.01, -0.015, 0.01, -0.02, ("pass", None, False)),  # non-inferior
        (-0.01, -0.02, 0.01, -0.02, ("unresolved", "noise_floor", True)),
        (0.04, 0.01, 0.07, 0.02, ("unresolved", "noise_floor", False)),
        (0.10, 0.05, 0.15, 0.05, ("unresolved", "under_powered", False)),
        (0.30, 0.1 + 0.2, 0.31, 0.3, ("unresolved", "under_powered", False)),  # 0.1 + 0.2 > 0.3 by rounding alone
    ],
)
def test_rules(mean, low, high, min_delta, expected) -> None:
    assert verdict_of(mean, low, high, min_delta, 0.04) == expected


def null_of(wins: int, losses: int, n: int, k: int) -> Verdict:
    """An A/A pair, its items shuffled over k clusters of one size."""
    deltas = np.array([1.0] * wins + [-1.0] * losses + [0.0] * (n - wins - losses))
    np.random.default_rng(2).shuffle(deltas)
    return judge_pairs((deltas < 0) * 1.0, (deltas > 0) * 1.0, np.arange(n) % k if k < n else None)


def test_band_is_the_wider_side_of_the_deciding_null() -> None:
    single = null_of(13, 13, 164, 164)
    assert band_from_null(single) == pytest.approx(10 / 164)
    few = null_of(25, 20, 300, 10)
    assert few.percentile is not None
    wider = max(abs(few.percentile.low), abs(few.percentile.high))
    # Half-widths of ten clusters grow by 2.2622 / 1.96 * sqrt(10 / 9) = 1.21662 about the mean of 5/300.
    mean = 5 / 300
    assert band_from_null(few) == pytest.approx(mean + (wider - mean) * 1.21662, rel=1e-4)
    assert not excludes_zero(few)


@pytest.mark.parametrize(
    ("wins", "losses", "n", "k", "says"),
    [
        (60, 10, 300, 10, r"excludes 0.*something changed.*chance, 2\.5 % a side"),
        (10, 60, 300, 300, "excludes 0"),
        (0, 0, 300, 10, "no evidence"),
        (10, 10, 300, 5, "5 clusters are too few"),
        (10, 0, 300, 2, "2 clusters are too few"),
    ],
)
def test_a_null_that_is_none_is_refused(wins, losses, n, k, says) -> None:
    null = null_of(wins, losses, n, k)
    with pytest.raises(Refused, match=says):
        band_from_null(null)
    assert excludes_zero(null) == ("excludes" in says)


def test_a_null_of_one_cluster_is_refused() -> None:
    keys = [0] * 970 + [c for c in range(1, 6) for _ in range(6)]
    values = np.arange(1000) % 2
    null = judge_pairs(values, values[::-1], keys)
    with pytest.raises(Refused, match="one cluster holds nearly all"):
        band_from_null(null)
    assert band_from_null(null_of(13, 13, 164, 164)) > 0


def test_words_for_what_is_detected() -> None:
    assert null_of(0, 0, 300, 10).detects() == "what it detects cannot be told (no pair disagrees)"
    assert null_of(10, 10, 300, 5).detects() == "what it detects cannot be told (too few clusters)"
    assert re.fullmatch(r"detects about \d+\.\d pp", null_of(60, 50, 500, 500).detects())
