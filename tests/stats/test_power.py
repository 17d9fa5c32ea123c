from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from runner.errors import UsageError
from runner.stats.power import (
    design_effect,
    intraclass_correlation,
    minimum_detectable_effect,
    pairs_needed,
    resolving_n,
)


def test_figures_of_the_specification() -> None:
    assert 100 * minimum_detectable_effect(164, 0.16) == pytest.approx(8.7, abs=0.05)
    assert 100 * minimum_detectable_effect(500, 0.16) == pytest.approx(5.0, abs=0.05)


def test_pairs_by_hand() -> None:
    # (1.95996 * .4 + .84162 * sqrt(.16 - .0025))^2 / .0025 = (.783986 + .334007)^2 / .0025 = 499.96
    assert pairs_needed(0.05, 0.16) == 500
    assert pairs_needed(-0.05, 0.16) == 500
    assert pairs_needed(0.05, 0.16, cluster_size=11, icc=0.1) == 1000
    # (1.95996 * sqrt(.2) + .84162 * sqrt(.2 - .04))^2 / .04 = (.876522 + .336648)^2 / .04 = 36.79
    assert pairs_needed(0.2, 0.2) == 37


def test_simulated_power() -> None:
    # 500 pairs, 16 % discordant, +5 points: the mean is beyond 1.96 null standard errors in about 80 % of data sets.
    draw = np.random.default_rng(11).multinomial(500, [0.105, 0.055, 0.84], size=20_000)
    z = (draw[:, 0] - draw[:, 1]) / np.sqrt(500 * 0.16)
    assert np.mean(z > 1.95996) == pytest.approx(0.80, abs=0.015)


@settings(max_examples=50, deadline=None)
@given(st.integers(50, 5000), st.floats(0.05, 0.9), st.sampled_from([0.3, 0.5, 0.8, 0.95]))
def test_mde_inverts_pairs_needed(n, psi, power) -> None:
    effect = minimum_detectable_effect(n, psi, power=power)
    if effect is not None:
        assert pairs_needed(effect, psi, power=power) == pytest.approx(n, abs=1)


def test_too_few_pairs_detect_nothing() -> None:
    assert minimum_detectable_effect(5, 0.1) is None
    assert minimum_detectable_effect(500, 0.0) is None


def test_few_clusters_detect_less() -> None:
    plain = minimum_detectable_effect(500, 0.16, cluster_size=50, icc=0.01)
    assert plain is not None
    # f(10) = 2.26216 / 1.96 * sqrt(10 / 9) and f(6) = 2.57058 / 1.96 * sqrt(6 / 5), from printed tables of t.
    for k, factor in ((10, 1.21662), (6, 1.43669), (30, 1.0)):
        found = minimum_detectable_effect(500, 0.16, cluster_size=50, icc=0.01, clusters=k)
        assert found == pytest.approx(plain * factor, rel=1e-4)
    assert minimum_detectable_effect(500, 0.16, clusters=5) is None
    alone = minimum_detectable_effect(20, 0.9)
    assert minimum_detectable_effect(20, 0.9, clusters=20) == alone is not None  # single items


@pytest.mark.parametrize(("k", "m"), [(6, 80), (10, 50), (20, 25)])
def test_simulated_power_with_few_clusters(k, m) -> None:
    # Independent items, 16 % discordant, a mean as large as the stated effect; the widened interval is mean ± t·s/√k.
    effect = minimum_detectable_effect(k * m, 0.16, cluster_size=m, clusters=k)
    assert effect is not None
    draw = np.random.default_rng(3)
    discordant = draw.binomial(m, 0.16, (20_000, k))
    means = (2 * draw.binomial(discordant, (0.16 + effect) / 0.32) - discordant) / m
    low = means.mean(axis=1) - t.ppf(0.975, k - 1) * means.std(axis=1, ddof=1) / k**0.5
    assert 0.79 < np.mean(low > 0) < 0.94


def test_pairs_that_would_resolve_a_seen_difference() -> None:
    # V = .2 - .01 = .19; (1.95996 * sqrt(.2) + .84162 * sqrt(.19))^2 / .01 = 154.60 pairs of the normal interval, whose
    # half-width at 100 is 1.95996 * sqrt(.0019) = .085433; one of .2 is 2.3410 times as wide: 154.60 * 5.4803 = 847.2
    assert resolving_n(0.1, 0.0, 0.2, 1.0, 100, 0.2) == 848
    assert resolving_n(0.1, 0.0, 0.2, 7.0, 100, 0.2) == 1083  # 154.60 * 7: the half-width shows less than the ICC
    assert resolving_n(0.1, 0.0, 0.2, 1.0, 100, 0.08) == 155
    assert resolving_n(0.1, 0.0, 0.2, 1.0, 500, 0.01) == 501
    assert resolving_n(0.1, 0.1, 0.2, 1.0, 100, 0.2) is None
    assert resolving_n(0.1, 0.0, 0.01, 1.0, 100, 0.2) is None


def test_design_effect() -> None:
    assert design_effect(50, 0.1) == pytest.approx(5.9)
    assert design_effect(50, -0.1) == 1
    assert design_effect(1, 0.9) == 1


def test_icc_by_hand() -> None:
    # Clusters (1, 1), (0, 0), (1, 0): MSB = 2 * (.25 + .25) / 2 = .5, MSW = .5 / 3, n0 = 2: .3333 / .6667
    assert intraclass_correlation([1, 1, 0, 0, 1, 0], list("aabbcc")) == pytest.approx(0.5)
    # Unequal clusters (1, 1, 0), (0): n0 = 4 - 10/4 = 1.5, MSB = 3 * (1/6)^2 + (1/2)^2 = 1/3, MSW = (2/3)/2 = 1/3
    assert intraclass_correlation([1, 1, 0, 0], list("aaab")) == pytest.approx(0, abs=1e-12)
    assert intraclass_correlation([1, 0], ["a", "b"]) is None
    assert intraclass_correlation([1, 0], ["a", "a"]) is None
    assert intraclass_correlation([1, 1, 1, 1], list("aabb")) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: pairs_needed(0, 0.16),
        lambda: pairs_needed(0.2, 0.16),
        lambda: pairs_needed(0.1, 0),
        lambda: pairs_needed(0.1, float("nan")),
        lambda: pairs_needed(0.05, 0.16, power=1),
        lambda: pairs_needed(0.05, 0.16, alpha=0),
        lambda: minimum_detectable_effect(0, 0.16),
        lambda: minimum_detectable_effect(10, 1.5),
        lambda: design_effect(0, 0.1),
        lambda: design_effect(10, 1.1),
        lambda: intraclass_correlation([], []),
    ],
)
def test_bad_input(call) -> None:
    with pytest.raises(UsageError):
        call()
