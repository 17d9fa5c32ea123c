"""Two judges of the same answers, against scikit-learn and statsmodels, and by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import UsageError
from runner.stats.judge_agreement import disagreement
from runner.types import ABSTAIN, CORRECT, JUDGE_ERROR, LABELS, WRONG


def test_a_judge_that_errs_one_way() -> None:
    """Of 100 answers the reference accepts 73 and the judge 53 of them.

    Chance agrees .73·.53 + .27·.47 = .5138 of the time, so that kappa is (.80 − .5138)/.4862; twenty that all fall on
    one side have p = 2 · 2⁻²⁰.
    """
    found = disagreement([CORRECT] * 73 + [WRONG] * 27, [CORRECT] * 53 + [WRONG] * 47)
    assert (found.n, found.errors, found.only_reference, found.only_judge) == (100, 0, 20, 0)
    assert found.agreement == pytest.approx(0.80)
    assert found.kappa == pytest.approx(0.2862 / 0.4862)
    assert found.mcnemar_p == pytest.approx(2.0**-19)
    assert found.direction == "harsher"
    assert found.to_dict()["direction"] == "harsher"


def test_an_abstention_is_not_accepted_and_an_error_is_left_out() -> None:
    reference = [CORRECT, WRONG, CORRECT, JUDGE_ERROR, CORRECT]
    judge = [ABSTAIN, ABSTAIN, CORRECT, CORRECT, ""]
    found = disagreement(reference, judge)
    assert (found.n, found.errors, found.only_reference, found.only_judge) == (3, 2, 1, 0)
    assert found.agreement == pytest.approx(2 / 3)
    assert found.same_label == pytest.approx(1 / 3)
    assert found.mcnemar_p == 1.0
    assert found.direction is None


def test_nothing_in_common_is_no_number() -> None:
    found = disagreement([CORRECT, JUDGE_ERROR], [JUDGE_ERROR, WRONG])
    assert (found.n, found.errors, found.agreement, found.kappa) == (0, 2, None, None)
    always = disagreement([CORRECT] * 4, [CORRECT] * 4)
    assert (always.agreement, always.kappa) == (1.0, None)
    with pytest.raises(UsageError, match="pair them by id"):
        disagreement([CORRECT], [])


@pytest.fixture(scope="module")
def libraries() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Two functions whose import takes longer than an example may."""
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.contingency_tables import mcnemar

    return cohen_kappa_score, mcnemar


@given(pairs=st.lists(st.tuples(st.sampled_from([*LABELS, JUDGE_ERROR]), st.sampled_from([*LABELS, JUDGE_ERROR]))))
def test_equals_the_libraries_and_swaps(
    libraries: tuple[Callable[..., Any], Callable[..., Any]], pairs: list[tuple[str, str]]
) -> None:
    cohen_kappa_score, mcnemar = libraries
    left, right = [x for x, _ in pairs], [y for _, y in pairs]
    found, other = disagreement(left, right), disagreement(right, left)
    assert (found.only_reference, found.only_judge) == (other.only_judge, other.only_reference)
    assert (found.agreement, found.mcnemar_p) == (other.agreement, other.mcnemar_p)
    valid = [(x == CORRECT, y == CORRECT) for x, y in pairs if x in LABELS and y in LABELS]
    assert found.n == len(valid)
    if found.kappa is not None:
        assert found.kappa == pytest.approx(cohen_kappa_score([x for x, _ in valid], [y for _, y in valid]))
    if found.only_reference + found.only_judge:
        table = [[0, found.only_reference], [found.only_judge, 0]]
        assert found.mcnemar_p == pytest.approx(mcnemar(table, exact=True).pvalue)
