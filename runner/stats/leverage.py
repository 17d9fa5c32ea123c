"""The verdict without each cluster in turn: does it stand?

Asked of the resamples that happen to lack it, which are a bootstrap of the other clusters (jackknife-after-bootstrap,
Efron 1992), so that nothing is drawn again. Below 30 clusters every one is tried; from there on, where none should
weigh much, those whose absence moves the mean most, up and down, and the largest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from runner.stats.bootstrap import ordered_percentiles
from runner.stats.clustered import Bounds, cr3_interval, drop_one_means, effective_clusters, widened
from runner.stats.interval import FEW, Decision, Kind
from runner.stats.resample import Bools, Floats
from runner.stats.verdict import Outcome, verdict_of

_TRIED: Final = 2  # on each side, and of the largest
_ENOUGH: Final = 100  # resamples that make a percentile


def has_leverage(
    sums: Floats,
    counts: Floats,
    ratios: Floats,
    absent: Bools,
    decision: Decision,
    outcome: Outcome,
    min_delta: float,
    band: float,
) -> bool:
    """Return whether the verdict changes without one cluster.

    Parameters
    ----------
    sums, counts
        Sum of deltas and number of items per cluster, shape (k,), every count above 0, k at least 3.
    ratios, absent
        The resampled ratios, and which resamples lack each of these clusters:
        :meth:`runner.stats.resample.Resampler.ratios_and_absence`.
    decision, outcome
        What was decided with all clusters.
    min_delta, band
        As :func:`runner.stats.verdict.verdict_of`.
    """
    means = drop_one_means(sums, counts)
    order = np.argsort(ratios) if decision.kind != "cr3_t" else np.empty(0, dtype=np.intp)
    ordered = ratios[order]  # sorted once, for all clusters
    for c in _candidates(means, counts):
        mean = float(means[c])
        if decision.kind == "cr3_t":
            bounds = _student_without(c, sums, counts)
        else:
            bounds = _resampled_without(mean, ordered[absent[c][order]], sums.size, decision.kind)
        if bounds is not None and verdict_of(mean, bounds.low, bounds.high, min_delta, band)[0] != outcome:
            return True
    return False


def _candidates(means: Floats, counts: Floats) -> Iterable[int]:
    order = np.argsort(means, kind="stable")
    ends = [order[i // 2] if i % 2 else order[-1 - i // 2] for i in range(min(2 * _TRIED, order.size))]
    if counts.size < FEW:
        return dict.fromkeys([*ends, *order])  # the likeliest first
    return dict.fromkeys([*ends, *np.argsort(counts, kind="stable")[-_TRIED:]])


def _student_without(c: int, sums: Floats, counts: Floats) -> Bounds | None:
    rest = np.arange(sums.size) != c
    return cr3_interval(sums[rest], counts[rest], effective_clusters(counts[rest]) - 1)


def _resampled_without(mean: float, ordered: Floats, k: int, kind: Kind | None) -> Bounds | None:
    """The interval of the other clusters from the resamples without one, sorted; ``None`` where those are too few.

    Of the kind that decided: rules may change with k, and that would not be the cluster's doing.
    """
    if ordered.size < _ENOUGH:
        return None
    low, high = ordered_percentiles(ordered)
    # These resamples draw k clusters out of k − 1, where a bootstrap of k − 1 draws as many: they vary too little.
    stretch = math.sqrt(k / (k - 1))
    low, high = mean - (mean - low) * stretch, mean + (high - mean) * stretch
    return widened(mean, low, high, k - 1) if kind == "widened" else Bounds(low, high)
