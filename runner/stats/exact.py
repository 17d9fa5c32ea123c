"""The percentile bootstrap in the limit of infinitely many resamples.

Two cases are feasible. Clusters of one size with whole sums: ΣS is a sum of k independent draws from the k sums, whose
distribution is a k-fold convolution (for 0/1 labels, item by item, a trinomial). Few clusters of any kind: every
multiset of k of k clusters, weighed by its multinomial probability.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial
from typing import Final

import numpy as np

from runner.errors import UsageError
from runner.stats.resample import GUARD, Floats

_MAX_LATTICE: Final = 1 << 23
_MAX_MULTISETS: Final = 400_000  # 11 clusters: 352,716


def exact_bounds(sums: Floats, counts: Floats, tail: float = 0.025) -> tuple[float, float]:
    """Lower and upper percentile of ΣS/ΣN.

    Parameters
    ----------
    sums, counts
        Sum of deltas and number of items per cluster; shape (k,).
    tail
        Probability left out on each side.

    Raises
    ------
    UsageError
        When neither method is feasible: more than 11 clusters of unequal size or with fractional sums.
    """
    k = sums.size
    low, span = sums.min(), sums.max() - sums.min()
    if np.all(counts == counts[0]) and np.all(sums == np.rint(sums)) and (span + 1) * k <= _MAX_LATTICE:
        return _convolved(sums, counts, float(low), int(span), tail)
    if comb(2 * k - 1, k) <= _MAX_MULTISETS:
        return _enumerated(sums, counts, tail)
    raise UsageError(
        f"method 'exact' takes clusters of one size with whole sums, or at most 11 clusters, not these {k}; "
        "use method 'bootstrap'"
    )


def _convolved(sums: Floats, counts: Floats, low: float, span: int, tail: float) -> tuple[float, float]:
    k = sums.size
    single = np.bincount((sums - low).astype(np.int64), minlength=span + 1) / k
    size = span * k + 1
    padded = 1 << (size - 1).bit_length() if size > 1 else 1
    if padded == 1:
        value = float(low / counts[0])
        return value, value
    chances = np.fft.irfft(np.fft.rfft(single, padded) ** k, padded)[:size]
    values = (np.arange(size) + low * k) / (counts[0] * k)
    return _quantiles(values, np.clip(chances, 0.0, None), tail)


def _enumerated(sums: Floats, counts: Floats, tail: float) -> tuple[float, float]:
    k = sums.size
    picks = np.array(list(combinations_with_replacement(range(k), k)))
    values = sums[picks].sum(axis=1) / counts[picks].sum(axis=1)
    # Multinomial weight k! / (Π c_j!) / k^k, from the multiplicities of each pick.
    times = np.zeros((len(picks), k), dtype=np.int64)
    np.add.at(times, (np.arange(len(picks))[:, None], picks), 1)
    factorials = np.array([float(factorial(i)) for i in range(k + 1)])
    chances = factorials[k] / np.prod(factorials[times], axis=1) / float(k) ** k
    order = np.argsort(values, kind="stable")
    return _quantiles(values[order], chances[order], tail)


def _quantiles(values: Floats, chances: Floats, tail: float) -> tuple[float, float]:
    values = np.where(np.abs(values) < GUARD, 0.0, values)
    below = np.cumsum(chances)
    below /= below[-1]
    # A hair of slack keeps a cumulative probability that equals the tail from slipping by rounding.
    low = int(np.searchsorted(below, tail - 1e-12))
    high = int(np.searchsorted(below, 1 - tail - 1e-12))
    return float(values[low]), float(values[min(high, values.size - 1)])
