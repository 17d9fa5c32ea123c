from __future__ import annotations

import json
import math

import pytest

from runner.errors import UsageError
from runner.stats.judge_error import JudgeRates, correct_for_judge


def test_by_hand() -> None:
    rates = JudgeRates(right_passed=95, right=100, wrong_passed=10, wrong=100)
    assert rates.j == pytest.approx(0.85)
    smooth_tpr, smooth_fpr = 96 / 102, 11 / 102
    assert rates.var_j == pytest.approx(smooth_tpr * (6 / 102) / 100 + smooth_fpr * (91 / 102) / 100)
    found = correct_for_judge(0.04, 0.01, 0.07, rates)
    extra = 1.959964 * 0.04 * math.sqrt(rates.var_j) / 0.85**2
    assert found.mean == pytest.approx(0.04 / 0.85)
    assert found.low == pytest.approx(0.04 / 0.85 - math.hypot(0.03 / 0.85, extra))
    assert found.high == pytest.approx(0.04 / 0.85 + math.hypot(0.03 / 0.85, extra))
    assert found.flag is None
    assert any("same rates in both arms" in caveat for caveat in found.caveats)
    assert any("taken as independent" in caveat for caveat in found.caveats)
    json.dumps(rates.to_dict(), allow_nan=False)


def test_a_judge_without_information_changes_nothing() -> None:
    found = correct_for_judge(0.04, 0.01, 0.07, JudgeRates(50, 100, 50, 100))
    assert (found.mean, found.low, found.high, found.flag) == (0.04, 0.01, 0.07, "judge_uninformative")


def test_a_judge_within_its_own_noise_is_refused() -> None:
    found = correct_for_judge(0.04, 0.01, 0.07, JudgeRates(6, 10, 5, 10))
    assert (found.mean, found.low, found.high, found.flag) == (None, None, None, "judge_too_weak")


@pytest.mark.parametrize("counts", [(0, 0, 1, 10), (5, 10, 0, 0), (11, 10, 0, 10), (-1, 10, 0, 10)])
def test_an_empty_class_is_an_error(counts) -> None:
    with pytest.raises(UsageError, match="calibration"):
        JudgeRates(*counts)


def test_an_interval_must_be_one() -> None:
    rates = JudgeRates(9, 10, 1, 10)
    for numbers in ((0.1, 0.2, 0.3), (float("nan"), 0, 1), (0.0, -math.inf, 1.0)):
        with pytest.raises(UsageError, match="is not an interval"):
            correct_for_judge(*numbers, rates)
