from __future__ import annotations

import pytest

from runner.errors import Refused
from runner.stats.bootstrap import paired_bootstrap
from runner.stats.clustered import Bounds
from runner.stats.verdict import band_from_null, verdict_of


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


def test_band_is_the_wider_side_of_the_null() -> None:
    assert band_from_null(Bounds(-0.03, 0.05)) == 0.05
    null = paired_bootstrap([1.0] * 13 + [-1.0] * 13 + [0.0] * 138)
    assert band_from_null(null) == pytest.approx(10 / 164)


@pytest.mark.parametrize(
    ("low", "high", "says"), [(0.01, 0.05, "excludes 0"), (-0.05, -0.01, "excludes 0"), (0, 0, "no evidence")]
)
def test_a_null_that_is_none_is_refused(low, high, says) -> None:
    with pytest.raises(Refused, match=says):
        band_from_null(Bounds(low, high))
