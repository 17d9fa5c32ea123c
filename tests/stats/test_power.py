from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import UsageError
from runner.stats.power import design_effect, intraclass_correlation, minimum_detectable_effect, pairs_needed


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
