from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from runner.stats.clustered import (
    cr3_interval,
    cr3_standard_error,
    drop_one_means,
    effective_clusters,
    few_cluster_factor,
    mcnemar_p,
    sign_flip_test,
    unseen_share,
    widened,
)


def test_few_cluster_factor_from_printed_tables() -> None:
    # t(.975) is 2.571 for 5, 2.262 for 9 and 2.045 for 29 degrees of freedom.
    for k, t in ((6, 2.5706), (10, 2.2622), (30, 2.0452)):
        assert few_cluster_factor(k) == pytest.approx(t / 1.96 * math.sqrt(k / (k - 1)), abs=1e-4)


@pytest.mark.parametrize("df", [0.2, 0.5, 1.0, 1.7, 4.0, 9.3, 99.0])
def test_student_against_scipy_stats(df) -> None:
    sums, counts = np.array([0.0, 1.0, 1.0, 0.5]), np.ones(4)
    found = cr3_interval(sums, counts, df)
    assert found is not None
    half = stats.t.ppf(0.975, df) * cr3_standard_error(sums, counts)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-6)


def test_widened_scales_each_side() -> None:
    factor = few_cluster_factor(10)
    found = widened(0.1, 0.05, 0.2, 10)
    assert (found.low, found.high) == (pytest.approx(0.1 - 0.05 * factor), pytest.approx(0.1 + 0.1 * factor))


def test_cr3_of_single_items_is_the_paired_t_interval() -> None:
    deltas = np.array([0.5, -1.0, 1.0, 0.0, 0.25, 1.0, 0.75])
    found = cr3_interval(deltas, np.ones(7))
    expected = stats.ttest_1samp(deltas, 0).confidence_interval(0.95)
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(expected.low), pytest.approx(expected.high))


def test_cr3_by_hand() -> None:
    # Sums 2, 0, 1 over 2, 2, 4 items: mean 3/8; without each cluster 1/6, 3/6, 2/4.
    sums, counts = np.array([2.0, 0.0, 1.0]), np.array([2.0, 2.0, 4.0])
    assert drop_one_means(sums, counts).tolist() == [1 / 6, 0.5, 0.5]
    gaps = (1 / 6 - 3 / 8) ** 2 + 2 * (1 / 2 - 3 / 8) ** 2
    assert cr3_standard_error(sums, counts) == pytest.approx(math.sqrt(2 / 3 * gaps))
    assert cr3_interval(np.array([1.0]), np.array([3.0])) is None
    assert cr3_interval(sums, counts, df=0.0) is None
    assert cr3_interval(sums, counts, df=0.09) is None


def test_effective_clusters() -> None:
    assert effective_clusters(np.array([5.0, 5.0, 5.0])) == 3
    assert effective_clusters(np.array([8.0, 1.0, 1.0])) == pytest.approx(100 / 66)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9), st.booleans())
def test_sign_flip_equals_every_pattern(sums, fractional) -> None:
    values = np.array(sums) * (0.3 if fractional else 1.0)
    observed = abs(values.sum())
    totals = [abs(np.dot(signs, values)) for signs in itertools.product((1, -1), repeat=len(values))]
    expected = np.mean([total >= observed - 1e-9 for total in totals])
    assert sign_flip_test(values).p == pytest.approx(expected)


def test_sign_flip_methods_and_scipy() -> None:
    fractions = np.array([0.31, -0.12, 0.57, 0.44, 0.08, 0.29, -0.05, 0.61])
    ours = sign_flip_test(fractions)
    theirs = stats.permutation_test(
        (fractions,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert ours.method == "enumeration"
    assert ours.p == pytest.approx(theirs.pvalue)
    assert sign_flip_test(np.array([3.0, 2.0, 2.0, 1.0])).method == "convolution"
    assert sign_flip_test(np.ones(6)).p == 2 / 64
    assert sign_flip_test(np.zeros(4)).p == 1
    many = np.tile(fractions, 4)
    sampled = sign_flip_test(many)
    assert sampled.method == "monte carlo (20000 flips, seed 7)"
    assert sampled.p == sign_flip_test(many).p
    assert sign_flip_test(np.concatenate([many, -many]) * np.linspace(1, 1.1, 64)).p > 0.5
    # The same values a hundred times as large are whole, so the convolution tells what the sampling should find.
    assert sampled.p == pytest.approx(sign_flip_test(np.round(many * 100)).p, abs=0.003)
    shifted = np.array([0.5] * 12 + [-0.25] * 13)
    assert sign_flip_test(shifted).p == pytest.approx(sign_flip_test(shifted * 4).p, abs=0.02)


def test_sign_flip_about_another_null() -> None:
    sums, counts = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 2.0]), np.full(6, 10.0)
    assert sign_flip_test(sums, counts, null=0.1).p > sign_flip_test(sums, counts, null=-0.1).p == 2 / 64


@pytest.mark.parametrize(("wins", "losses"), [(8, 2), (1, 0), (40, 20), (13, 13), (0, 6), (186, 23), (5100, 4900)])
def test_mcnemar_against_statsmodels(wins, losses) -> None:
    from statsmodels.stats.contingency_tables import mcnemar

    assert mcnemar_p(wins, losses) == pytest.approx(mcnemar([[0, wins], [losses, 0]], exact=True).pvalue)
    assert mcnemar_p(wins, losses) == pytest.approx(stats.binomtest(wins, wins + losses).pvalue)
    deltas = np.array([1.0] * wins + [-1.0] * losses)
    assert sign_flip_test(deltas).p == pytest.approx(mcnemar_p(wins, losses))


@pytest.mark.parametrize(("units", "seen"), [(6, 0), (50, 0), (103, 1), (1000, 4), (10_000, 0)])
def test_unseen_share_is_clopper_pearson(units, seen) -> None:
    expected = stats.binomtest(seen, units).proportion_ci(0.95, method="exact").high
    assert unseen_share(units, seen) == pytest.approx(expected)
    if not seen:
        assert unseen_share(units) == pytest.approx(1 - 0.025 ** (1 / units))


def test_unseen_share_of_all() -> None:
    assert unseen_share(4, 4) == 1
    assert unseen_share(3.5, 4) == 1


def test_the_least_p_that_signs_can_give() -> None:
    # Of six signs all alike 2 of 64 patterns are as far out; a sum of 0 cannot be flipped.
    for sums in ([1.0] * 6, [3.0, 2.0, 2.0, 1.0, -1.0, -5.0], [0.3, -0.2, 0.4, 0.1, 0.6, -0.7]):
        assert sign_flip_test(np.array(sums)).least == 2 / 64
    assert sign_flip_test(np.array([1.0, 2.0, 0.0, 0.0])).least == 2 / 4
    assert sign_flip_test(np.zeros(3)).least == 1
    assert sign_flip_test(np.linspace(0.1, 1.3, 40)).least == 1 / 20_001


def test_mcnemar_without_discordant_pairs() -> None:
    assert mcnemar_p(0, 0) == 1
