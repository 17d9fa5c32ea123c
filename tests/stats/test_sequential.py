from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import beta

from runner.errors import UsageError
from runner.stats.sequential import discordant_e_value, is_decided, log_e_value


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (1, 0), (3, 1), (10, 2), (25, 25)])
def test_against_the_beta_function(wins, losses) -> None:
    expected = 2.0 ** (wins + losses) * beta(wins + 0.5, losses + 0.5) / beta(0.5, 0.5)
    assert discordant_e_value(wins, losses) == pytest.approx(expected)
    assert discordant_e_value(losses, wins) == pytest.approx(expected)


def test_expectation_under_the_null_is_one() -> None:
    n = 12
    mean = sum(math.comb(n, w) * discordant_e_value(w, n - w) for w in range(n + 1)) / 2**n
    assert mean == pytest.approx(1)


def test_watching_keeps_its_promise() -> None:
    steps = np.cumsum(np.random.default_rng(2).integers(0, 2, (400, 200)), axis=1)
    stopped = [any(is_decided(int(w), i + 1 - int(w)) for i, w in enumerate(path)) for path in steps]
    assert np.mean(stopped) <= 0.05


def test_extremes() -> None:
    assert discordant_e_value(5000, 0) == math.inf
    assert math.isfinite(log_e_value(5000, 0))
    with pytest.raises(UsageError):
        log_e_value(-1, 0)
    with pytest.raises(UsageError):
        is_decided(1, 0, alpha=0)
