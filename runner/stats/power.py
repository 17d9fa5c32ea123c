"""Sample size and minimum detectable effect of paired questions."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import ArrayLike, NDArray

from runner.errors import UsageError
from runner.stats.clustered import few_cluster_factor
from runner.stats.interval import FEW, TOO_FEW
from runner.stats.resample import GUARD, Floats, as_values, reduce_clusters


def _normal_quantiles(alpha: float, power: float) -> tuple[float, float]:
    from scipy.special import ndtri

    if not 0 < alpha < 1:
        raise UsageError(f"alpha: {alpha} must lie between 0 and 1 (0.05 is usual)")
    if not alpha / 2 < power < 1:
        raise UsageError(f"power: {power} must lie between alpha/2 and 1 (0.8 is usual)")
    return float(ndtri(1 - alpha / 2)), float(ndtri(power))


def design_effect(cluster_size: float, icc: float) -> float:
    """1 + (m − 1) · ICC: how many items of clusters of m count as one independent item (Kish 1965).

    A negative ICC, which a small sample can estimate, counts as 0.

    Raises
    ------
    UsageError
        For clusters of less than one item or an ICC above 1.
    """
    if not cluster_size >= 1:
        raise UsageError(f"cluster size: {cluster_size} must be at least 1")
    if not icc <= 1:
        raise UsageError(f"icc: {icc} must be at most 1")
    return 1 + (cluster_size - 1) * max(0.0, icc)


def pairs_needed(
    effect: float,
    discordance: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    cluster_size: float = 1.0,
    icc: float = 0.0,
) -> int:
    """Paired items that detect a difference: ((z_α√ψ + z_β√(ψ − δ²))/δ)² × the design effect (Connor 1987).

    Parameters
    ----------
    effect
        δ, the difference to detect, as a share (0.05 is five points); its sign does not matter.
    discordance
        ψ, the share of pairs in which the arms disagree; for graded scores the mean squared delta.
    alpha
        Two-sided error of the first kind.
    power
        Probability of detecting the effect.
    cluster_size, icc
        Items per cluster and their intraclass correlation.

    Raises
    ------
    UsageError
        When the effect is 0 or beyond the discordance (arms that disagree on ψ differ by at most ψ).
    """
    size = abs(effect)
    if not 0 < discordance <= 1:
        raise UsageError(f"discordance: {discordance} must lie above 0 and at most at 1")
    if not 0 < size <= discordance:
        raise UsageError(f"effect: {effect} must not be 0, nor beyond the discordance of {discordance}")
    return needed_of(size, discordance, design_effect(cluster_size, icc), alpha, power)


def needed_of(effect: float, mean_square: float, inflation: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Connor's formula for any deltas: ψ is their mean square, which for −1, 0, 1 is the discordance.

    Needs 0 < effect² ≤ ``mean_square``.
    """
    z_alpha, z_beta = _normal_quantiles(alpha, power)
    root = (z_alpha * math.sqrt(mean_square) + z_beta * math.sqrt(max(0.0, mean_square - effect**2))) / effect
    return math.ceil(root**2 * inflation - 1e-9)


def minimum_detectable_effect(
    n: int,
    discordance: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    cluster_size: float = 1.0,
    icc: float = 0.0,
    clusters: int | None = None,
) -> float | None:
    """The difference that ``n`` pairs detect, about: :func:`pairs_needed` solved for the effect.

    Parameters
    ----------
    n, discordance, alpha, power, cluster_size, icc
        As :func:`pairs_needed`.
    clusters
        How many clusters the pairs lie in, for a gate that decides by ``gate.interval: auto``: below 6 nothing is
        detected, and from 6 to 29, unless each is a single pair, the effect grows by f(k) as the interval does. Without
        it the interval is taken to be the normal one, which with few clusters promises too much (simulated at 6 and 10
        clusters: a power of 65 % and 72 % where 80 % are promised; with f(k) 92 % and 86 %, at 20 clusters 81 %).

    Returns
    -------
    float or None
        A share; ``None`` when even the greatest possible difference, ψ, would go undetected, nothing disagrees, or
        there are too few clusters for any verdict.

    Raises
    ------
    UsageError
        For values out of range.
    """
    if n < 1:
        raise UsageError(f"n: {n} must be at least 1")
    if not 0 <= discordance <= 1:
        raise UsageError(f"discordance: {discordance} must lie between 0 and 1")
    if clusters is not None and clusters < TOO_FEW:
        return None
    effect = detectable_of(n, discordance, design_effect(cluster_size, icc), alpha, power)
    if clusters is not None and clusters < min(FEW, n):
        effect *= few_cluster_factor(clusters)
    return effect if 0 < effect <= discordance else None


def resolving_n(
    delta: float, min_delta: float, mean_square: float, inflation: float, n: int, half_width: float
) -> int | None:
    """Return about how many pairs would resolve a difference like the one seen at 80 % power; always more than ``n``.

    Connor's formula with the mean square of deltas that lie as far from the threshold and vary as those seen do, scaled
    by the square of how much wider the deciding interval is than the normal one. It holds for more clusters of the same
    size; more items in the same clusters resolve less.

    Parameters
    ----------
    delta, min_delta
        The difference seen, and the threshold that it is to be distinguished from.
    mean_square
        Mean of the squared deltas.
    inflation
        The design effect.
    n, half_width
        Pairs used, and the half-width of their deciding interval on the side of the threshold.

    Returns
    -------
    int or None
        ``None`` when the difference lies on the threshold, or deltas do not vary.
    """
    gap = abs(delta - min_delta)
    variance = mean_square - delta**2
    if gap <= GUARD or variance <= GUARD:
        return None
    normal = _normal_quantiles(0.05, 0.8)[0] * math.sqrt(variance * inflation / n)
    scale = max(1.0, (half_width / normal) ** 2)
    return max(n + 1, needed_of(gap, variance + gap**2, inflation * scale))


def detectable_of(n: float, mean_square: float, inflation: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """The effect at which :func:`needed_of` gives ``n``, in the unit of the deltas.

    With m = n / inflation, (m + z_β²)δ² − 2 z_α√(mψ) δ + (z_α² − z_β²)ψ = 0. The greater root has √m·δ > z_α√ψ, which
    is that of a power above one half; the lesser is that of one below.
    """
    z_alpha, z_beta = _normal_quantiles(alpha, power)
    m = n / inflation
    a, b, c = m + z_beta**2, z_alpha * math.sqrt(m * mean_square), (z_alpha**2 - z_beta**2) * mean_square
    spread = math.sqrt(max(0.0, b * b - a * c))
    return (b + spread if z_beta >= 0 else b - spread) / a


def icc_of_sums(sums: Floats, counts: Floats, squares: float) -> float | None:
    """Intraclass correlation by one-way analysis of variance (Donner 1986), from sums per cluster.

    (MSB − MSW)/(MSB + (n₀ − 1)·MSW) with n₀ = (N − ΣN_c²/N)/(k − 1).

    Parameters
    ----------
    sums, counts
        Sum of values and number of items per cluster, shape (k,), counts above 0.
    squares
        Sum of the squared values of all items.

    Returns
    -------
    float or None
        At most 1, possibly negative; ``None`` with fewer than two clusters, one item per cluster, or values all equal.
    """
    k, n = sums.size, float(counts.sum())
    if k < 2 or n <= k:
        return None
    explained = float((sums**2 / counts).sum())
    between = max(0.0, explained - float(sums.sum()) ** 2 / n) / (k - 1)
    within = max(0.0, squares - explained) / (n - k)
    size = (n - float(counts @ counts) / n) / (k - 1)
    scale = between + (size - 1) * within
    return min(1.0, (between - within) / scale) if scale > 1e-12 else None


def intraclass_correlation(deltas: ArrayLike, clusters: NDArray[Any] | list[Any]) -> float | None:
    """:func:`icc_of_sums` of one delta and one cluster key per item.

    Raises
    ------
    UsageError
        No item, a delta that is not finite, or a missing cluster.
    """
    values = as_values(deltas, "deltas")
    if not values.size:
        raise UsageError("deltas: no items; give at least one")
    data = reduce_clusters(values[None, :], clusters)
    return icc_of_sums(data.sums[0], data.counts[0], float(data.squares[0]))


def mean_cluster_size(counts: Floats) -> float:
    """ΣN²/ΣN, the cluster size of the average item: with unequal clusters the one that the design effect needs."""
    return float(counts @ counts / counts.sum())
