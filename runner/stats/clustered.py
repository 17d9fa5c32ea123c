"""Intervals and exact tests for few clusters, and the measure of one that dominates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from runner.stats.export import Exportable
from runner.stats.resample import GUARD, Floats

_MAX_LATTICE_WORK: Final = 200_000_000
_MAX_ENUMERATED: Final = 20
_FLIPS: Final = 20_000
_LEAST_DF: Final = 0.1
_NORMAL_975: Final = 1.96  # as the rule states it


@dataclass(frozen=True)
class Bounds(Exportable):
    """An interval without its history: what decides, and what is shown beside it."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low + 0.0:+.4f} .. {self.high + 0.0:+.4f}"


@dataclass(frozen=True)
class ExactTest(Exportable):
    """A two-sided p, how it was computed, and the least that it could have been.

    ``least`` is the p of the same sizes if every sign agreed, 2 · 2⁻ᵐ for m sums other than 0: no outcome of so few
    clusters is more significant.
    """

    p: float
    method: str
    least: float = 0.0

    def __str__(self) -> str:
        return f"p = {self.p:.4g} ({self.method}; at least {self.least:.3g} with so few)"


def _t_975(df: float) -> float:
    """Student's 97.5 % point; from scipy.special, which is quick to import and to call."""
    from scipy.special import stdtrit

    return float(stdtrit(df, 0.975))


def student_factor(df: float) -> float:
    """t(.975, df)/1.96: by which an interval grows when its variance is estimated with ``df`` degrees of freedom."""
    return _t_975(df) / _NORMAL_975


def few_cluster_factor(k: int) -> float:
    """f(k) = t(.975, k−1)/1.96 · √(k/(k−1)), by which a percentile interval of k clusters is too narrow.

    The first factor is Student's for an estimated variance, the second undoes the bootstrap's division by k instead
    of k − 1. Needs k ≥ 2.
    """
    return student_factor(k - 1) * math.sqrt(k / (k - 1))


def widened(mean: float, low: float, high: float, k: int) -> Bounds:
    """Each half-width of a percentile interval times f(k), about the mean."""
    factor = few_cluster_factor(k)
    return Bounds(mean - (mean - low) * factor, mean + (high - mean) * factor)


def drop_one_means(sums: Floats, counts: Floats) -> Floats:
    """The mean without each cluster in turn, shape (k,). Needs items in at least two clusters."""
    result: Floats = (sums.sum() - sums) / (counts.sum() - counts)
    return result


def cr3_standard_error(sums: Floats, counts: Floats) -> float:
    """Delete-one-cluster jackknife standard error, √((k−1)/k · Σ(θ₋c − θ)²).

    The cluster-robust CV3 of MacKinnon, Nielsen and Webb (2023). With one item per cluster it is s/√n.
    """
    k = sums.size
    gaps = drop_one_means(sums, counts) - sums.sum() / counts.sum()
    return math.sqrt((k - 1) / k * float(gaps @ gaps))


def cr3_interval(sums: Floats, counts: Floats, df: float | None = None) -> Bounds | None:
    """Mean ± t(.975, df) · CR3 standard error.

    Parameters
    ----------
    sums, counts
        Sum of deltas and number of items per cluster, shape (k,), every count above 0.
    df
        Degrees of freedom; k − 1 when ``None``.

    Returns
    -------
    Bounds or None
        ``None`` for fewer than two clusters, or below 0.1 degrees of freedom, where Student's 97.5 % point is beyond
        1e12 and says nothing (one cluster has over 95 % of the items).
    """
    k = sums.size
    freedom = k - 1 if df is None else df
    if k < 2 or freedom < _LEAST_DF:
        return None
    half = _t_975(freedom) * cr3_standard_error(sums, counts)
    if not math.isfinite(half):
        return None
    mean = float(sums.sum() / counts.sum())
    return Bounds(mean - half, mean + half)


def effective_clusters(counts: Floats) -> float:
    """g_eff = (ΣN)²/ΣN²: how many clusters of one size would be as balanced as these."""
    return float(counts.sum() ** 2 / (counts @ counts))


def sign_flip_test(sums: Floats, counts: Floats | None = None, null: float = 0.0, seed: int = 7) -> ExactTest:
    """Two-sided sign-flip p of the cluster sums: how often random signs give a total as far from 0.

    Under the null that each cluster's sum is symmetric about ``null`` · N_c, every pattern of signs is equally likely.

    Parameters
    ----------
    sums, counts
        Sum of deltas and number of items per cluster, shape (k,). ``counts`` is needed with another null than 0.
    null
        The mean difference under the null.
    seed
        Seed of the Monte Carlo flips, where they are needed.

    Returns
    -------
    ExactTest
        By ``"binomial"`` (sums of one size), ``"convolution"`` (whole sums, any number of clusters), ``"enumeration"``
        (up to 20 clusters), or, above that, ``"monte carlo (20000 flips, seed 7)"``, which counts the observed
        pattern as one of the flips. Sums of 0 cannot be flipped; with no other, p is 1.
    """
    values = sums if counts is None or null == 0 else sums - null * counts
    values = values[np.abs(values) > GUARD]
    sizes = np.abs(values)
    observed = abs(float(values.sum()))
    if not values.size:
        return ExactTest(1.0, "nothing to flip", 1.0)
    least = least_p(values.size)
    if np.ptp(sizes) <= GUARD:
        return ExactTest(mcnemar_p(int((values > 0).sum()), int((values < 0).sum())), "binomial", least)
    whole = bool(np.all(sizes == np.rint(sizes)))
    if whole and sizes.sum() * sizes.size <= _MAX_LATTICE_WORK:
        return ExactTest(_convolved(sizes.astype(np.int64), round(observed)), "convolution", least)
    slack = 1e-9 * float(sizes.sum())
    if values.size <= _MAX_ENUMERATED:
        totals = np.zeros(1)
        for size in sizes[:-1]:  # the last sign is fixed: the other half mirrors
            totals = np.concatenate([totals + size, totals - size])
        totals += sizes[-1]
        return ExactTest(float(np.mean(np.abs(totals) >= observed - slack)), "enumeration", least)
    # Equal sizes flip together: m of them total size · (2 · Binomial(m, ½) − m).
    generator = np.random.Generator(np.random.PCG64(seed))
    different, times = np.unique(sizes, return_counts=True)
    hits, left = 0, _FLIPS
    while left:
        rows = min(left, max(1, 500_000 // different.size))
        totals = (2 * generator.binomial(times, 0.5, (rows, different.size)) - times) @ different
        hits += int((np.abs(totals) >= observed - slack).sum())
        left -= rows
    drawn = (hits + 1) / (_FLIPS + 1)
    return ExactTest(drawn, f"monte carlo ({_FLIPS} flips, seed {seed})", max(least, 1 / (_FLIPS + 1)))


def least_p(units: int) -> float:
    """Return the least two-sided p of ``units`` (m) fair signs, 2 · 2⁻ᵐ: all signs are alike."""
    return min(1.0, 2.0 ** (1 - units)) if units < 1000 else 0.0


def _convolved(sizes: np.ndarray[tuple[int], np.dtype[np.int64]], observed: int) -> float:
    """Share of sign patterns whose total is at least ``observed`` from 0; a total is Σ − 2 · (sum of the flipped)."""
    total = int(sizes.sum())
    chances = np.zeros(total + 1)
    chances[0] = 1.0
    top = 0
    for size in sizes:
        moved = chances[: top + 1] * 0.5
        chances[: top + 1] = moved
        chances[size : size + top + 1] += moved
        top += int(size)
    distance = np.abs(total - 2 * np.arange(total + 1))
    return min(1.0, float(chances[distance >= observed].sum()))


def unseen_share(units: float, seen: int = 0) -> float:
    """Upper 97.5 % limit (Clopper and Pearson 1934) of a share of which ``seen`` of ``units`` showed.

    With none seen it is 1 − .025^(1/units): what so many units that all agree leave possible. ``units`` may be a
    fraction, as effective clusters are.
    """
    from scipy.special import betaincinv

    if seen >= units:
        return 1.0
    return float(betaincinv(seen + 1, units - seen, 0.975))


def mcnemar_p(wins: int, losses: int) -> float:
    """Exact two-sided McNemar p: a fair coin for each pair that disagrees. 1 when none does."""
    from scipy.special import bdtr

    pairs = wins + losses
    # A fair coin is symmetric: both tails are alike.
    return min(1.0, 2 * float(bdtr(min(wins, losses), pairs, 0.5))) if pairs else 1.0
