"""Counts, rates and intervals of graded probes, by hand and against statsmodels."""

from __future__ import annotations

import math

import pytest

from runner.calibration.rates import rates_of, tallies, tally, too_many_errors, wilson, youden

C, W, A, E = "CORRECT", "WRONG", "ABSTAIN", "judge_error"


def test_a_tally_by_hand() -> None:
    found = tally([(C, C, W), (C, W, W), (A, A, C), (C, E, E), (E, E, E), (C, W, E)])
    assert (found.probes, found.graded, found.errors, found.failed_repeats) == (6, 5, 1, 6)
    assert (found.passed, found.abstained) == (2, 1)  # the tie of the last one is no pass
    assert found.rate == pytest.approx(2 / 5)
    assert [(r.graded, r.passed) for r in found.repeats] == [(5, 4), (4, 1), (3, 1)]
    assert found.mean_over_repeats == pytest.approx((4 / 5 + 1 / 4 + 1 / 3) / 3)
    assert found.flip_rate == pytest.approx(4 / 4)


def test_nothing_has_no_rate() -> None:
    for found in (tally([]), tally([(E,)])):
        assert (found.rate, found.low, found.high, found.mean_over_repeats, found.flip_rate) == (None,) * 5


@pytest.mark.parametrize(("passed", "total"), [(0, 10), (10, 10), (163, 1540), (1, 1), (7, 20)])
def test_wilson_against_statsmodels(passed: int, total: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    assert wilson(passed, total) == pytest.approx(proportion_confint(passed, total, 0.05, "wilson"))


def test_kinds_categories_and_youden() -> None:
    graded = (
        [("right", "1", (C,))] * 9 + [("right", "2", (W,))] + [("specific", "1", (C,))] + [("specific", "1", (W,))] * 9
    )
    kinds, categories = tallies(graded)
    assert (kinds["right"].passed, kinds["specific"].passed, kinds["vague"].probes) == (9, 1, 0)
    assert set(categories) == {"1", "2"}
    assert set(categories["2"]) == {"right"}
    rates = rates_of(kinds, "specific")
    assert rates is not None
    assert rates.j == pytest.approx(0.8)
    # Both classes: rates smoothed to 10/12 and 2/12 in the variance only.
    half = 1.959963984540054 * math.sqrt(2 * (10 / 12) * (2 / 12) / 10)
    assert youden(kinds) == {"specific": youden(kinds)["specific"]}
    assert youden(kinds)["specific"].low == pytest.approx(0.8 - half)
    assert youden(kinds)["specific"].high == 1.0
    assert rates_of(kinds, "vague") is None
    assert rates_of(categories["2"], "specific") is None


def test_five_per_cent_errors_are_borne_and_more_are_not() -> None:
    kinds, _ = tallies([("right", "1", (C,))] * 19 + [("right", "1", (E,))] + [("vague", "1", (W,))])
    assert too_many_errors(kinds) == []
    kinds, _ = tallies([("right", "1", (C,))] * 18 + [("right", "1", (E,))])
    assert too_many_errors(kinds) == ["right"]
